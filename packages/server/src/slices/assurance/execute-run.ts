// Executes a run: checks the data, compares it with the baseline, and stores the findings.

import {
  ASSURANCE_CHECKS,
  type AssuranceCheck,
  type AssuranceStatus,
  type AssuranceTrigger,
  type CheckResult,
  type CheckStatus,
  type DriftEvent,
  limits,
} from '@custos/contract'
import { canonicalize, type Json } from '@custos/proof'
import { sha256 } from '../../platform/bytes.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { recordAudit } from '../compliance/index.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import {
  findBaseline,
  findRun,
  insertBaseline,
  insertRun,
  listRunning,
  pruneBaselines,
  pruneRuns,
  type RunRow,
  updateRunning,
} from './assurance.sql.ts'
import { auditTenant } from './audit-tenant.ts'
import {
  type CheckName,
  checksOf,
  decideStatus,
  namesOf,
  notChecked,
  type Results,
} from './checks.ts'
import {
  type CheckReport,
  CheckStopped,
  checkerOf,
  type DataCheck,
  type TenantObservation,
} from './tenant-checker.ts'

const SEED_BYTES = 16

const leaseUntil = (kernel: Kernel): number => kernel.clock.now() + kernel.settings.lease_ms * 1_000

/** Returns `null` if another run of the tenant is under way. */
export async function beginRun(
  kernel: Kernel,
  tx: Tx,
  wanted: {
    readonly checks: readonly CheckName[]
    readonly begun_by: AssuranceTrigger
    readonly requested_by: string
    readonly schedule_id: string | null
  },
): Promise<RunRow | null> {
  if ((await listRunning(tx)).length > 0) return null
  const row: RunRow = {
    run_id: kernel.ids.hex(ID_BYTES),
    begun_by: wanted.begun_by,
    schedule_id: wanted.schedule_id,
    requested_by: wanted.requested_by,
    checks: JSON.stringify(wanted.checks),
    status: 'running',
    results: null,
    drift: null,
    drift_count: 0,
    baseline_id: null,
    error: null,
    seed: kernel.ids.hex(SEED_BYTES),
    log_seq: null,
    scratch: null,
    started_us: tx.now(),
    completed_us: null,
    lease_until_us: leaseUntil(kernel),
  }
  await insertRun(tx, row)
  return row
}

const ID_BYTES = 12
/** The number of renewals of a lease within its duration. */
const EXTENSIONS = 3

interface Outcome {
  readonly status: AssuranceStatus
  readonly results: Readonly<Partial<Record<AssuranceCheck, CheckResult>>>
  readonly drift: readonly DriftEvent[]
  readonly baseline_id: string | null
  /** The snapshot that a baseline would store. `null` if no data was checked. */
  readonly snapshot: Snapshot | null
  readonly audit: Awaited<ReturnType<typeof auditTenant>>['audit']
}

/** Runs are serialised per process, because each may read all of a tenant's data. */
const turns = perKernel((): { last: Promise<unknown> } => ({ last: Promise.resolve() }))

/** Returns the row after the run. An error is stored as a failed run. */
export function executeRun(kernel: Kernel, tenant_id: string, run: RunRow): Promise<RunRow> {
  const letGo = keepLease(kernel, tenant_id, run.run_id)
  const turn = turns(kernel)
  const done = turn.last.then(() => lookAndSettle(kernel, tenant_id, run)).finally(letGo)
  turn.last = done.catch(() => undefined)
  return done
}

/** Resolves when the results of all running runs are stored. */
export const awaitRuns = async (kernel: Kernel): Promise<void> => {
  await turns(kernel).last
}

function keepLease(kernel: Kernel, tenant_id: string, run_id: string): () => void {
  const extend = () =>
    kernel.db.transact(tenant_id, (tx) =>
      updateRunning(tx, run_id, { lease_until_us: leaseUntil(kernel) }),
    )
  const timer = setInterval(() => {
    // A failed renewal is made up for by the next.
    extend().catch(() => kernel.logger.warn('assurance.lease_not_extended', {}))
  }, kernel.settings.lease_ms / EXTENSIONS)
  timer.unref()
  return () => clearInterval(timer)
}

async function lookAndSettle(kernel: Kernel, tenant_id: string, run: RunRow): Promise<RunRow> {
  await kernel.step('assurance:begun')
  let outcome: Outcome
  try {
    outcome = await look(kernel, tenant_id, run)
  } catch (error) {
    const stopped = error instanceof CheckStopped
    const name = error instanceof Error ? error.name : 'unknown'
    if (!stopped) kernel.logger.error('assurance.run_failed', { run_id: run.run_id, reason: name })
    return giveUp(kernel, tenant_id, run.run_id, stopped ? 'stopped' : name)
  }
  await kernel.step('assurance:looked')
  try {
    return await settle(kernel, tenant_id, run, { outcome, not_logged: null })
  } catch (error) {
    // A damaged log may also refuse this entry. The findings are stored anyway, and the missing log
    // entry makes the run fail.
    const not_logged = error instanceof Error ? error.name : 'unknown'
    const reason = { run_id: run.run_id, reason: not_logged }
    kernel.logger.error('assurance.run_not_logged', reason)
    const failed: Outcome = { ...outcome, status: 'fail' }
    return settle(kernel, tenant_id, run, { outcome: failed, not_logged })
  }
}

async function look(kernel: Kernel, tenant_id: string, run: RunRow): Promise<Outcome> {
  const checks = checksOf(namesOf(run))
  const kept = await kernel.db.read(tenant_id, findBaseline)
  // Written by `keepBaseline`.
  const baseline: Snapshot | null = kept ? JSON.parse(kept.snapshot) : null
  const data = checks.filter((check): check is DataCheck => check !== 'conformance')
  const looked: CheckReport | null =
    data.length === 0
      ? null
      : await checkerOf(kernel).look({
          tenant_id,
          checks: data,
          seed: run.seed,
          baseline_size: baseline?.log.tree_size ?? null,
        })
  const audited = checks.includes('conformance') ? await auditTenant(kernel, tenant_id, run) : null
  const results: Partial<Record<AssuranceCheck, CheckResult>> = {
    ...Object.fromEntries(data.map((check) => [check, notChecked('it was not looked at')])),
    ...looked?.results,
    ...(audited ? { conformance: audited.result } : {}),
  }
  const snapshot = looked && snapshotOf(kernel, looked, results)
  const drift =
    baseline && snapshot ? driftBetween(baseline, snapshot, looked?.baseline_root ?? null) : []
  return {
    status: decideStatus(results, drift),
    results,
    drift,
    baseline_id: snapshot && kept ? kept.baseline_id : null,
    snapshot,
    audit: audited?.audit ?? null,
  }
}

/** The SHA-256 of the canonical form of JSON text, in lowercase hex. */
function digestOf(text: string): string {
  const value: Json = JSON.parse(text)
  return Buffer.from(sha256(Buffer.from(canonicalize(value)))).toString('hex')
}

function settle(
  kernel: Kernel,
  tenant_id: string,
  run: RunRow,
  { outcome, not_logged }: { outcome: Outcome; not_logged: string | null },
): Promise<RunRow> {
  const logged = not_logged === null
  const { run_id } = run
  const { status, results, drift, baseline_id } = outcome
  return kernel.db.transact(tenant_id, async (tx) => {
    const written = await updateRunning(tx, run_id, {
      status,
      results: JSON.stringify(results),
      drift: JSON.stringify(drift),
      drift_count: drift.length,
      baseline_id,
      error: not_logged,
      scratch: null,
      completed_us: tx.now(),
      log_seq: logged ? await nextSeq(tx) : null,
    })
    // `written` is 0 if another process took this one for dead and gave the run up.
    if (written === 1) {
      if (logged) await log(tx, run, outcome)
      if (logged && outcome.audit) await recordAudit(tx, run_id, outcome.audit)
      if (run.begun_by === 'baseline' && status !== 'fail')
        await keepBaseline(kernel, tx, { run_id, snapshot: outcome.snapshot })
      await pruneRuns(tx, limits.assurance_runs_kept)
    }
    return (await findRun(tx, run_id)) ?? run
  })
}

async function log(tx: Tx, run: RunRow, outcome: Outcome): Promise<void> {
  const { status, results, drift, baseline_id } = outcome
  await appendCrumb(tx, {
    event_type: 'assurance.completed',
    subject: run.run_id,
    payload: {
      trigger: run.begun_by,
      status,
      checks: ASSURANCE_CHECKS.flatMap((check) => {
        const found = results[check]
        return found ? [{ check, status: found.status }] : []
      }),
      drift_events: drift.length,
      results_digest: digestOf(JSON.stringify(results)),
      baseline_id,
    },
  })
}

async function keepBaseline(
  kernel: Kernel,
  tx: Tx,
  { run_id, snapshot }: { run_id: string; snapshot: Snapshot | null },
): Promise<void> {
  if (snapshot === null) return
  const baseline_id = kernel.ids.hex(ID_BYTES)
  const captured_us = tx.now()
  const text = JSON.stringify(snapshot)
  await insertBaseline(tx, { baseline_id, run_id, captured_us, snapshot: text })
  await pruneBaselines(tx, limits.assurance_baselines_kept)
  await appendCrumb(tx, {
    event_type: 'assurance.baseline_captured',
    subject: baseline_id,
    payload: { run_id, snapshot_digest: digestOf(text) },
  })
}

/** Ends a run that has no result as failed, with the reason. */
export function giveUp(
  kernel: Kernel,
  tenant_id: string,
  run_id: string,
  error: string,
): Promise<RunRow> {
  return kernel.db.transact(tenant_id, async (tx) => {
    await updateRunning(tx, run_id, { status: 'fail', error, completed_us: tx.now() })
    const row = await findRun(tx, run_id)
    if (!row) throw new Error('a run that was begun is not there')
    return row
  })
}

export interface Snapshot extends TenantObservation {
  readonly settings: Readonly<Record<string, string>>
  readonly checks: Readonly<Partial<Record<AssuranceCheck, CheckStatus>>>
}

/** The settings of this process that affect all of its answers. */
const settingsOf = ({ settings }: Kernel) => ({
  version: settings.version,
  origin: settings.origin,
  auth: settings.auth,
  default_tokenizer: settings.default_tokenizer,
})

function snapshotOf(kernel: Kernel, { observed }: CheckReport, results: Results): Snapshot {
  const checks = Object.entries(results).map(([check, { status }]) => [check, status])
  return { ...observed, settings: settingsOf(kernel), checks: Object.fromEntries(checks) }
}

/** Lists failing checks first, then what differs from the baseline. */
export function driftBetween(
  baseline: Snapshot,
  now: Snapshot,
  baseline_root: string | null,
): DriftEvent[] {
  return [
    ...regressions(baseline, now),
    ...logDrift(baseline, now, baseline_root),
    ...countDrift(baseline, now),
    ...valueDrift(baseline, now),
  ]
}

function regressions({ checks: before }: Snapshot, { checks: now }: Snapshot): DriftEvent[] {
  return ASSURANCE_CHECKS.flatMap((check) => {
    if (before[check] !== 'pass' || now[check] !== 'fail') return []
    const event: DriftEvent = {
      check,
      type: 'regression',
      detail: 'it passed at the baseline',
      baseline_status: 'pass',
      current_status: 'fail',
      baseline_value: null,
      current_value: null,
    }
    return [event]
  })
}

const changed = (
  check: string,
  detail: string,
  values: readonly [DriftEvent['baseline_value'], DriftEvent['baseline_value']],
): DriftEvent => ({
  check,
  type: 'changed',
  detail,
  baseline_status: null,
  current_status: null,
  baseline_value: values[0],
  current_value: values[1],
})

function logDrift(
  { log: before }: Snapshot,
  { log: now }: Snapshot,
  baseline_root: string | null,
): DriftEvent[] {
  if (now.tree_size < before.tree_size)
    return [changed('chain', 'the log is shorter', [before.tree_size, now.tree_size])]
  if (before.tree_size === 0 || baseline_root === before.root_hash) return []
  return [changed('chain', 'the log began otherwise', [before.root_hash, baseline_root])]
}

/** Counts that never fall. An erased fact leaves a tombstone, so only their sum is compared. */
const KEPT: readonly (readonly [string, readonly (keyof TenantObservation['counts'])[], string])[] =
  [
    ['ledger', ['facts', 'tombstones'], 'facts are gone that no tombstone stands for'],
    ['ledger', ['certificates'], 'certificates are gone'],
    ['seals', ['decisions'], 'decisions are gone'],
  ]

function countDrift({ counts: before }: Snapshot, { counts: now }: Snapshot): DriftEvent[] {
  return KEPT.flatMap(([check, names, detail]) => {
    const sum = (counts: Snapshot['counts']) => names.reduce((n, name) => n + counts[name], 0)
    return sum(now) < sum(before) ? [changed(check, detail, [sum(before), sum(now)])] : []
  })
}

function valueDrift(before: Snapshot, now: Snapshot): DriftEvent[] {
  const events: DriftEvent[] = []
  if (before.keys.digest !== now.keys.digest) {
    const detail = 'the list of published keys is another'
    events.push(changed('keys', detail, [before.keys.digest, now.keys.digest]))
  }
  if (before.policies.digest !== now.policies.digest) {
    const detail = 'the policies in force are others'
    events.push(changed('policies', detail, [before.policies.digest, now.policies.digest]))
  }
  for (const [name, value] of Object.entries(now.settings))
    if (before.settings[name] !== value)
      events.push(changed('settings', `${name} is another`, [before.settings[name] ?? null, value]))
  return events
}
