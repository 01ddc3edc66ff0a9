// SQL of record secrets: finds the highest number that the data already uses.

import { findHighestCredentialSecret } from '../db/credential-limits.sql.ts'
import { from, type TenantDb } from '../db/tenant-db.ts'

const NEWEST_DECISIONS = 2_048

/** Tables with an index of the numbers, so that all of their rows are considered. */
const INDEXED = [
  'stores',
  'policies',
  'records',
  'approvals',
  'approvers',
  'cgr_decisions',
  'cgr_rotations',
  'cgr_attestations',
  'reports',
  'report_requests',
  'subject_requests',
  'store_holds',
  'store_retention',
  'index_secrets',
  'users',
  'sso_connections',
  'agents',
  'bound_texts',
] as const

/**
 * The highest record secret number among the newest decisions and all other records; 0 if none.
 * Numbers rise with the log, so the newest decisions have the highest numbers of all decisions.
 */
export async function findHighestRecordSecret(db: TenantDb): Promise<number> {
  const newest = await db.all(
    from(db, 'decisions').select('secret_no').orderBy('seq', 'desc').limit(NEWEST_DECISIONS),
  )
  // One query for all tables: on PostgreSQL each query is a round trip of a tenant's first write.
  const rest = await db.all(
    INDEXED.map((table) =>
      from(db, table).select((e) => e.fn.max('secret_no').as('highest')),
    ).reduce((query, next) => query.unionAll(next)),
  )
  const numbers = [...newest.map((row) => row.secret_no), ...rest.map((row) => Number(row.highest))]
  return numbers.reduce(
    (highest, number) => Math.max(highest, number),
    await findHighestCredentialSecret(db),
  )
}
