// What is sealed of a request while it is open: what was searched for, who asked and why.

import type { SubjectFind } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { open, SealError, seal } from '../../platform/keys/seal.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import type { Reasons } from '../erasure/index.ts'

export interface Words {
  readonly find: SubjectFind
  readonly store_ids: readonly string[] | null
  /** Left out: every namespace; null: the root. */
  readonly namespace?: string | null
  readonly include_decisions: boolean
  readonly reasons: Reasons
}

type Column = 'words' | 'reason'

const associatedData = (tenant_id: string, column: Column, request_id: string): Buffer =>
  Buffer.from(JSON.stringify(['subject_request', column, tenant_id, request_id]))

export interface SealedWords {
  readonly secret_no: number
  readonly sealed: Buffer
}

export async function sealWords(
  kernel: Kernel,
  tenant_id: string,
  { request_id, words }: { readonly request_id: string; readonly words: Words },
): Promise<SealedWords> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  const text = Buffer.from(JSON.stringify(words))
  return { secret_no, sealed: seal(key, associatedData(tenant_id, 'words', request_id), text) }
}

/** Under the secret that the request has; null: it is done, and the secret gone. */
export async function sealReason(
  kernel: Kernel,
  tenant_id: string,
  { request_id, secret_no, reason }: { request_id: string; secret_no: number; reason: string },
): Promise<Buffer | null> {
  const key = await keyOf(kernel, tenant_id, secret_no)
  if (!key) return null
  return seal(key, associatedData(tenant_id, 'reason', request_id), Buffer.from(reason))
}

interface Sealed {
  readonly request_id: string
  readonly secret_no: number
  readonly sealed: Uint8Array | null
}

/** Null: it is done, or the data are older than its end. */
export async function openWords(
  kernel: Kernel,
  tenant_id: string,
  sealed: Sealed,
): Promise<Words | null> {
  const text = await openText(kernel, tenant_id, 'words', sealed)
  if (text === null) return null
  // Authenticated, and written by sealWords.
  const words: Words = JSON.parse(text)
  return words
}

export const openReason = (
  kernel: Kernel,
  tenant_id: string,
  sealed: Sealed,
): Promise<string | null> => openText(kernel, tenant_id, 'reason', sealed)

async function openText(
  kernel: Kernel,
  tenant_id: string,
  column: Column,
  { request_id, secret_no, sealed }: Sealed,
): Promise<string | null> {
  const key = sealed === null ? null : await keyOf(kernel, tenant_id, secret_no)
  if (!key || sealed === null) return null
  try {
    return open(key, associatedData(tenant_id, column, request_id), sealed).toString()
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

async function keyOf(kernel: Kernel, tenant_id: string, secret_no: number) {
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', [secret_no])
  const secret = secrets.get(secret_no)
  if (!secret) return null
  return (await kernel.keyring.tenant(tenant_id)).factKey(secret)
}
