// The sealed description of a store: callers' words, under a secret of the store's own.

import type { JsonObject } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { open, seal } from '../../platform/keys/seal.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import type { StoreRow } from './stores.sql.ts'

export interface StoreDescription {
  readonly name: string | null
  readonly backend: string | null
  readonly labels: JsonObject
}

export const NO_DESCRIPTION: StoreDescription = { name: null, backend: null, labels: {} }

const associatedData = (tenant_id: string, store_id: string): Buffer =>
  Buffer.from(JSON.stringify(['store', tenant_id, store_id]))

/** A name may be a person's, so it is sealed like content, never under the tenant key alone. */
export async function sealDescription(
  kernel: Kernel,
  owner: { tenant_id: string; store_id: string },
  description: StoreDescription,
): Promise<{ secret_no: number; sealed: Buffer }> {
  const keys = await kernel.keyring.tenant(owner.tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(owner.tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  const aad = associatedData(owner.tenant_id, owner.store_id)
  return { secret_no, sealed: seal(key, aad, Buffer.from(JSON.stringify(description))) }
}

/** In the order of `rows`; a store whose secret is destroyed has no description any more. */
export async function openDescriptions(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly StoreRow[],
): Promise<StoreDescription[]> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const numbers = rows.map(({ secret_no }) => secret_no)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return rows.map(({ store_id, secret_no, sealed }) => {
    const secret = secrets.get(secret_no)
    if (!secret) return NO_DESCRIPTION
    const plaintext = open(keys.factKey(secret), associatedData(tenant_id, store_id), sealed)
    secret.fill(0)
    // Authenticated, and written by sealDescription.
    const description = JSON.parse(plaintext.toString()) as StoreDescription
    plaintext.fill(0)
    return description
  })
}
