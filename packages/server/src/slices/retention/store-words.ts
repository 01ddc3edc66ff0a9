// Callers' words about a store, sealed under the store's own secret: they go when the store does.

import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { open, seal } from '../../platform/keys/seal.ts'
import { Refusal } from '../../platform/refusal.ts'
import { enterStore, findStore, StoreChanged, writeTarget } from '../memory/index.ts'

/** What the words are: of which record, and which of its words. */
export type WordsOf = readonly ['retention'] | readonly ['hold' | 'release', string]

/** A store that something is about to be said of. */
export interface StoreTarget {
  readonly store_id: string
  readonly secret_no: number
  /** Inside the unit of work; makes `default` where it is missing. */
  enter(tx: Tx): Promise<void>
  /** Null for no words. */
  seal(what: WordsOf, words: object | null): Promise<Buffer | null>
}

const associatedData = (tenant_id: string, store_id: string, what: WordsOf): Buffer =>
  Buffer.from(JSON.stringify([...what, tenant_id, store_id]))

/** Refuses `store_not_found` and `store_deleting`. Run it again on StoreChanged. */
export async function storeTarget(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<StoreTarget> {
  const target = await writeTarget(kernel, tenant_id, store_id)
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (row?.state === 'deleting') throw new Refusal('store_deleting')
  const secret_no = row?.secret_no ?? target.fresh?.secret_no
  if (secret_no === undefined) throw new StoreChanged()
  return {
    store_id,
    secret_no,
    async enter(tx) {
      await enterStore(kernel, tx, target)
      // Made anew since: what was sealed for the one before would open for nobody.
      if ((await findStore(tx, store_id))?.secret_no !== secret_no) throw new StoreChanged()
    },
    async seal(what, words) {
      if (words === null) return null
      const keys = await kernel.keyring.tenant(tenant_id)
      const secrets = await kernel.keyring.secrets(tenant_id, 'decision', [secret_no])
      const secret = secrets.get(secret_no)
      if (!secret) throw new StoreChanged()
      const key = keys.factKey(secret)
      secret.fill(0)
      const text = Buffer.from(JSON.stringify(words))
      return seal(key, associatedData(tenant_id, store_id, what), text)
    },
  }
}

export type OpenWords = <T extends object>(what: WordsOf, sealed: Uint8Array | null, none: T) => T

/** Opens what is sealed for a store; `none` for nothing, or when its secret is gone. */
export async function wordsOfStore(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<OpenWords> {
  const row = await findStore(db, store_id)
  if (!row) return (_, _sealed, none) => none
  const keys = await kernel.keyring.tenant(db.tenant_id)
  const secrets = await kernel.keyring.secrets(db.tenant_id, 'decision', [row.secret_no])
  const secret = secrets.get(row.secret_no)
  if (!secret) return (_, _sealed, none) => none
  const key = keys.factKey(secret)
  secret.fill(0)
  return (what, sealed, none) => {
    if (sealed === null) return none
    const plaintext = open(key, associatedData(db.tenant_id, store_id, what), sealed)
    // Authenticated, and sealed above.
    const words = { ...none, ...JSON.parse(plaintext.toString()) }
    plaintext.fill(0)
    return words
  }
}
