// SQL of leases: a control table, reached only through these functions.
//
// Times in it are those of the database's own clock: processes whose clocks differ, by an hour if
// need be, agree on when a lease is over. Leases are taken on a database that several serve only.

import { sql } from 'kysely'
import { builder } from './builder.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

interface LeaseClaim {
  readonly name: string
  readonly holder: string
  readonly now_us: number
  readonly until_us: number
}

/** Microseconds by the clock of the database, later than whatever this unit has waited for. */
export async function databaseClock(db: TenantDb): Promise<number> {
  // Read, not compared in the statements: engines that keep copies of a control table refuse there
  // what each copy would compute for itself.
  const now_us = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000000)`
  const row = await db.first(builder.selectNoFrom(now_us.as('now_us')))
  if (!row) throw new Error('the database told no time')
  return Number(row.now_us)
}

/** Takes the lease when it is free, over, or the holder's already; rows changed: 0 or 1. */
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

/** Keeps a lease the holder still has; 0: another has taken it. */
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

/** Whether the holder has the lease, over or not; nobody else gets it before this unit's end. */
export const lockLease = async (tx: Tx, name: string, holder: string): Promise<boolean> => {
  const query = builder
    .selectFrom('leases')
    .select('holder')
    .where('name', '=', name)
    .where('holder', '=', holder)
    .forUpdate()
  return (await tx.first(query)) !== undefined
}

/** Names that begin so, of leases that nobody has given back or extended in time. */
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

/** Writes a row that nobody waits for; another process may have written it before. */
export const saveMark = (tx: Tx, { name, holder, until_us }: Omit<LeaseClaim, 'now_us'>) =>
  tx.run(
    builder
      .insertInto('leases')
      .values({ name, holder, until_us })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ holder, until_us })),
  )

/** Who wrote the row last; null: nobody. */
export const findMark = async (db: TenantDb, name: string): Promise<string | null> => {
  const row = await db.first(builder.selectFrom('leases').select('holder').where('name', '=', name))
  return row?.holder ?? null
}
