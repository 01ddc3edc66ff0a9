// Counts by index, one tenant at a time.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

/** Rows of the stores; of every store when none is named. */
async function countIn(
  db: TenantDb,
  table: 'stores' | 'facts' | 'decisions',
  store_ids: readonly string[],
): Promise<number> {
  const all = from(db, table).select((e) => e.fn.countAll<number>().as('count'))
  const row = await db.first(store_ids.length === 0 ? all : all.where('store_id', 'in', store_ids))
  return Number(row?.count ?? 0)
}

type Stores = readonly string[]
export const countStores = (db: TenantDb, ids: Stores) => countIn(db, 'stores', ids)
export const countFacts = (db: TenantDb, ids: Stores) => countIn(db, 'facts', ids)
export const countDecisions = (db: TenantDb, ids: Stores) => countIn(db, 'decisions', ids)

/** Without those of self-tests. */
export async function countCertificates(db: TenantDb): Promise<number> {
  const counted = from(db, 'certificates')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('certificate_id', 'not in', from(db, 'self_test_certificates').select('certificate_id'))
  return Number((await db.first(counted))?.count ?? 0)
}

/** Entries of the tenant's log. */
export async function logSize(db: TenantDb): Promise<number> {
  const row = await db.first(from(db, 'chain_heads').select('size'))
  return row?.size ?? 0
}
