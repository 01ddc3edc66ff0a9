// What is sealed of reputation, each row under a record secret of its own.

import type { JsonObject } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { open, SealError, seal } from '../../platform/keys/seal.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'

/** Which column of which row. */
export interface Place {
  readonly column: 'decision' | 'name' | 'rotation' | 'attestation'
  /** The id of the row. */
  readonly id: string
}

const associatedData = (tenant_id: string, { column, id }: Place): Buffer =>
  Buffer.from(JSON.stringify(['cgr', column, tenant_id, id]))

/** All columns of one row under one new secret, in the order given. */
export async function sealWords(
  kernel: Kernel,
  tenant_id: string,
  words: readonly { readonly place: Place; readonly content: object }[],
): Promise<{ secret_no: number; sealed: Buffer[] }> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  const sealed = words.map(({ place, content }) =>
    seal(key, associatedData(tenant_id, place), Buffer.from(JSON.stringify(content))),
  )
  return { secret_no, sealed }
}

export interface SealedWords {
  readonly place: Place
  readonly secret_no: number
  readonly sealed: Uint8Array
}

/** In the order of `rows`; null where one cannot be opened. */
export async function openWords<T extends JsonObject>(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly SealedWords[],
): Promise<(T | null)[]> {
  if (rows.length === 0) return []
  const keys = await kernel.keyring.tenant(tenant_id)
  const numbers = [...new Set(rows.map(({ secret_no }) => secret_no))]
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return rows.map(({ place, secret_no, sealed }) => {
    const secret = secrets.get(secret_no)
    if (!secret) return null
    try {
      const text = open(keys.factKey(secret), associatedData(tenant_id, place), sealed).toString()
      // Authenticated, and written by sealWords for the same place.
      const words: T = JSON.parse(text)
      return words
    } catch (error) {
      if (error instanceof SealError) return null
      throw error
    }
  })
}
