// SQL of what an off-boarding counts.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

type CountedTable = 'stores' | 'facts' | 'decisions' | 'records' | 'certificates'

export async function countRowsOf(db: TenantDb, table: CountedTable): Promise<number> {
  const row = await db.first(from(db, table).select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

export const listStoreIds = async (db: TenantDb): Promise<string[]> =>
  (await db.all(from(db, 'stores').select('store_id'))).map(({ store_id }) => store_id)
