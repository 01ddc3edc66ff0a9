// SQL of expiries: which memories of a store expire, and when. A row goes with its fact.

import { insertRowsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Tables } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { deleteFrom, from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'

export const insertExpiries = insertRowsStatement<Omit<Tables['fact_expiries'], 'tenant_id'>>(
  (k, rows, tenant_id) =>
    k.insertInto('fact_expiries').values(
      rows.map((row) => ({
        tenant_id,
        ref: row.ref,
        store_id: row.store_id,
        expires_us: row.expires_us,
      })),
    ),
)

export const deleteExpiry = (tx: Tx, ref: number) =>
  tx.run(deleteFrom(tx, 'fact_expiries').where('ref', '=', ref))

/** Refs of the store that expired at `at_us` or before: a subquery. */
export const expiredRefs = (db: TenantDb, store_id: string, at_us: number) =>
  from(db, 'fact_expiries')
    .select('ref')
    .where('store_id', '=', store_id)
    .where('expires_us', '<=', at_us)

/** Whether the memory expired at `at_us` or before. */
export const hasExpired = async (db: TenantDb, ref: number, at_us: number): Promise<boolean> => {
  const found = from(db, 'fact_expiries').select('ref').where('ref', '=', ref)
  return (await db.first(found.where('expires_us', '<=', at_us))) !== undefined
}

/** Memories of the store that expired at `at_us` or before, the first to expire first. */
export const listExpired = async (
  db: TenantDb,
  { store_id, at_us, limit }: { store_id: string; at_us: number; limit: number },
): Promise<number[]> => {
  const rows = await db.all(expiredRefs(db, store_id, at_us).orderBy('expires_us').limit(limit))
  return rows.map(({ ref }) => ref)
}

export async function countExpired(db: TenantDb, store_id: string, at_us: number): Promise<number> {
  const all = expiredRefs(db, store_id, at_us).clearSelect()
  const row = await db.first(all.select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

/** Stores with a memory that expired at `at_us` or before. */
export const listStoresWithExpired = async (db: TenantDb, at_us: number): Promise<string[]> => {
  const rows = await db.all(
    from(db, 'fact_expiries').select('store_id').distinct().where('expires_us', '<=', at_us),
  )
  return rows.map(({ store_id }) => store_id)
}

/** For `firstRowPerTenant`: a memory of the tenant that expired. */
export const anyExpiredStatement = statement<{ at_us: number }>()((k, p) =>
  k
    .selectFrom('fact_expiries')
    .select('ref')
    .where('tenant_id', '=', p.tenant_id)
    .where('expires_us', '<=', p.at_us)
    .limit(1),
)
