// Columns of sealed payloads, each bound to its row and sealed under the row's own secret.

import type { KeyObject } from 'node:crypto'
import { jsonBytes } from '../bytes.ts'
import type { TenantKeys } from '../keys/keyring.ts'
import { open, SealError, seal } from '../keys/seal.ts'
import { Refusal } from '../refusal.ts'
import type { Kernel } from './kernel.ts'
import { recordSecrets } from './record-secrets.ts'

/** Converts a payload to the bytes that are sealed, and back. */
interface PayloadFormat<P> {
  encode(payload: P): Buffer
  decode(bytes: Buffer): P
}

/** Does not validate: what opens was sealed by this service for the same row. */
export const jsonPayload = <P>(): PayloadFormat<P> => ({
  encode: jsonBytes,
  decode: (bytes): P => JSON.parse(bytes.toString()),
})

export const textPayload: PayloadFormat<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => bytes.toString(),
}

interface ColumnSpec<R, P> {
  /** Part of the sealed bytes, and different for each column. */
  readonly domain: string
  /** Identifies the row: no sealed row can stand in for another. Part of the sealed bytes. */
  readonly ids: (tenant_id: string, row: R) => readonly (string | number)[]
  readonly payload: PayloadFormat<P>
}

/** The members that every row with a sealed column has. */
interface SealedMembers {
  /** Number of the record secret that seals the row. */
  readonly secret_no: number
  /** Null if nothing is sealed in it. */
  readonly sealed: Uint8Array | null
}

/**
 * Stands in place of the number of a record secret in a redacted record, whose sealed content names
 * nobody. No secret is part of its key, so that it opens with an older keyring too.
 */
export const REDACTED_SECRET = 0

/** The key of a new row, and the number that identifies it. */
export interface NewKey {
  readonly secret_no: number
  readonly key: KeyObject
}

type KeyringOf = Pick<Kernel, 'keyring'>

/** `R`: the members of a row that identify it; `P`: the payload. */
export class SealedColumn<R, P> {
  readonly #spec: ColumnSpec<R, P>

  constructor(spec: ColumnSpec<R, P>) {
    this.#spec = spec
  }

  seal(key: KeyObject, tenant_id: string, row: R, payload: P): Buffer {
    const plaintext = this.#spec.payload.encode(payload)
    const sealed = seal(key, this.#associatedData(tenant_id, row), plaintext)
    plaintext.fill(0)
    return sealed
  }

  /** Throws SealError if it was sealed under another key or for another row, or was changed. */
  open(key: KeyObject, tenant_id: string, row: R, sealed: Uint8Array): P {
    const plaintext = open(key, this.#associatedData(tenant_id, row), sealed)
    const payload = this.#spec.payload.decode(plaintext)
    plaintext.fill(0)
    return payload
  }

  /** Seals under a new record secret. */
  async sealNew(
    kernel: Kernel,
    tenant_id: string,
    row: R,
    payload: P,
  ): Promise<{ readonly secret_no: number; readonly sealed: Buffer }> {
    const { secret_no, key } = await newKey(kernel, tenant_id)
    return { secret_no, sealed: this.seal(key, tenant_id, row, payload) }
  }

  /** Seals what stays of a redacted row, under a key that no record secret is part of. */
  async sealRedacted(
    { keyring }: KeyringOf,
    tenant_id: string,
    row: R,
    payload: P,
  ): Promise<Buffer> {
    return this.seal(redactedKey(await keyring.tenant(tenant_id)), tenant_id, row, payload)
  }

  /** Seals under the row's own secret; null if the secret is destroyed or the row redacted. */
  async sealAgain(
    kernel: KeyringOf,
    tenant_id: string,
    row: R & Pick<SealedMembers, 'secret_no'>,
    payload: P,
  ): Promise<Buffer | null> {
    if (row.secret_no === REDACTED_SECRET) return null
    const key = (await loadKeys(kernel, tenant_id, [row.secret_no])).get(row.secret_no)
    return key ? this.seal(key, tenant_id, row, payload) : null
  }

  /** Payloads in the order of `rows`; null where nothing is sealed or it does not open. */
  async openAll(
    kernel: KeyringOf,
    tenant_id: string,
    rows: readonly (R & SealedMembers)[],
  ): Promise<(P | null)[]> {
    if (rows.length === 0) return []
    const numbers = rows.map(({ secret_no }) => secret_no)
    const keys = await loadKeys(kernel, tenant_id, numbers)
    return rows.map((row) => {
      const key = keys.get(row.secret_no)
      return key && row.sealed ? this.#tryOpen(key, tenant_id, row, row.sealed) : null
    })
  }

  /** In the order of `rows`. Refuses while one of them does not open; `what` names it. */
  async loadAll<T extends R & SealedMembers>(
    kernel: KeyringOf,
    tenant_id: string,
    rows: readonly T[],
    what: string,
  ): Promise<{ readonly row: T; readonly content: P }[]> {
    const contents = await this.openAll(kernel, tenant_id, rows)
    return rows.map((row, i) => {
      const content = contents[i]
      if (content == null) throw new Refusal('unavailable', `${what} cannot be opened`)
      return { row, content }
    })
  }

  #tryOpen(key: KeyObject, tenant_id: string, row: R, sealed: Uint8Array): P | null {
    try {
      return this.open(key, tenant_id, row, sealed)
    } catch (error) {
      if (error instanceof SealError) return null
      throw error
    }
  }

  #associatedData(tenant_id: string, row: R): Buffer {
    return jsonBytes([this.#spec.domain, ...this.#spec.ids(tenant_id, row)])
  }
}

export const sealedColumn = <R, P>(spec: ColumnSpec<R, P>): SealedColumn<R, P> =>
  new SealedColumn(spec)

/** Creates the key of a new row, which seals all its columns. */
export async function newKey(kernel: Kernel, tenant_id: string): Promise<NewKey> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  return { secret_no, key }
}

/** The key of all redacted rows of a tenant: each is bound to its row by associated data. */
const redactedKey = (keys: TenantKeys): KeyObject => keys.decisionKey(NO_DECISION, [])

/** No decision has this id. */
const NO_DECISION = '0'.repeat(32)

/** Maps the secret numbers of rows to their keys, without those that are destroyed. */
export async function loadKeys(
  { keyring }: KeyringOf,
  tenant_id: string,
  numbers: readonly number[],
): Promise<Map<number, KeyObject>> {
  const distinct = new Set(numbers)
  const keys = new Map<number, KeyObject>()
  if (distinct.delete(REDACTED_SECRET))
    keys.set(REDACTED_SECRET, redactedKey(await keyring.tenant(tenant_id)))
  const secrets = await keyring.secrets(tenant_id, 'decision', [...distinct])
  for (const [number, secret] of secrets) {
    if (!secret) continue
    keys.set(number, (await keyring.tenant(tenant_id)).factKey(secret))
    secret.fill(0)
  }
  return keys
}
