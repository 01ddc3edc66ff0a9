// Callers' words about a store, sealed under the store's own secret: they go when the store does.

import { Conflict } from '../../platform/concurrency.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { jsonPayload, loadKeys, sealedColumn } from '../../platform/sealed-column.ts'
import { findStore, loadTargetHead, loadWriteTarget } from '../memory/index.ts'

/** What the words are: of which record, and which of its words. */
export type NoteId = readonly ['retention'] | readonly ['hold' | 'release', string]

/** A store that something is about to be said of. */
export interface StoreTarget {
  readonly store_id: string
  readonly secret_no: number
  /** Inside the unit of work; makes `default` where it is missing. */
  enter(tx: Tx): Promise<void>
  /** Null for no words. */
  seal(what: NoteId, words: object | null): Promise<Buffer | null>
}

export const storeColumn = ([domain, ...ids]: NoteId) =>
  sealedColumn({
    domain,
    ids: (tenant_id, store_id: string) => [...ids, tenant_id, store_id],
    payload: jsonPayload<object>(),
  })

/** Refuses `store_not_found` and `store_deleting`. Throws a conflict of the store. */
export async function prepareStoreTarget(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<StoreTarget> {
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (row?.state === 'deleting') throw new Refusal('store_deleting')
  const secret_no = row?.secret_no ?? target.fresh?.secret_no
  if (secret_no === undefined) throw new Conflict('store')
  return {
    store_id,
    secret_no,
    async enter(tx) {
      await loadTargetHead(kernel, tx, target)
      // Made anew since: what was sealed for the one before would open for nobody.
      if ((await findStore(tx, store_id))?.secret_no !== secret_no) throw new Conflict('store')
    },
    async seal(what, words) {
      if (words === null) return null
      const key = (await loadKeys(kernel, tenant_id, [secret_no])).get(secret_no)
      if (!key) throw new Conflict('store')
      return storeColumn(what).seal(key, tenant_id, store_id, words)
    },
  }
}

export type OpenNote = <T extends object>(what: NoteId, sealed: Uint8Array | null, none: T) => T

/** Opens what is sealed for a store; `none` for nothing, or when its secret is gone. */
export async function openStoreNotes(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<OpenNote> {
  const row = await findStore(db, store_id)
  if (!row) return (_, _sealed, none) => none
  const key = (await loadKeys(kernel, db.tenant_id, [row.secret_no])).get(row.secret_no)
  if (!key) return (_, _sealed, none) => none
  return (what, sealed, none) =>
    sealed === null
      ? none
      : { ...none, ...storeColumn(what).open(key, db.tenant_id, store_id, sealed) }
}
