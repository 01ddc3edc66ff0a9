// SQL of legal holds on stores.

import type { Tables } from '../../platform/db/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'

export type HoldRow = Omit<Tables['store_holds'], 'tenant_id'>

const COLUMNS = [
  'hold_id',
  'store_id',
  'placed_seq',
  'placed_us',
  'placed_by',
  'until_us',
  'released_us',
  'released_by',
  'sealed',
  'sealed_release',
] as const

export const insertHold = (tx: Tx, row: HoldRow) => tx.run(insertInto(tx, 'store_holds', row))

export const findHold = (db: TenantDb, store_id: string, hold_id: string) =>
  db.first(
    from(db, 'store_holds')
      .select(COLUMNS)
      .where('store_id', '=', store_id)
      .where('hold_id', '=', hold_id),
  )

export interface HoldPage {
  readonly limit: number
  readonly offset: number
  /** Only those that stand at this time. */
  readonly standing_us: number | null
}

/** Newest first. */
export function listHolds(db: TenantDb, store_id: string, page: HoldPage): Promise<HoldRow[]> {
  const { limit, offset, standing_us } = page
  const all = from(db, 'store_holds').select(COLUMNS).where('store_id', '=', store_id)
  const seen =
    standing_us === null
      ? all
      : all
          .where('released_us', 'is', null)
          .where((e) => e.or([e('until_us', 'is', null), e('until_us', '>', standing_us)]))
  return db.all(seen.orderBy('placed_seq', 'desc').limit(limit).offset(offset))
}

/** Stores with a hold that stands at `at_us`. */
export const listHeldStores = (db: TenantDb, at_us: number): Promise<{ store_id: string }[]> =>
  db.all(
    from(db, 'store_holds')
      .select('store_id')
      .distinct()
      .where('released_us', 'is', null)
      .where((e) => e.or([e('until_us', 'is', null), e('until_us', '>', at_us)])),
  )

/** Whether it was not released before. */
export const updateReleased = (
  tx: Tx,
  hold_id: string,
  release: Pick<HoldRow, 'released_us' | 'released_by' | 'sealed_release'>,
) =>
  tx.run(
    update(tx, 'store_holds')
      .set(release)
      .where('hold_id', '=', hold_id)
      .where('released_us', 'is', null),
  )

/** Facts of the store whose erasure had begun. */
export async function countErasing(db: TenantDb, store_id: string): Promise<number> {
  const row = await db.first(
    from(db, 'facts')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('store_id', '=', store_id)
      .where((e) => e('state', '=', e.lit(1))),
  )
  return Number(row?.count ?? 0)
}

/** Those that stand at `at_us`. */
export async function countHolds(db: TenantDb, store_id: string, at_us: number): Promise<number> {
  const row = await db.first(
    from(db, 'store_holds')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('store_id', '=', store_id)
      .where('released_us', 'is', null)
      .where((e) => e.or([e('until_us', 'is', null), e('until_us', '>', at_us)])),
  )
  return Number(row?.count ?? 0)
}

export const deleteHolds = (tx: Tx, store_id: string) =>
  tx.run(deleteFrom(tx, 'store_holds').where('store_id', '=', store_id))

export const deleteRetention = (tx: Tx, store_id: string) =>
  tx.run(deleteFrom(tx, 'store_retention').where('store_id', '=', store_id))
