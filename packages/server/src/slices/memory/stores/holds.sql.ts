// SQL of legal holds on stores.

import type { Row } from '../../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../../platform/db/tenant-db.ts'
import type { Page } from '../../../platform/page.ts'

const COLUMNS = [
  'hold_id',
  'store_id',
  'placed_seq',
  'placed_us',
  'placed_by',
  'until_us',
  'released_us',
  'released_by',
  'secret_no',
  'sealed',
  'sealed_release',
] as const

export const insertHold = (tx: Tx, row: Row<'store_holds'>) =>
  tx.run(insertInto(tx, 'store_holds', row))

export const findHold = (db: TenantDb, store_id: string, hold_id: string) =>
  db.first(
    from(db, 'store_holds')
      .select(COLUMNS)
      .where('store_id', '=', store_id)
      .where('hold_id', '=', hold_id),
  )

export const findHoldById = (
  db: TenantDb,
  hold_id: string,
): Promise<Row<'store_holds'> | undefined> =>
  db.first(from(db, 'store_holds').select(COLUMNS).where('hold_id', '=', hold_id))

/** A batch of the holds of all stores, by id. */
export const listAllHolds = (
  db: TenantDb,
  after: string,
  limit: number,
): Promise<Row<'store_holds'>[]> =>
  db.all(
    from(db, 'store_holds')
      .select(COLUMNS)
      .where('hold_id', '>', after)
      .orderBy('hold_id')
      .limit(limit),
  )

/** Newest first. With `active_us`, returns only holds in force at that time. */
export function listHolds(
  db: TenantDb,
  store_id: string,
  {
    limit,
    offset,
    after,
    active_us,
  }: Pick<Page, 'limit' | 'offset' | 'after'> & { readonly active_us: number | null },
): Promise<Row<'store_holds'>[]> {
  const all = from(db, 'store_holds').select(COLUMNS).where('store_id', '=', store_id)
  const listed =
    active_us === null
      ? all
      : all
          .where('released_us', 'is', null)
          .where((e) => e.or([e('until_us', 'is', null), e('until_us', '>', active_us)]))
  const paged = after === null ? listed.offset(offset) : listed.where('placed_seq', '<', after.at)
  return db.all(paged.orderBy('placed_seq', 'desc').limit(limit))
}

/** Stores with a hold in force at `at_us`. */
export const listHeldStores = (db: TenantDb, at_us: number): Promise<{ store_id: string }[]> =>
  db.all(
    from(db, 'store_holds')
      .select('store_id')
      .distinct()
      .where('released_us', 'is', null)
      .where((e) => e.or([e('until_us', 'is', null), e('until_us', '>', at_us)])),
  )

/** Returns 1, or 0 if the hold has already been released. */
export const updateHoldRelease = (
  tx: Tx,
  hold_id: string,
  release: Pick<Row<'store_holds'>, 'released_us' | 'released_by' | 'sealed_release'>,
) =>
  tx.run(
    update(tx, 'store_holds')
      .set(release)
      .where('hold_id', '=', hold_id)
      .where('released_us', 'is', null),
  )

/** Holds of the store in force at `at_us`. */
export async function countActiveHolds(
  db: TenantDb,
  store_id: string,
  at_us: number,
): Promise<number> {
  const row = await db.first(
    from(db, 'store_holds')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('store_id', '=', store_id)
      .where('released_us', 'is', null)
      .where((e) => e.or([e('until_us', 'is', null), e('until_us', '>', at_us)])),
  )
  return Number(row?.count ?? 0)
}

export const updateRedactedHold = (
  tx: Tx,
  hold_id: string,
  redacted: Pick<Row<'store_holds'>, 'secret_no' | 'sealed' | 'sealed_release'>,
) => tx.run(update(tx, 'store_holds').set(redacted).where('hold_id', '=', hold_id))

export const insertHoldRelease = (tx: Tx, row: Row<'hold_releases'>) =>
  tx.run(insertInto(tx, 'hold_releases', row))

/** Log positions of hold releases, keyed by hold. */
export async function loadHoldReleases(
  db: TenantDb,
  store_id: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.all(
    from(db, 'hold_releases').select(['hold_id', 'released_seq']).where('store_id', '=', store_id),
  )
  return new Map(rows.map(({ hold_id, released_seq }) => [hold_id, released_seq]))
}

export async function deleteHolds(tx: Tx, store_id: string): Promise<void> {
  await tx.run(deleteFrom(tx, 'store_holds').where('store_id', '=', store_id))
  await tx.run(deleteFrom(tx, 'hold_releases').where('store_id', '=', store_id))
}

export const deleteRetention = (tx: Tx, store_id: string) =>
  tx.run(deleteFrom(tx, 'store_retention').where('store_id', '=', store_id))
