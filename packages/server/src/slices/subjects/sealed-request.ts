// What is sealed of a request while it is open: what was searched for, who asked and why.

import type { SubjectFind } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { jsonPayload, sealedColumn, textPayload } from '../../platform/sealed-column.ts'
import type { ErasureReasons } from '../erasure/index.ts'

export interface RequestPayload {
  readonly find: SubjectFind
  readonly store_ids: readonly string[] | null
  /** Left out: every namespace; null: the root. */
  readonly namespace?: string | null
  readonly include_decisions: boolean
  readonly reasons: ErasureReasons
}

interface RequestId {
  readonly request_id: string
}

export const payloadColumn = sealedColumn({
  domain: 'subject_request',
  ids: (tenant_id, { request_id }: RequestId) => ['words', tenant_id, request_id],
  payload: jsonPayload<RequestPayload>(),
})

export const reasonColumn = sealedColumn({
  domain: 'subject_request',
  ids: (tenant_id, { request_id }: RequestId) => ['reason', tenant_id, request_id],
  payload: textPayload,
})

export interface SealedPayload {
  readonly secret_no: number
  readonly sealed: Buffer
}

export const sealPayload = (
  kernel: Kernel,
  tenant_id: string,
  { request_id, words }: { readonly request_id: string; readonly words: RequestPayload },
): Promise<SealedPayload> => payloadColumn.sealNew(kernel, tenant_id, { request_id }, words)

/** Under the secret that the request has; null: it is done, and the secret gone. */
export const sealReason = (
  kernel: Kernel,
  tenant_id: string,
  { reason, ...request }: { request_id: string; secret_no: number; reason: string },
): Promise<Buffer | null> => reasonColumn.sealAgain(kernel, tenant_id, request, reason)

interface SealedValue extends RequestId {
  readonly secret_no: number
  readonly sealed: Uint8Array | null
}

/** Null: it is done, or the data are older than its end. */
export async function openPayload(
  kernel: Kernel,
  tenant_id: string,
  sealed: SealedValue,
): Promise<RequestPayload | null> {
  const [words = null] = await payloadColumn.openAll(kernel, tenant_id, [sealed])
  return words
}

export async function openReason(
  kernel: Kernel,
  tenant_id: string,
  sealed: SealedValue,
): Promise<string | null> {
  const [reason = null] = await reasonColumn.openAll(kernel, tenant_id, [sealed])
  return reason
}
