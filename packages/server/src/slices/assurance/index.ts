// Assurance: schedules and their due runs, reads, handlers, and the functions that the service
// calls around them.

import {
  ASSURANCE_CHECKS_DEFAULT,
  ASSURANCE_WAIT_S,
  type AssuranceSchedule,
  type assurance,
  CONFORMANCE_INTERVAL_MIN,
  limits,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { waitAtMost } from '../../platform/concurrency.ts'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import {
  accepted,
  type Call,
  type Handler,
  type HandlersOf,
  type Principal,
} from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import {
  countRuns,
  deleteSchedule,
  findBaseline,
  findBaselineOfRun,
  findRun,
  findSchedule,
  findTenants,
  insertSchedule,
  listDrifted,
  listDue,
  listRunning,
  listRuns,
  listSchedules,
  type RunRow,
  type ScheduleRow,
  updateSchedule,
} from './assurance.sql.ts'
import { takeAway } from './audit-tenant.ts'
import {
  type CheckName,
  checksOf,
  driftOf,
  namesOf,
  showRun,
  showSchedule,
  showSummary,
} from './checks.ts'
import { beginRun, executeRun, giveUp } from './execute-run.ts'
import { checkerOf } from './tenant-checker.ts'

const ID_BYTES = 12
const MINUTE_US = 60_000_000
const INTERVAL_MIN = 60

/** Runs checks. If the caller does not wait, returns where to read the result. */
const run: Handler<typeof assurance.run> = async (call, { body }) => {
  refuseLimited(call)
  const checks = body.checks ?? ASSURANCE_CHECKS_DEFAULT
  if (checksOf(checks).length === 0)
    return call.refuse('rejected', 'nothing is measured for metrics: name another check too')
  const begun = await begin(call, { checks, begun_by: 'request' })
  const { run_id } = begun
  const done = executeRun(call.kernel, call.tenant_id, begun)
  const row = await (body.background
    ? later(done)
    : waitAtMost(done, ASSURANCE_WAIT_S * 1_000, () => null))
  return row ? showRun(row) : accepted({ run_id, status: 'running' as const })
}

/** Refuses while another run of the tenant is under way. */
function begin(
  call: Call<typeof assurance.run> | Call<typeof assurance.capture_baseline>,
  what: Pick<Parameters<typeof beginRun>[2], 'checks' | 'begun_by'>,
): Promise<RunRow> {
  return call.transact(async (tx) => {
    const asked = { ...what, requested_by: call.principal.key_id, schedule_id: null }
    const row = await beginRun(call.kernel, tx, asked)
    if (row === null) return call.refuse('run_in_progress')
    meter(tx, call.operation.id)
    return row
  })
}

async function later(done: Promise<RunRow>): Promise<null> {
  // A run whose failure could not be stored is found again once its lease ends.
  done.catch(() => {})
  return null
}

function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'a check is of all stores; the key is limited to some')
}

const captureBaseline: Handler<typeof assurance.capture_baseline> = async (call) => {
  refuseLimited(call)
  const begun = await begin(call, { checks: ASSURANCE_CHECKS_DEFAULT, begun_by: 'baseline' })
  const { run_id } = begun
  const done = executeRun(call.kernel, call.tenant_id, begun)
  const row = await waitAtMost(done, ASSURANCE_WAIT_S * 1_000, () => null)
  if (row === null) return accepted({ run_id, status: 'running' as const })
  const kept = await call.read((db) => findBaselineOfRun(db, run_id))
  if (!kept) return call.refuse('wrong_state', `a check failed: see the run ${run_id}`)
  return {
    baseline_id: kept.baseline_id,
    run_id,
    captured_at: formatTime(kept.captured_us),
    snapshot_keys: Object.keys(JSON.parse(kept.snapshot)),
  }
}

function refuseHasty(names: readonly CheckName[], interval_min: number): void {
  if (interval_min >= CONFORMANCE_INTERVAL_MIN || !checksOf(names).includes('conformance')) return
  const least = `${CONFORMANCE_INTERVAL_MIN} minutes`
  throw new Refusal('rejected', `conformance writes to the log: at intervals of ${least} or more`)
}

function refuseEmpty({
  checks,
  alert_webhook,
}: {
  readonly checks?: readonly CheckName[]
  readonly alert_webhook?: string | null
}): void {
  if (alert_webhook !== undefined && alert_webhook !== null)
    throw new Refusal(
      'rejected',
      'alert_webhook: create a webhook for assurance.drift and assurance.fail instead',
    )
  if (checks !== undefined && checksOf(checks).length === 0)
    throw new Refusal('rejected', 'nothing is measured for metrics: name another check too')
}

const createSchedule: Handler<typeof assurance.create_schedule> = async (call, { body }) => {
  refuseLimited(call)
  refuseEmpty(body)
  const { checks = ASSURANCE_CHECKS_DEFAULT, interval_min = INTERVAL_MIN } = body
  refuseHasty(checks, interval_min)
  return call.once<AssuranceSchedule>({
    async run(tx) {
      if ((await listSchedules(tx)).length >= limits.assurance_schedules)
        return call.refuse('rejected', `a tenant has ${limits.assurance_schedules} at most`)
      const row: ScheduleRow = {
        schedule_id: call.kernel.ids.hex(ID_BYTES),
        interval_min,
        checks: JSON.stringify(checks),
        enabled: 1,
        next_due_us: tx.now() + interval_min * MINUTE_US,
        last_run_id: null,
        created_us: tx.now(),
        created_by: call.principal.key_id,
      }
      await insertSchedule(tx, row)
      meter(tx, call.operation.id)
      await log(tx, 'created', { row, changed_by: call.principal.key_id })
      return { reply: showSchedule(row), ids: { schedule_id: row.schedule_id } }
    },
    async replay(tx, { schedule_id }) {
      const row = await findSchedule(tx, String(schedule_id))
      return row ? showSchedule(row) : call.refuse('rejected', 'it was deleted since')
    },
  })
}

const changeSchedule: Handler<typeof assurance.update_schedule> = async (call, input) => {
  refuseLimited(call)
  const { params, body } = input
  refuseEmpty(body)
  return call.transact(async (tx) => {
    const row = await findSchedule(tx, params.schedule_id)
    if (!row) return call.refuse('schedule_not_found')
    const interval_min = body.interval_min ?? row.interval_min
    refuseHasty(body.checks ?? namesOf(row), interval_min)
    const enabled = body.enabled === undefined ? row.enabled : Number(body.enabled)
    const moved = interval_min !== row.interval_min || enabled > row.enabled
    const change = {
      interval_min,
      enabled,
      checks: body.checks ? JSON.stringify(body.checks) : row.checks,
      next_due_us: moved ? tx.now() + interval_min * MINUTE_US : row.next_due_us,
    }
    await updateSchedule(tx, row.schedule_id, change)
    meter(tx, call.operation.id)
    const changed = { ...row, ...change }
    await log(tx, 'updated', { row: changed, changed_by: call.principal.key_id })
    return showSchedule(changed)
  })
}

const removeSchedule: Handler<typeof assurance.delete_schedule> = async (call, input) => {
  refuseLimited(call)
  const { schedule_id } = input.params
  return call.transact(async (tx) => {
    const row = await findSchedule(tx, schedule_id)
    if (!row) return call.refuse('schedule_not_found')
    await deleteSchedule(tx, schedule_id)
    meter(tx, call.operation.id)
    await log(tx, 'deleted', { row, changed_by: call.principal.key_id })
    return { deleted: true as const, schedule_id }
  })
}

async function log(
  tx: Tx,
  change: 'created' | 'updated' | 'deleted',
  { row, changed_by }: { row: ScheduleRow; changed_by: string },
): Promise<void> {
  const { schedule_id, interval_min, enabled } = row
  await appendCrumb(tx, {
    event_type: 'assurance.schedule_changed',
    subject: schedule_id,
    payload: {
      change,
      interval_min,
      checks: checksOf(namesOf(row)),
      enabled: enabled === 1,
      changed_by,
    },
  })
}

const tenantsOf = (kernel: Kernel): Promise<string[]> => kernel.db.read(PLATFORM, listServedIds)

/** Interrupts abandoned runs, then starts the runs that are due. */
export async function assureDue(kernel: Kernel): Promise<void> {
  await interruptAbandoned(kernel)
  await runDue(kernel)
}

/** Runs each due schedule once, however many times it was missed. */
export async function runDue(kernel: Kernel): Promise<void> {
  const now_us = kernel.clock.now()
  const tenants = await findTenants(kernel.db, 'due', { tenants: await tenantsOf(kernel), now_us })
  for (const tenant_id of tenants) {
    // The tenant's keys are destroyed, so nothing can be checked.
    if (!(await kernel.keyring.hasTenant(tenant_id))) continue
    for (const due of await kernel.db.read(tenant_id, (db) => listDue(db, now_us))) {
      const run = await beginDue(kernel, tenant_id, due)
      if (run) await executeRun(kernel, tenant_id, run)
    }
  }
}

// Stores the next due time before the run begins, so that a run that crashes the process is not
// started over and over.
function beginDue(
  kernel: Kernel,
  tenant_id: string,
  { schedule_id }: ScheduleRow,
): Promise<RunRow | null> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const row = (await listDue(tx, tx.now())).find((due) => due.schedule_id === schedule_id)
    if (!row) return null
    const run = await beginRun(kernel, tx, {
      checks: namesOf(row),
      begun_by: 'schedule',
      requested_by: row.created_by,
      schedule_id,
    })
    // Another run is under way, so the schedule stays due.
    if (run === null) return null
    const next_due_us = tx.now() + row.interval_min * MINUTE_US
    await updateSchedule(tx, schedule_id, { next_due_us, last_run_id: run.run_id })
    return run
  })
}

/**
 * Marks runs whose process has ended as failed, and deletes the stores they created.
 * @param all every run is abandoned: set at the start of the only process that serves the data
 */
export async function interruptAbandoned(kernel: Kernel, all = false): Promise<void> {
  const now_us = all ? Number.MAX_SAFE_INTEGER : kernel.clock.now()
  const tenants = await tenantsOf(kernel)
  for (const tenant_id of await findTenants(kernel.db, 'abandoned', { tenants, now_us })) {
    const running = await kernel.db.read(tenant_id, listRunning)
    for (const run of running.filter(({ lease_until_us }) => lease_until_us <= now_us)) {
      await takeAway(kernel, tenant_id, run)
      await giveUp(kernel, tenant_id, run.run_id, 'interrupted')
    }
  }
}

/** Cancels running checks before the process ends; their runs end as stopped. */
export const stopChecking = (kernel: Kernel): Promise<void> => checkerOf(kernel).stop()

const schedules: Handler<typeof assurance.schedules> = async (call) => {
  refuseLimited(call)
  return { schedules: (await call.read(listSchedules)).map(showSchedule) }
}

const runs: Handler<typeof assurance.runs> = async (call, { query }) => {
  refuseLimited(call)
  const page = pageOf(query, limits.assurance_runs_page.default, call.operation.id)
  const rows = await call.read((db) => listRuns(db, page))
  const last = rows.at(-1)
  const end = last ? { at: last.started_us, id: last.run_id } : null
  return page.envelope('runs', rows.map(showSummary), end)
}

const getRun: Handler<typeof assurance.get_run> = async (call, { params }) => {
  refuseLimited(call)
  const row = await call.read((db) => findRun(db, params.run_id))
  return row ? showRun(row) : call.refuse('run_not_found')
}

const baseline: Handler<typeof assurance.baseline> = async (call) => {
  refuseLimited(call)
  const row = await call.read(findBaseline)
  if (!row) return call.refuse('baseline_not_found')
  const { baseline_id, run_id, captured_us } = row
  // Written by `keepBaseline`.
  const snapshot: Record<string, unknown> = JSON.parse(row.snapshot)
  return { baseline_id, run_id, captured_at: formatTime(captured_us), snapshot }
}

const drift: Handler<typeof assurance.drift> = async (call, { query }) => {
  refuseLimited(call)
  const limit = query.limit ?? limits.assurance_drift_page.default
  const rows = await call.read((db) => listDrifted(db, limit))
  const events = rows.flatMap((row) => {
    const detected_at = formatTime(row.completed_us ?? row.started_us)
    return driftOf(row).map((event) => ({ ...event, run_id: row.run_id, detected_at }))
  })
  const drift_events = events.slice(0, limit)
  return { drift_events, count: drift_events.length }
}

const stats: Handler<typeof assurance.stats> = async (call) => {
  refuseLimited(call)
  const { counted, scheduled, last } = await call.read(async (db) => ({
    counted: await countRuns(db),
    scheduled: await listSchedules(db),
    last: await listRuns(db, { limit: 1, offset: 0, after: null }),
  }))
  const of = (wanted: string) => Number(counted.find(({ status }) => status === wanted)?.count ?? 0)
  const [newest] = last
  return {
    total_runs: counted.reduce((sum, { count }) => sum + Number(count), 0),
    passed: of('pass'),
    drifted: of('drift'),
    failed: of('fail'),
    running: of('running'),
    active_schedules: scheduled.filter(({ enabled }) => enabled === 1).length,
    last_run: newest ? showSummary(newest) : null,
  }
}

export { awaitRuns } from './execute-run.ts'
export {
  type AuditResult,
  type CheckReport,
  CheckStopped,
  type CheckTask,
  type DataCheck,
  setChecker,
  type TenantChecker,
  type TenantObservation,
} from './tenant-checker.ts'

export const assuranceHandlers = {
  create_schedule: createSchedule,
  schedules,
  update_schedule: changeSchedule,
  delete_schedule: removeSchedule,
  run,
  runs,
  get_run: getRun,
  capture_baseline: captureBaseline,
  baseline,
  drift,
  stats,
} satisfies HandlersOf<typeof assurance>
