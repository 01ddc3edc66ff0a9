// SQL of record secrets: the highest number the data already uses.

import { from, type TenantDb } from './db/tenant-db.ts'

const NEWEST_DECISIONS = 2_048

/**
 * The highest record secret number among all stores, policies and the newest decisions; 0: none.
 * Numbers rise with the log, so that the newest decisions stand for all of them.
 */
export async function findHighestRecordSecret(db: TenantDb): Promise<number> {
  const newest = await db.all(
    from(db, 'decisions').select('secret_no').orderBy('seq', 'desc').limit(NEWEST_DECISIONS),
  )
  const stores = await db.first(
    from(db, 'stores').select((e) => e.fn.max('secret_no').as('highest')),
  )
  const policies = await db.first(
    from(db, 'policies').select((e) => e.fn.max('secret_no').as('highest')),
  )
  return newest.reduce(
    (highest, row) => Math.max(highest, row.secret_no),
    Math.max(Number(stores?.highest ?? 0), Number(policies?.highest ?? 0)),
  )
}
