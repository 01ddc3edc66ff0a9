// The sealed columns of an open request: what it searches for, who requested it and why.

import type { SubjectFind } from '@custos/contract'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, sealedColumn, textPayload } from '../../platform/kernel/sealed-column.ts'
import type { ErasureReasons } from '../erasure/index.ts'

export interface RequestPayload {
  /** Absent: searches for everything in the namespace. */
  readonly find?: SubjectFind
  readonly store_ids: readonly string[] | null
  /** Absent: every namespace. `null`: the root namespace. */
  readonly namespace?: string | null
  readonly include_decisions: boolean
  /** Absent in requests of an earlier version, which searched no other records. */
  readonly include_records?: boolean
  readonly reasons: ErasureReasons
}

export const payloadColumn = sealedColumn({
  domain: 'subject_request',
  ids: (tenant_id, { request_id }: { request_id: string }) => ['words', tenant_id, request_id],
  payload: jsonPayload<RequestPayload>(),
})

export const reasonColumn = sealedColumn({
  domain: 'subject_request',
  ids: (tenant_id, { request_id }: { request_id: string }) => ['reason', tenant_id, request_id],
  payload: textPayload,
})

export const sealPayload = (
  kernel: Kernel,
  tenant_id: string,
  { request_id, payload }: { readonly request_id: string; readonly payload: RequestPayload },
) => payloadColumn.sealNew(kernel, tenant_id, { request_id }, payload)

/** Seals under the request's secret; `null` if the request is done and the secret destroyed. */
export const sealReason = (
  kernel: Kernel,
  tenant_id: string,
  { reason, ...request }: { request_id: string; secret_no: number; reason: string },
): Promise<Buffer | null> => reasonColumn.sealAgain(kernel, tenant_id, request, reason)

interface SealedValue {
  readonly request_id: string
  readonly secret_no: number
  readonly sealed: Uint8Array | null
}

/** Returns `null` if the request is done, or the data are older than its end. */
export async function openPayload(
  kernel: Kernel,
  tenant_id: string,
  sealed: SealedValue,
): Promise<RequestPayload | null> {
  const [payload = null] = await payloadColumn.openAll(kernel, tenant_id, [sealed])
  return payload
}

export async function openReason(
  kernel: Kernel,
  tenant_id: string,
  sealed: SealedValue,
): Promise<string | null> {
  const [reason = null] = await reasonColumn.openAll(kernel, tenant_id, [sealed])
  return reason
}
