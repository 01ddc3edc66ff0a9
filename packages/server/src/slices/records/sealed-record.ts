// What a record and a request for an approval hold in words, sealed under a secret of their own.

import type { JsonObject, RecordKind } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { open, SealError, seal } from '../../platform/keys/seal.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import { Refusal } from '../../platform/refusal.ts'

interface Owner {
  readonly tenant_id: string
  readonly table: 'record' | 'approval' | 'approver'
  readonly kind: RecordKind | ''
  readonly id: string
}

const associatedData = ({ tenant_id, table, kind, id }: Owner): Buffer =>
  Buffer.from(JSON.stringify([table, tenant_id, kind, id]))

export interface Sealed {
  readonly secret_no: number
  readonly sealed: Buffer
}

/** Under a new secret. */
export async function sealNew(kernel: Kernel, owner: Owner, content: JsonObject): Promise<Sealed> {
  const keys = await kernel.keyring.tenant(owner.tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(owner.tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  return { secret_no, sealed: seal(key, associatedData(owner), bytesOf(content)) }
}

/** Under the secret it has: a later state of the same record. */
export async function sealAgain(
  kernel: Kernel,
  owner: Owner,
  secret_no: number,
  content: JsonObject,
): Promise<Buffer> {
  const [key] = await keysOf(kernel, owner.tenant_id, [secret_no])
  if (!key) throw new Refusal('unavailable')
  return seal(key, associatedData(owner), bytesOf(content))
}

export interface SealedRow {
  readonly owner: Owner
  readonly secret_no: number
  readonly sealed: Uint8Array
}

/** In the order of `rows`; null where one cannot be opened. */
export async function openSealed<T extends JsonObject>(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly SealedRow[],
): Promise<(T | null)[]> {
  const keys = await keysOf(
    kernel,
    tenant_id,
    rows.map(({ secret_no }) => secret_no),
  )
  return rows.map(({ owner, sealed }, i) => {
    const key = keys[i]
    return key ? openWith<T>(key, associatedData(owner), sealed) : null
  })
}

async function keysOf(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  numbers: readonly number[],
) {
  if (numbers.length === 0) return []
  const keys = await kernel.keyring.tenant(tenant_id)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return numbers.map((number) => {
    const secret = secrets.get(number)
    return secret ? keys.factKey(secret) : null
  })
}

const bytesOf = (content: JsonObject): Buffer => Buffer.from(JSON.stringify(content))

function openWith<T>(key: Parameters<typeof open>[0], aad: Buffer, sealed: Uint8Array): T | null {
  try {
    // Authenticated, and written by this file's callers for the same owner.
    return JSON.parse(open(key, aad, sealed).toString()) as T
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}
