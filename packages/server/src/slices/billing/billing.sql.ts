// SQL of subscriptions and of their usage reports.

import type { Row } from '../../platform/db/schema/tables.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'
import type { SubscriptionRow } from './decide-subscription.ts'

const COLUMNS = [
  'status',
  'plan',
  'session_id',
  'customer_id',
  'subscription_id',
  'period_start_us',
  'period_end_us',
  'past_due_us',
  'fetched_us',
] as const

export const findSubscription = (db: TenantDb): Promise<SubscriptionRow | undefined> =>
  db.first(from(db, 'subscriptions').select(COLUMNS))

export const saveSubscription = (tx: Tx, row: SubscriptionRow) =>
  tx.run(
    insertInto(tx, 'subscriptions', row).onConflict((conflict) =>
      conflict.column('tenant_id').doUpdateSet(row),
    ),
  )

export type ReportRow = Row<'meter_reports'>

const REPORT = [
  'meter',
  'to_total',
  'from_total',
  'at_us',
  'prepared_us',
  'identifier',
  'state',
] as const

/** The first report that is not settled yet. */
export const findOpenReport = (db: TenantDb, meter: string): Promise<ReportRow | undefined> =>
  db.first(
    from(db, 'meter_reports')
      .select(REPORT)
      .where('meter', '=', meter)
      .where('state', '=', 'prepared')
      .orderBy('to_total')
      .limit(1),
  )

export const findLastReport = (db: TenantDb, meter: string): Promise<ReportRow | undefined> =>
  db.first(
    from(db, 'meter_reports')
      .select(REPORT)
      .where('meter', '=', meter)
      .orderBy('to_total', 'desc')
      .limit(1),
  )

/** Lists the confirmed reports of usage in a period. */
export const listConfirmed = (
  db: TenantDb,
  meter: string,
  { from_us, until_us }: { readonly from_us: number; readonly until_us: number },
): Promise<ReportRow[]> =>
  db.all(
    from(db, 'meter_reports')
      .select(REPORT)
      .where('meter', '=', meter)
      .where('state', '=', 'confirmed')
      .where('at_us', '>=', from_us)
      .where('at_us', '<', until_us),
  )

export const insertReport = (tx: Tx, row: ReportRow) => tx.run(insertInto(tx, 'meter_reports', row))

export const updateReport = (
  tx: Tx,
  { meter, to_total, state }: Pick<ReportRow, 'meter' | 'to_total' | 'state'>,
) =>
  tx.run(
    update(tx, 'meter_reports')
      .set({ state })
      .where('meter', '=', meter)
      .where('to_total', '=', to_total),
  )
