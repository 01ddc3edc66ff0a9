// SQL of usage counters, with a row per tenant, month and operation, and of a tenant's use of its
// plan.

import { sql } from 'kysely'
import type { Row, Tables } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
} from '../../../platform/db/tenant-db.ts'

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

/** Adds to a counter. A missing counter starts at zero. */
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

/** One counter of a month; 0 if there is none. */
export async function findUsage(db: TenantDb, period: string, operation: string): Promise<number> {
  return (await db.firstOf(countStatement, { period, operation }))?.count ?? 0
}

/** The counters of some operations in all months. */
export const listUsageOf = (db: TenantDb, operations: readonly string[]): Promise<UsageRow[]> =>
  db.all(
    from(db, 'usage')
      .select(['period', 'operation', 'count', 'bytes'])
      .where('operation', 'in', operations),
  )

/** Replaces a counter, whatever its value. */
export async function setUsage(tx: Tx, row: UsageRow): Promise<void> {
  const { period, operation } = row
  await tx.run(
    deleteFrom(tx, 'usage').where('period', '=', period).where('operation', '=', operation),
  )
  await addUsage(tx, row)
}

const counterStatement = statement<{ name: string }>()((k, p) =>
  k
    .selectFrom('quota_counters')
    .select(['name', 'value', 'stores_seq'])
    .where('tenant_id', '=', p.tenant_id)
    .where('name', '=', p.name),
)

export const findCounter = (
  db: TenantDb,
  name: string,
): Promise<Row<'quota_counters'> | undefined> => db.firstOf(counterStatement, { name })

const saveStatement = statement<Row<'quota_counters'>>()((k, p) =>
  k
    .insertInto('quota_counters')
    .values({
      tenant_id: p.tenant_id,
      name: p.name,
      value: p.value,
      stores_seq: p.stores_seq,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'name'])
        .doUpdateSet({ value: p.value, stores_seq: p.stores_seq }),
    ),
)

export const saveCounter = (tx: Tx, row: Row<'quota_counters'>) => tx.runOf(saveStatement, row)

const storesStatement = statement<Record<never, never>>()((k, p) =>
  k
    .selectFrom('stores')
    .select((e) => [
      e.fn.countAll<number>().as('count'),
      e.fn.coalesce(e.fn.max<number>('head_seq'), sql<number>`0`).as('last_seq'),
    ])
    .where('tenant_id', '=', p.tenant_id),
)

/** The number of the tenant's stores, and the highest log position of any of them. */
export async function findStoreTotals(
  db: TenantDb,
): Promise<{ readonly count: number; readonly last_seq: number }> {
  const row = await db.firstOf(storesStatement, {})
  return { count: Number(row?.count ?? 0), last_seq: Number(row?.last_seq ?? 0) }
}

/** Counts the existing stores of self-tests. */
export async function countSelfTestStores(db: TenantDb): Promise<number> {
  const query = from(db, 'self_test_stores').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await db.first(query))?.count ?? 0)
}

/** Counts memories with a row, replaced versions included. Reads an index entry per memory. */
export async function countMemories(db: TenantDb): Promise<number> {
  const row = await db.first(from(db, 'facts').select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

export const deleteCounters = (tx: Tx) => tx.run(deleteFrom(tx, 'quota_counters'))

const METER = 'governed_decisions'

/** The totals at the beginning of each period, oldest first. */
export const findMarks = (
  db: TenantDb,
): Promise<Omit<Tables['meter_marks'], 'tenant_id' | 'meter'>[]> =>
  db.all(
    from(db, 'meter_marks')
      .select(['period_start_us', 'total'])
      .where('meter', '=', METER)
      .orderBy('period_start_us'),
  )

/** Keeps the existing mark of a period that has one. */
export const insertMark = (tx: Tx, mark: Omit<Tables['meter_marks'], 'tenant_id' | 'meter'>) =>
  tx.run(
    insertInto(tx, 'meter_marks', { meter: METER, ...mark }).onConflict((conflict) =>
      conflict.doNothing(),
    ),
  )

const paidTimeStatement = statement<object>()((k, p) =>
  k
    .selectFrom('subscriptions')
    .select(['status', 'period_start_us', 'period_end_us'])
    .where('tenant_id', '=', p.tenant_id),
)

/** The current period of the tenant's subscription, as last reported by the provider. */
export const findPaidTime = (db: TenantDb) => db.firstOf(paidTimeStatement, {})

const planStatement = statement<object>()((k, p) =>
  k.selectFrom('tenants').select(['plan', 'overrides']).where('tenant_id', '=', p.tenant_id),
)

/** The tenant's plan and the overrides of its limits. */
export const findPlan = (db: TenantDb) => db.firstOf(planStatement, {})
