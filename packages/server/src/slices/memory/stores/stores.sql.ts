// SQL of stores: their rows, and the counts shown in lists and statistics.

import { sql } from 'kysely'
import { pageByTime } from '../../../platform/db/page-by-time.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../../platform/db/tenant-db.ts'
import type { Page } from '../../../platform/page.ts'
import { isUnexpired } from './expiries.sql.ts'

export type StoreRow = Row<'stores'>

const COLUMNS = [
  'store_id',
  'secret_no',
  'sealed',
  'capabilities',
  'tokenizer',
  'embedder',
  'sent_out',
  'state',
  'head_seq',
  'created_us',
  'languages',
  'digest_after_s',
] as const

const storeStatement = statement<{ store_id: string }>()((k, p) =>
  k
    .selectFrom('stores')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id),
)

/** Returns the row of a store in any state; `default` has no row before its first write. */
export const findStore = (db: TenantDb, store_id: string): Promise<StoreRow | undefined> =>
  db.firstOf(storeStatement, { store_id })

export const insertStore = (tx: Tx, row: StoreRow) => tx.run(insertInto(tx, 'stores', row))

/** A batch of all stores by id. */
export const listStoresAfter = (db: TenantDb, after: string, limit: number): Promise<StoreRow[]> =>
  db.all(
    from(db, 'stores')
      .select(COLUMNS)
      .where('store_id', '>', after)
      .orderBy('store_id')
      .limit(limit),
  )

export const updateDescription = (tx: Tx, store_id: string, sealed: Uint8Array) =>
  tx.run(update(tx, 'stores').set({ sealed }).where('store_id', '=', store_id))

const headStatement = statement<{ store_id: string; head_seq: number }>()((k, p) =>
  k
    .updateTable('stores')
    .set({ head_seq: p.head_seq })
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id),
)

export const updateHeadSeq = (tx: Tx, store_id: string, head_seq: number) =>
  tx.runOf(headStatement, { store_id, head_seq })

export const updateStoreState = (tx: Tx, store_id: string, state: string) =>
  tx.run(update(tx, 'stores').set({ state }).where('store_id', '=', store_id))

/** `sent_out` stays set once texts of the store have left the service. */
export const updateEmbedder = (
  tx: Tx,
  store_id: string,
  { embedder, sent_out }: { embedder: string; sent_out: boolean },
) =>
  tx.run(
    update(tx, 'stores')
      .set({ embedder, ...(sent_out ? { sent_out: 1 } : {}) })
      .where('store_id', '=', store_id),
  )

/** Removes the row and records that the id was used. */
export async function deleteStore(tx: Tx, store_id: string): Promise<void> {
  await tx.run(deleteFrom(tx, 'stores').where('store_id', '=', store_id))
  await tx.run(deleteFrom(tx, 'digest_sessions').where('store_id', '=', store_id))
  await tx.run(
    insertInto(tx, 'deleted_stores', { store_id }).onConflict((conflict) => conflict.doNothing()),
  )
}

export const wasStoreDeleted = async (db: TenantDb, store_id: string): Promise<boolean> =>
  (await db.first(
    from(db, 'deleted_stores').select('store_id').where('store_id', '=', store_id),
  )) !== undefined

export const insertSelfTestStore = (tx: Tx, store_id: string) =>
  tx.run(insertInto(tx, 'self_test_stores', { store_id }))

export const deleteSelfTestStore = (tx: Tx, store_id: string) =>
  tx.run(deleteFrom(tx, 'self_test_stores').where('store_id', '=', store_id))

/** Returns the stores that self-tests created. */
export async function loadSelfTestStores(
  db: TenantDb,
  store_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (store_ids.length === 0) return new Set()
  const rows = await db.all(
    from(db, 'self_test_stores').select('store_id').where('store_id', 'in', store_ids),
  )
  return new Set(rows.map(({ store_id }) => store_id))
}

/** Oldest first; an empty `allowed` means every store. */
export function listStores(
  db: TenantDb,
  {
    allowed,
    ...page
  }: Pick<Page, 'limit' | 'offset' | 'after'> & { readonly allowed: readonly string[] },
) {
  const all = from(db, 'stores').select(COLUMNS)
  const selected = allowed.length === 0 ? all : all.where('store_id', 'in', allowed)
  return db.all(pageByTime(selected, { time: 'created_us', order: 'oldest', id: 'store_id' }, page))
}

export function countFacts(db: TenantDb, stores: readonly string[]) {
  const all = from(db, 'facts').select((e) => e.fn.countAll<number>().as('count'))
  return stores.length === 0 ? all : all.where('store_id', 'in', stores)
}

/** Bytes of sealed facts. Reads every row, so use it only for tenants with few facts. */
export async function sumFactBytes(db: TenantDb, stores: readonly string[]): Promise<number> {
  const bytes = sql<number>`coalesce(sum(length(sealed)), 0)`.as('bytes')
  const all = from(db, 'facts').select(bytes)
  const selected = stores.length === 0 ? all : all.where('store_id', 'in', stores)
  return Number((await db.first(selected))?.bytes ?? 0)
}

/** Counts live facts not expired at `at_us`; `embedded` counts those with a vector of the space. */
export const sumFacts = (
  db: TenantDb,
  store_id: string,
  { at_us, space_mark }: { at_us: number; space_mark: number | null },
) =>
  from(db, 'facts')
    .select((e) => [
      e.fn.countAll<number>().as('facts'),
      sql<number>`coalesce(sum(token_count), 0)`.as('tokens'),
      sql<number>`coalesce(sum(case when space_mark = ${space_mark} then 1 else 0 end), 0)`.as(
        'embedded',
      ),
    ])
    .where('store_id', '=', store_id)
    .where('state', '=', 0)
    .where(isUnexpired(db, 'facts', { store_id, at_us }))

/** Counts validity versions on record, except those of facts that have expired at `at_us`. */
export const sumVersions = (db: TenantDb, store_id: string, at_us: number) =>
  from(db, 'validity')
    .select([
      sql<number>`coalesce(sum(case when valid_from_us <= ${at_us} and
        (valid_until_us is null or valid_until_us > ${at_us}) then 1 else 0 end), 0)`.as('current'),
      sql<number>`count(superseded_by)`.as('superseded'),
    ])
    .where('store_id', '=', store_id)
    .where('until_seq', 'is', null)
    .where(isUnexpired(db, 'validity', { store_id, at_us }))

export const countErased = (db: TenantDb, store_id: string) =>
  from(db, 'tombstones')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('store_id', '=', store_id)
