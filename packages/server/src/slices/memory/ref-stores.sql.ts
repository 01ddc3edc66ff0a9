// SQL of which stores refs belong to, erased ones included.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

const IN_MAX = 500

/** Those of the refs that are or were memories of one of the stores, at most 1,000 of these. */
export async function listRefsWithin(
  db: TenantDb,
  refs: readonly number[],
  store_ids: readonly string[],
): Promise<number[]> {
  const within: number[] = []
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const chunk = refs.slice(at, at + IN_MAX)
    for (const table of ['facts', 'tombstones'] as const) {
      const found = from(db, table).select('ref').where('ref', 'in', chunk)
      const rows = await db.all(found.where('store_id', 'in', store_ids))
      within.push(...rows.map(({ ref }) => ref))
    }
  }
  return within
}
