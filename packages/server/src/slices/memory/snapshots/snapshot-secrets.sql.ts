// SQL of the secrets that index snapshots are sealed under: one per store with snapshots.

import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
} from '../../../platform/db/tenant-db.ts'
import type { StoreRow } from '../stores/stores.sql.ts'

const SECRETS = ['store_id', 'secret_no'] as const

export const listIndexSecrets = (db: TenantDb) => db.all(from(db, 'index_secrets').select(SECRETS))

/** Secret numbers of these stores. */
export async function findIndexSecrets(
  db: TenantDb,
  store_ids: readonly string[],
): ReturnType<typeof listIndexSecrets> {
  if (store_ids.length === 0) return []
  return db.all(from(db, 'index_secrets').select(SECRETS).where('store_id', 'in', store_ids))
}

export const insertIndexSecret = (tx: Tx, row: Pick<StoreRow, 'store_id' | 'secret_no'>) =>
  tx.run(insertInto(tx, 'index_secrets', row))

export const deleteIndexSecrets = (tx: Tx, numbers: readonly number[]) =>
  tx.run(deleteFrom(tx, 'index_secrets').where('secret_no', 'in', numbers))

/** Whether a fact of the store is being erased. */
export const isErasing = async (db: TenantDb, store_id: string): Promise<boolean> =>
  (await db.first(
    from(db, 'facts')
      .select('ref')
      .where((e) => e('state', '=', e.lit(1)))
      .where('store_id', '=', store_id)
      .limit(1),
  )) !== undefined

/** Whether a fact was erased from the store after log position `seq`. */
export const isErasedSince = async (
  db: TenantDb,
  store_id: string,
  seq: number,
): Promise<boolean> =>
  (await db.first(
    from(db, 'tombstones')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('erased_seq', '>', seq)
      .limit(1),
  )) !== undefined
