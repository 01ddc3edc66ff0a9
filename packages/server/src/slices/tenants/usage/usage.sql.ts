// SQL of usage counters: one row per tenant, month and operation.

import { statement } from '../../../platform/db/statement.ts'
import { deleteFrom, from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'

export interface UsageRow {
  period: string
  operation: string
  count: number
  bytes: number
}

const addStatement = statement<UsageRow>()((k, p) =>
  k
    .insertInto('usage')
    .values({
      tenant_id: p.tenant_id,
      period: p.period,
      operation: p.operation,
      count: p.count,
      bytes: p.bytes,
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'period', 'operation']).doUpdateSet((e) => ({
        count: e('usage.count', '+', p.count),
        bytes: e('usage.bytes', '+', p.bytes),
      })),
    ),
)

/** Adds to a counter; a missing one starts at zero. */
export const addUsage = (tx: Tx, row: UsageRow) => tx.runOf(addStatement, row)

/** The counters of one month, for example `2026-01`. */
export const listUsage = (db: TenantDb, period: string): Promise<UsageRow[]> =>
  db.all(
    from(db, 'usage')
      .select(['period', 'operation', 'count', 'bytes'])
      .where('period', '=', period)
      .orderBy('operation'),
  )

const countStatement = statement<{ period: string; operation: string }>()((k, p) =>
  k
    .selectFrom('usage')
    .select('count')
    .where('tenant_id', '=', p.tenant_id)
    .where('period', '=', p.period)
    .where('operation', '=', p.operation),
)

/** One counter of a month; 0 where there is none. */
export async function findUsage(db: TenantDb, period: string, operation: string): Promise<number> {
  return (await db.firstOf(countStatement, { period, operation }))?.count ?? 0
}

/** The counters of some operations in every month. */
export const listUsageOf = (db: TenantDb, operations: readonly string[]): Promise<UsageRow[]> =>
  db.all(
    from(db, 'usage')
      .select(['period', 'operation', 'count', 'bytes'])
      .where('operation', 'in', operations),
  )

/** Replaces a counter, whatever it was. */
export async function setUsage(tx: Tx, row: UsageRow): Promise<void> {
  const { period, operation } = row
  await tx.run(
    deleteFrom(tx, 'usage').where('period', '=', period).where('operation', '=', operation),
  )
  await addUsage(tx, row)
}
