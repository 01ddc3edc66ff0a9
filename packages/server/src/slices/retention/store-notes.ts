// Callers' texts about a store (reasons, matters), sealed under the store's own secret: they become
// unreadable when the store is deleted.

import { Conflict } from '../../platform/concurrency.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, loadKeys, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findStore, loadTargetHead, loadWriteTarget, settingsCache } from '../memory/index.ts'

/** Which text it is, and of which hold. */
type NoteId = readonly ['retention'] | readonly ['hold' | 'release', string]

/** A store that a unit of work is about to add a note to. */
interface StoreTarget {
  readonly store_id: string
  readonly secret_no: number
  /** Inside the unit of work; makes `default` where it is missing. */
  enter(tx: Tx): Promise<void>
  /** Null for no note. */
  seal(id: NoteId, note: object | null): Promise<Buffer | null>
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
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (row?.state === 'deleting') throw new Refusal('store_deleting')
  // Deleted since its settings were cached, in this process or in another one.
  if (!row) settingsCache(kernel).forget(tenant_id, store_id)
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const secret_no = row?.secret_no ?? target.fresh?.secret_no
  if (secret_no === undefined) throw new Conflict('store')
  return {
    store_id,
    secret_no,
    async enter(tx) {
      await loadTargetHead(kernel, tx, target)
      // Created again since: nobody could open what was sealed for the earlier store.
      if ((await findStore(tx, store_id))?.secret_no !== secret_no) throw new Conflict('store')
    },
    async seal(id, note) {
      if (note === null) return null
      const key = (await loadKeys(kernel, tenant_id, [secret_no])).get(secret_no)
      if (!key) throw new Conflict('store')
      return storeColumn(id).seal(key, tenant_id, store_id, note)
    },
  }
}

type OpenNote = <T extends object>(id: NoteId, sealed: Uint8Array | null, none: T) => T

/** Opens notes of a store; `none` where there is no note, or when the secret is destroyed. */
export async function openStoreNotes(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<OpenNote> {
  const row = await findStore(db, store_id)
  if (!row) return (_, _sealed, none) => none
  const key = (await loadKeys(kernel, db.tenant_id, [row.secret_no])).get(row.secret_no)
  if (!key) return (_, _sealed, none) => none
  return (id, sealed, none) =>
    sealed === null
      ? none
      : { ...none, ...storeColumn(id).open(key, db.tenant_id, store_id, sealed) }
}
