// SQL of conformance audits.

import type { Database } from '../../platform/db/database.ts'
import { firstRowPerTenant } from '../../platform/db/engines/first-of-each.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx } from '../../platform/db/tenant-db.ts'
/** An audit without its signed result. */
export type AuditSummary = Omit<Row<'conformance_audits'>, 'record' | 'seq' | 'run_id'>

export const insertAudit = (tx: Tx, row: Row<'conformance_audits'>) =>
  tx.run(insertInto(tx, 'conformance_audits', row))

/** Newest first. */
export const listAudits = (db: TenantDb, limit: number): Promise<Row<'conformance_audits'>[]> =>
  db.all(
    from(db, 'conformance_audits')
      .select([
        'seq',
        'audit_id',
        'run_id',
        'store_id',
        'rate_e6',
        'capabilities',
        'audited_us',
        'record',
      ])
      .orderBy('seq', 'desc')
      .limit(limit),
  )

const newestStatement = statement<object>()((k, p) =>
  k
    .selectFrom('conformance_audits')
    .select(['audit_id', 'store_id', 'rate_e6', 'capabilities', 'audited_us'])
    .where('tenant_id', '=', p.tenant_id)
    .orderBy('seq', 'desc')
    .limit((e) => e.lit(1)),
)

export const findNewestAudit = (db: TenantDb): Promise<AuditSummary | undefined> =>
  db.firstOf(newestStatement, {})

/** The newest audit of each of `tenants` that has one. */
export const findNewestAudits = (
  db: Database,
  tenants: readonly string[],
): Promise<Map<string, AuditSummary>> =>
  firstRowPerTenant(
    db,
    newestStatement,
    tenants.map((tenant_id) => ({ tenant_id, params: {} })),
  )
