// SQL of what a restore reports about a tenant.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

export const countTombstones = (db: TenantDb): Promise<number> => count(db, 'tombstones')

export const countCertificates = (db: TenantDb): Promise<number> => count(db, 'certificates')

async function count(db: TenantDb, table: 'tombstones' | 'certificates'): Promise<number> {
  const row = await db.first(from(db, table).select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}
