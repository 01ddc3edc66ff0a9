// SQL of leases: a control table that only these functions use.
//
// Its times are those of the database's own clock, so that processes agree on the end of a lease
// even if their clocks differ. Leases exist only on a database that several processes share.

import { sql } from 'kysely'
import { builder } from './builder.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

interface LeaseClaim {
  readonly name: string
  readonly holder: string
  readonly now_us: number
  readonly until_us: number
}

/** Microseconds by the clock of the database, later than any wait of this unit so far. */
export async function databaseClock(db: TenantDb): Promise<number> {
  // Reads the clock instead of comparing it in the statements: engines that replicate a control
  // table refuse expressions that each replica would compute for itself.
  const now_us = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000000)`
  const row = await db.first(builder.selectNoFrom(now_us.as('now_us')))
  if (!row) throw new Error('the database told no time')
  return Number(row.now_us)
}

/** Acquires the lease if free, expired or already the holder's; returns changed rows: 0 or 1. */
export const claimLease = (tx: Tx, { name, holder, now_us, until_us }: LeaseClaim) =>
  tx.run(
    builder
      .insertInto('leases')
      .values({ name, holder, until_us })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ holder, until_us })
          .where((e) => e.or([e('leases.until_us', '<', now_us), e('leases.holder', '=', holder)])),
      ),
  )

/** Renews a lease that the holder still has; returns 0 if another has acquired it. */
export const extendLease = (tx: Tx, { name, holder, until_us }: Omit<LeaseClaim, 'now_us'>) =>
  tx.run(
    builder
      .updateTable('leases')
      .set({ until_us })
      .where('name', '=', name)
      .where('holder', '=', holder),
  )

/** The holder of the lease, unless it has expired. */
export const findHolder = async (tx: Tx, name: string, now_us: number): Promise<string | null> => {
  const row = await tx.first(
    builder
      .selectFrom('leases')
      .select('holder')
      .where('name', '=', name)
      .where('until_us', '>=', now_us),
  )
  return row?.holder ?? null
}

/** Whether the holder has the lease, even if expired. Locks it until the unit ends. */
export const lockLease = async (tx: Tx, name: string, holder: string): Promise<boolean> => {
  const query = builder
    .selectFrom('leases')
    .select('holder')
    .where('name', '=', name)
    .where('holder', '=', holder)
    .forUpdate()
  return (await tx.first(query)) !== undefined
}

/** Names with the prefix of leases that were neither released nor renewed in time. */
export const listExpired = (db: TenantDb, prefix: string, now_us: number) =>
  db.all(
    builder
      .selectFrom('leases')
      .select('name')
      .where('name', 'like', `${prefix}%`)
      .where('until_us', '<', now_us),
  )

export const dropLease = (tx: Tx, name: string, holder: string) =>
  tx.run(builder.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder))

/** Writes a row that is a mark and no lease; replaces one of another process. */
export const saveMark = (tx: Tx, { name, holder, until_us }: Omit<LeaseClaim, 'now_us'>) =>
  tx.run(
    builder
      .insertInto('leases')
      .values({ name, holder, until_us })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ holder, until_us })),
  )

/** The holder in the row, or null if there is no row. */
export const findMark = async (db: TenantDb, name: string): Promise<string | null> => {
  const row = await db.first(builder.selectFrom('leases').select('holder').where('name', '=', name))
  return row?.holder ?? null
}
