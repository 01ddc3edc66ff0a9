// Counts by index, one tenant at a time.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

async function count(
  db: TenantDb,
  table: 'stores' | 'facts' | 'decisions' | 'certificates',
): Promise<number> {
  const row = await db.first(from(db, table).select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

export const countStores = (db: TenantDb) => count(db, 'stores')
export const countFacts = (db: TenantDb) => count(db, 'facts')
export const countDecisions = (db: TenantDb) => count(db, 'decisions')
export const countCertificates = (db: TenantDb) => count(db, 'certificates')

/** Entries of the tenant's log. */
export async function logSize(db: TenantDb): Promise<number> {
  const row = await db.first(from(db, 'chain_heads').select('size'))
  return row?.size ?? 0
}
