// SQL of assurance: schedules, runs, baselines.

import type { Database } from '../../platform/db/database.ts'
import { listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'

export type ScheduleRow = Row<'assurance_schedules'>
export type RunRow = Row<'assurance_runs'>

const SCHEDULE = [
  'schedule_id',
  'interval_min',
  'checks',
  'enabled',
  'next_due_us',
  'last_run_id',
  'created_us',
  'created_by',
] as const
const RUN = [
  'run_id',
  'begun_by',
  'schedule_id',
  'requested_by',
  'checks',
  'status',
  'results',
  'drift',
  'drift_count',
  'baseline_id',
  'error',
  'seed',
  'log_seq',
  'scratch',
  'started_us',
  'completed_us',
  'lease_until_us',
] as const
const BASELINE = ['baseline_id', 'run_id', 'captured_us', 'snapshot'] as const

export const insertSchedule = (tx: Tx, row: ScheduleRow) =>
  tx.run(insertInto(tx, 'assurance_schedules', row))

export const findSchedule = (db: TenantDb, schedule_id: string) =>
  db.first(from(db, 'assurance_schedules').select(SCHEDULE).where('schedule_id', '=', schedule_id))

/** Oldest first. Needs no page, because the number per tenant is limited. */
export const listSchedules = (db: TenantDb) =>
  db.all(
    from(db, 'assurance_schedules').select(SCHEDULE).orderBy('created_us').orderBy('schedule_id'),
  )

export const updateSchedule = (tx: Tx, schedule_id: string, change: Partial<ScheduleRow>) =>
  tx.run(update(tx, 'assurance_schedules').set(change).where('schedule_id', '=', schedule_id))

export const deleteSchedule = (tx: Tx, schedule_id: string) =>
  tx.run(deleteFrom(tx, 'assurance_schedules').where('schedule_id', '=', schedule_id))

export const listDue = (db: TenantDb, now_us: number) =>
  db.all(
    from(db, 'assurance_schedules')
      .select(SCHEDULE)
      .where('enabled', '=', 1)
      .where('next_due_us', '<=', now_us)
      .orderBy('next_due_us'),
  )

const dueStatement = statement<{ now_us: number }>()((k, p) =>
  k
    .selectFrom('assurance_schedules')
    .select('schedule_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('enabled', '=', 1)
    .where('next_due_us', '<=', p.now_us)
    .limit((e) => e.lit(1)),
)

const abandonedStatement = statement<{ now_us: number }>()((k, p) =>
  k
    .selectFrom('assurance_runs')
    .select('run_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('status', '=', 'running')
    .where('lease_until_us', '<=', p.now_us)
    .limit((e) => e.lit(1)),
)

/** Returns those of `tenants` with a due schedule, or with a run whose lease has ended. */
export function findTenants(
  db: Database,
  what: 'due' | 'abandoned',
  { tenants, now_us }: { tenants: readonly string[]; now_us: number },
): Promise<string[]> {
  const statement = what === 'due' ? dueStatement : abandonedStatement
  return listTenantsWith<{ now_us: number }, object>(db, tenants, { statement, params: { now_us } })
}

export const insertRun = (tx: Tx, row: RunRow) => tx.run(insertInto(tx, 'assurance_runs', row))

export const findRun = (db: TenantDb, run_id: string) =>
  db.first(from(db, 'assurance_runs').select(RUN).where('run_id', '=', run_id))

export const listRunning = (db: TenantDb) =>
  db.all(from(db, 'assurance_runs').select(RUN).where('status', '=', 'running'))

/** Newest first. */
export const listRuns = (db: TenantDb, page: Pick<Page, 'limit' | 'offset' | 'after'>) =>
  db.all(
    pageByTime(
      from(db, 'assurance_runs').select(RUN),
      { time: 'started_us', order: 'newest', id: 'run_id' },
      page,
    ),
  )

/** Newest first. */
export const listDrifted = (db: TenantDb, limit: number) =>
  db.all(
    from(db, 'assurance_runs')
      .select(RUN)
      .where('drift_count', '>', 0)
      .orderBy('started_us', 'desc')
      .limit(limit),
  )

export const countRuns = (db: TenantDb) =>
  db.all(
    from(db, 'assurance_runs')
      .select((e) => ['status', e.fn.countAll<number>().as('count')])
      .groupBy('status'),
  )

/** Updates a run that is still under way. Returns 0 if it was given up meanwhile. */
export const updateRunning = (tx: Tx, run_id: string, change: Partial<RunRow>) =>
  tx.run(
    update(tx, 'assurance_runs')
      .set(change)
      .where('run_id', '=', run_id)
      .where('status', '=', 'running'),
  )

/** Deletes the oldest runs beyond `kept`. */
export async function pruneRuns(tx: Tx, kept: number): Promise<void> {
  const oldest = await tx.first(
    from(tx, 'assurance_runs')
      .select('started_us')
      .orderBy('started_us', 'desc')
      .limit(1)
      .offset(kept - 1),
  )
  if (!oldest) return
  await tx.run(
    deleteFrom(tx, 'assurance_runs')
      .where('started_us', '<', oldest.started_us)
      .where('status', '!=', 'running'),
  )
}

export const insertBaseline = (tx: Tx, row: Row<'assurance_baselines'>) =>
  tx.run(insertInto(tx, 'assurance_baselines', row))

export const findBaseline = (db: TenantDb) =>
  db.first(from(db, 'assurance_baselines').select(BASELINE).orderBy('captured_us', 'desc').limit(1))

export const findBaselineOfRun = (db: TenantDb, run_id: string) =>
  db.first(from(db, 'assurance_baselines').select(BASELINE).where('run_id', '=', run_id))

export async function pruneBaselines(tx: Tx, kept: number): Promise<void> {
  const oldest = await tx.first(
    from(tx, 'assurance_baselines')
      .select('captured_us')
      .orderBy('captured_us', 'desc')
      .limit(1)
      .offset(kept - 1),
  )
  if (!oldest) return
  await tx.run(deleteFrom(tx, 'assurance_baselines').where('captured_us', '<', oldest.captured_us))
}
