// Counts answered from indexes, for one tenant at a time.

import { sql } from 'kysely'
import type { Builder } from '../../platform/db/builder.ts'
import type { Database } from '../../platform/db/database.ts'
import { firstRowPerTenant } from '../../platform/db/engines/first-of-each.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

/** Counts rows of the named stores, or of all stores if none is named. */
function countIn(
  db: TenantDb,
  table: 'stores' | 'facts' | 'decisions',
  store_ids: readonly string[],
) {
  const all = from(db, table).select((e) => e.fn.countAll<number>().as('count'))
  return store_ids.length === 0 ? all : all.where('store_id', 'in', store_ids)
}

export const countStores = (db: TenantDb, ids: readonly string[]) => countIn(db, 'stores', ids)
export const countFacts = (db: TenantDb, ids: readonly string[]) => countIn(db, 'facts', ids)
export const countDecisions = (db: TenantDb, ids: readonly string[]) =>
  countIn(db, 'decisions', ids)

/** Counts certificates without those of self-tests. */
export const countCertificates = (db: TenantDb) =>
  from(db, 'certificates')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('certificate_id', 'not in', from(db, 'self_test_certificates').select('certificate_id'))

/** The number of entries in the tenant's log. */
export async function logSize(db: TenantDb): Promise<number> {
  const row = await db.first(from(db, 'chain_heads').select('size'))
  return row?.size ?? 0
}

const lastEpoch = (k: Builder, tenant_id: string) =>
  k
    .selectFrom('epochs')
    .select(['tenant_id', 'tree_size'])
    .where('tenant_id', '=', tenant_id)
    .orderBy('epoch_number', 'desc')
    .limit((e) => e.lit(1))
    .as('covered')

const UNCOVERED = sql<number>`case when covered.tree_size is null then 0 else covered.tree_size end`

/** Returns no row for a tenant without a log, which has nothing to count. */
const numbersStatement = statement<{ now_us: number }>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .leftJoin(lastEpoch(k, p.tenant_id), (join) =>
      join.onRef('covered.tenant_id', '=', 'chain_heads.tenant_id'),
    )
    // Joins the oldest entry that no checkpoint covers. Under row-level security, PostgreSQL uses
    // the index for a column or CASE, but would read the whole log for a subquery or COALESCE.
    .leftJoin('breadcrumbs', (join) =>
      join
        .onRef('breadcrumbs.tenant_id', '=', 'chain_heads.tenant_id')
        .on('breadcrumbs.seq', '=', UNCOVERED),
    )
    .select((e) => [
      'chain_heads.size as log_size',
      'breadcrumbs.record as uncovered',
      e
        .selectFrom('approvals')
        .select((f) => f.fn.countAll<number>().as('count'))
        .whereRef('approvals.tenant_id', '=', 'chain_heads.tenant_id')
        .where('approvals.state', '=', 'pending')
        .where('approvals.expires_us', '>', p.now_us)
        .as('approvals_pending'),
      e
        .selectFrom('approvals')
        .select((f) => f.fn.min('approvals.issued_us').as('oldest'))
        .whereRef('approvals.tenant_id', '=', 'chain_heads.tenant_id')
        .where('approvals.state', '=', 'pending')
        .where('approvals.expires_us', '>', p.now_us)
        .as('approval_oldest_us'),
      e
        .selectFrom('approvals')
        .select((f) => f.fn.min('approvals.expires_us').as('next'))
        .whereRef('approvals.tenant_id', '=', 'chain_heads.tenant_id')
        .where('approvals.state', '=', 'pending')
        .where('approvals.expires_us', '>', p.now_us)
        .as('approval_expires_us'),
      e
        .selectFrom('subject_requests')
        .select((f) => f.fn.countAll<number>().as('count'))
        .whereRef('subject_requests.tenant_id', '=', 'chain_heads.tenant_id')
        .where('subject_requests.completed_us', 'is', null)
        .where('subject_requests.due_us', '<', p.now_us)
        .as('overdue'),
      e
        .selectFrom('stores')
        .select((f) => f.fn.countAll<number>().as('count'))
        .whereRef('stores.tenant_id', '=', 'chain_heads.tenant_id')
        .as('stores'),
    ])
    .where('chain_heads.tenant_id', '=', p.tenant_id),
)

export const listTenantNumbers = async (
  db: Database,
  tenants: readonly string[],
  now_us: number,
) => [
  ...(
    await firstRowPerTenant(
      db,
      numbersStatement,
      tenants.map((tenant_id) => ({ tenant_id, params: { now_us } })),
    )
  ).values(),
]
