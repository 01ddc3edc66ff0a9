// Assurance: the service's checks of its own data, per tenant, on a schedule or on request.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  Hex12,
  integer,
  JsonObject,
  Limit,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'

/** The checks. `conformance` runs only if it is named, because it writes to its own stores. */
export const ASSURANCE_CHECKS = [
  'chain',
  'seals',
  'ledger',
  'policies',
  'clock',
  'conformance',
] as const
export type AssuranceCheck = (typeof ASSURANCE_CHECKS)[number]

export const ASSURANCE_CHECKS_DEFAULT = ['chain', 'seals', 'ledger', 'policies', 'clock'] as const

/** Check names of earlier clients. `metrics` checks nothing. */
export const ASSURANCE_ALIASES = {
  chain_integrity: ['chain'],
  governance: ['policies'],
  health: ['ledger', 'clock'],
  metrics: [],
} as const satisfies Readonly<Record<string, readonly AssuranceCheck[]>>
export type AssuranceAlias = keyof typeof ASSURANCE_ALIASES

const ALIASES = ['chain_integrity', 'governance', 'health', 'metrics'] as const

export const ASSURANCE_STATUSES = ['running', 'pass', 'fail', 'drift'] as const
export type AssuranceStatus = (typeof ASSURANCE_STATUSES)[number]

export const CHECK_STATUSES = ['pass', 'fail', 'not_checked'] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

export const ASSURANCE_TRIGGERS = ['request', 'schedule', 'baseline'] as const
export type AssuranceTrigger = (typeof ASSURANCE_TRIGGERS)[number]

/** The most findings shown per check; the total is reported beside them. */
export const ASSURANCE_FINDINGS_MAX = 20
/** The most memories, and the most decisions, that are decrypted; of more, only a sample. */
export const ASSURANCE_SAMPLE = 2_000
/** The shortest interval, since a run of the suite adds about 1,500 log entries. */
export const CONFORMANCE_INTERVAL_MIN = 60
/** How long a request waits for its run before the reply is 202. */
export const ASSURANCE_WAIT_S = 60

const Checks = Type.Array(Type.Enum([...ASSURANCE_CHECKS, ...ALIASES]), {
  title: 'AssuranceChecks',
  description:
    'Checks to run; the last four values are names that earlier clients use. Default: all but ' +
    '`conformance`',
  minItems: 1,
  maxItems: ASSURANCE_CHECKS.length + ALIASES.length,
})
const Interval = integer('Minutes between runs', { minimum: 5, maximum: 1_440 })
const AlertWebhook = OptionalNullable(
  text('Not supported: only null is accepted', { maxLength: limits.ref_chars }),
)

const CheckState = Type.Enum(CHECK_STATUSES, {
  title: 'AssuranceCheckStatus',
  description: 'Result of a check; `not_checked` is not a pass',
})

export const CheckResult = Type.Object(
  {
    status: CheckState,
    passed: boolean('Whether the status is `pass`'),
    detail: text('What was checked, or why nothing was'),
    counts: Type.Record(Type.String(), Type.Integer(), {
      description: 'How many of each thing were checked',
    }),
    findings: Type.Array(
      Type.Object({
        kind: text('Kind of record'),
        id: text('Id or number of the record'),
        what: text('What is wrong'),
      }),
      {
        maxItems: ASSURANCE_FINDINGS_MAX,
        description: 'The first things that are wrong; never contains content',
      },
    ),
    findings_total: count('Number of all findings; at most 1,000 of one kind are counted'),
  },
  { title: 'AssuranceCheckResult', description: 'The result of one check' },
)
export type CheckResult = Static<typeof CheckResult>

const ComparedValue = Type.Union([Type.String(), Type.Number(), Type.Null()])

const DriftType = Type.Enum(['regression', 'changed'], {
  title: 'DriftType',
  description: '`regression`: it passed at the baseline. `changed`: it passes and differs',
})

const drift = {
  check: text('Name of the check'),
  type: DriftType,
  detail: text('The difference in words'),
  baseline_status: Nullable(about(CheckState, 'Status at the baseline')),
  current_status: Nullable(about(CheckState, 'Status in this run')),
  baseline_value: about(ComparedValue, 'Value at the baseline'),
  current_value: about(ComparedValue, 'Value in this run'),
}
export const DriftEvent = Type.Object(drift)
export type DriftEvent = Static<typeof DriftEvent>

const RunStatus = Type.Enum(ASSURANCE_STATUSES, {
  title: 'AssuranceStatus',
  description: 'Status of a run of checks',
})
const RunTrigger = Type.Enum(ASSURANCE_TRIGGERS, {
  title: 'AssuranceTrigger',
  description: 'What started a run of checks',
})

const summary = {
  run_id: text('Id of the run'),
  status: RunStatus,
  trigger: RunTrigger,
  schedule_id: Nullable(text('Id of the schedule')),
  checks: Type.Array(Type.String(), { description: 'Checks of the run' }),
  drift_events_count: count('Differences from the baseline'),
  error: Nullable(
    text('`interrupted` or `stopped`: the process ended; otherwise the name of an error'),
  ),
  started_at: time('When the run started'),
  completed_at: Nullable(time('When the run ended')),
}
export const AssuranceRunSummary = Type.Object(summary, {
  title: 'AssuranceRunSummary',
  description: 'A run of checks, without its results',
})
export type AssuranceRunSummary = Static<typeof AssuranceRunSummary>

export const AssuranceRun = Type.Object(
  {
    ...summary,
    checks_results: Type.Record(Type.String(), CheckResult, {
      description: 'Results by name, also by the requested alias; empty while the run lasts',
    }),
    drift_events: Type.Array(DriftEvent, { description: 'Differences from the baseline' }),
    baseline_id: Nullable(text('Id of the baseline it was compared with')),
    seed: text('Seed that selected the samples'),
    log_seq: Nullable(count('Position of its log entry; null: it has none')),
  },
  { title: 'AssuranceRun', description: 'A run of checks with its results' },
)
export type AssuranceRun = Static<typeof AssuranceRun>

const RunStarted = Type.Object(
  {
    run_id: text('Id of the run'),
    status: Type.Literal('running', { description: 'The run has not ended' }),
  },
  { title: 'AssuranceRunStarted', description: 'A run that has not ended' },
)

const Schedule = Type.Object(
  {
    schedule_id: text('Id of the schedule'),
    interval_min: Interval,
    checks: Type.Array(Type.String(), { description: 'Checks of each run' }),
    enabled: boolean('Whether the schedule is active'),
    alert_webhook: Type.Null({ description: 'Always null' }),
    next_due_at: Nullable(time('When the next run is due')),
    last_run_id: Nullable(text('Id of the last run')),
    created_at: Timestamp,
  },
  { title: 'AssuranceSchedule', description: 'A schedule of checks' },
)
export type AssuranceSchedule = Static<typeof Schedule>

const read = { access: 'tenant', scope: 'compliance:read' } as const
const admin = { access: 'tenant', scope: 'compliance:admin' } as const
const path = '/v1/assurance'
const schedule = `${path}/schedules/{schedule_id}` as const
const params = Type.Object({ schedule_id: about(Hex12, 'Id of the schedule') })

export const assurance = {
  create_schedule: operation({
    ...admin,
    id: 'assurance.create_schedule',
    method: 'POST',
    path: `${path}/schedules`,
    summary: 'Creates a schedule that runs checks at an interval',
    description:
      'Use it to have the service check itself regularly. The first run is due after one ' +
      'interval; after a downtime a single run replaces all that were missed. `conformance` ' +
      'requires an interval of at least an hour, because it writes to stores of its own. To be ' +
      'told of results, create a webhook for `assurance.drift` and `assurance.fail`.',
    body: Type.Object({
      interval_min: Type.Optional({ ...Interval, default: 60 }),
      checks: Type.Optional(Checks),
      alert_webhook: AlertWebhook,
    }),
    body_optional: true,
    example: { interval_min: 60, checks: ['chain', 'ledger'] },
    status: 200,
    reply: Schedule,
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  schedules: operation({
    ...read,
    id: 'assurance.schedules',
    method: 'GET',
    path: `${path}/schedules`,
    summary: 'Lists the schedules, oldest first, up to 100',
    description: 'Use it to review what is checked and how often.',
    status: 200,
    reply: Type.Object({ schedules: Type.Array(Schedule, { description: 'The schedules' }) }),
    refuses: [],
  }),
  update_schedule: operation({
    ...admin,
    id: 'assurance.update_schedule',
    method: 'PUT',
    path: schedule,
    summary: 'Changes a schedule',
    description:
      'Use it to pause a schedule or change its interval; the next run is then due one new ' +
      'interval from now. Absent fields stay the same.',
    params,
    body: Type.Object({
      interval_min: Type.Optional(Interval),
      checks: Type.Optional(Checks),
      enabled: Type.Optional(boolean('Whether the schedule is active')),
      alert_webhook: AlertWebhook,
    }),
    example: { enabled: false },
    status: 200,
    reply: Schedule,
    refuses: ['schedule_not_found', 'rejected'],
  }),
  delete_schedule: operation({
    ...admin,
    id: 'assurance.delete_schedule',
    method: 'DELETE',
    path: schedule,
    summary: 'Deletes a schedule; its runs remain readable',
    description: 'Use it when a schedule is no longer needed.',
    params,
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'Always true' }),
      schedule_id: text('Id of the schedule'),
    }),
    refuses: ['schedule_not_found'],
  }),
  run: operation({
    ...admin,
    id: 'assurance.run',
    method: 'POST',
    path: `${path}/run`,
    summary: 'Checks the tenant now and compares the results with the baseline',
    description:
      'Use it after an incident or before an audit. The reply is the finished run; after ' +
      `${ASSURANCE_WAIT_S} seconds, or at once with \`background\`, it is a 202 with the id of ` +
      'the run. A tenant has one run at a time. The audit log is verified from its first entry; ' +
      `of more than ${ASSURANCE_SAMPLE} memories or decisions, a sample selected by \`seed\` is ` +
      'decrypted. A key limited to some stores is refused.',
    body: Type.Object({
      checks: Type.Optional(Checks),
      background: Type.Optional(
        Type.Boolean({ default: false, description: 'Replies 202 at once' }),
      ),
    }),
    body_optional: true,
    example: { checks: ['chain', 'ledger'] },
    status: 200,
    reply: AssuranceRun,
    accepted: RunStarted,
    refuses: ['rejected', 'run_in_progress'],
  }),
  runs: operation({
    ...read,
    id: 'assurance.runs',
    method: 'GET',
    path: `${path}/runs`,
    summary: 'Lists runs, newest first',
    description: 'Use it to see how checks went over time.',
    query: Type.Object({
      limit: Limit(limits.assurance_runs_page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('runs', AssuranceRunSummary),
    refuses: ['rejected'],
  }),
  get_run: operation({
    ...read,
    id: 'assurance.get_run',
    method: 'GET',
    path: `${path}/runs/{run_id}`,
    summary: 'Returns one run with its results',
    description: 'Use it to wait for a run, or to see what failed.',
    params: Type.Object({ run_id: about(Hex12, 'Id of the run') }),
    status: 200,
    reply: AssuranceRun,
    refuses: ['run_not_found'],
  }),
  capture_baseline: operation({
    ...admin,
    id: 'assurance.capture_baseline',
    method: 'POST',
    path: `${path}/baseline`,
    summary: 'Checks the tenant and stores its state as the baseline of later runs',
    description: 'Use it when the tenant is known to be sound. It is refused if a check fails.',
    status: 200,
    reply: Type.Object({
      baseline_id: text('Id of the baseline'),
      run_id: text('Id of the run'),
      captured_at: time('When the baseline was captured'),
      snapshot_keys: Type.Array(Type.String(), { description: 'What the baseline records' }),
    }),
    accepted: RunStarted,
    refuses: ['run_in_progress', 'wrong_state'],
  }),
  baseline: operation({
    ...read,
    id: 'assurance.baseline',
    method: 'GET',
    path: `${path}/baseline`,
    summary: 'Returns the newest baseline',
    description: 'Use it to see what runs are compared with.',
    status: 200,
    reply: Type.Object({
      baseline_id: text('Id of the baseline'),
      run_id: text('Id of the run'),
      captured_at: time('When the baseline was captured'),
      snapshot: about(JsonObject, 'Counts, digests and the status of each check'),
    }),
    refuses: ['baseline_not_found'],
  }),
  drift: operation({
    ...read,
    id: 'assurance.drift',
    method: 'GET',
    path: `${path}/drift`,
    summary: 'Lists differences from the baseline that runs found, newest first',
    description: 'Use it to notice that something has changed or stopped working.',
    query: Type.Object({ limit: Limit(limits.assurance_drift_page) }),
    status: 200,
    reply: Type.Object({
      drift_events: Type.Array(
        Type.Object({
          ...drift,
          run_id: text('Id of the run'),
          detected_at: time('When the run found it'),
        }),
        { description: 'The differences' },
      ),
      count: count('Number of items'),
    }),
    refuses: [],
  }),
  stats: operation({
    ...read,
    id: 'assurance.stats',
    method: 'GET',
    path: `${path}/stats`,
    summary: 'Counts the stored runs by result',
    description: 'Use it for an overview of the checks.',
    status: 200,
    reply: Type.Object({
      total_runs: count('Stored runs'),
      passed: count('Runs with the status `pass`'),
      drifted: count('Runs with the status `drift`'),
      failed: count('Runs with the status `fail`'),
      running: count('Runs that have not ended'),
      active_schedules: count('Active schedules'),
      last_run: Nullable(about(AssuranceRunSummary, 'The last run')),
    }),
    refuses: [],
  }),
} as const
