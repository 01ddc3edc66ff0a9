// Assurance: the service checks itself, one tenant at a time, on a schedule or when asked.

import Type, { type Static } from 'typebox'
import { Cursor, JsonObject, Limit, Nullable, Offset, page, Timestamp } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

/** `conformance` only runs when it is named: it writes to stores of its own. */
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

/** What earlier clients ask for by other names. Nothing is measured for `metrics`. */
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

/** Findings shown of one check; their number is told beside them. */
export const ASSURANCE_FINDINGS_MAX = 20
/** Facts, and decisions, that are opened each: of more a sample of this size. */
export const ASSURANCE_SAMPLE = 2_000
/** The suite writes some fifteen hundred entries to the log: not every five minutes. */
export const CONFORMANCE_INTERVAL_MIN = 60
/** How long a request waits for its run; after that it is told where the run is found. */
export const ASSURANCE_WAIT_S = 60

const Count = Type.Integer({ minimum: 0 })
const Id = Type.String({ pattern: '^[0-9a-f]{24}$' })

const Checks = Type.Array(Type.Enum([...ASSURANCE_CHECKS, ...ALIASES]), {
  minItems: 1,
  maxItems: ASSURANCE_CHECKS.length + ALIASES.length,
})
/** In minutes: twelve runs an hour at most, one a day at least. */
const Interval = Type.Integer({ minimum: 5, maximum: 1_440 })
/** Nothing is sent yet: anything but null is refused. */
const AlertWebhook = Type.Optional(Nullable(Type.String({ maxLength: limits.ref_chars })))

export const CheckResult = Type.Object({
  status: Type.Enum(CHECK_STATUSES),
  /** True for `pass` only: what was not checked has not passed. */
  passed: Type.Boolean(),
  /** What was looked at, or why nothing was. */
  detail: Type.String(),
  /** How many of each thing were looked at. */
  counts: Type.Record(Type.String(), Type.Integer()),
  /** Ids and numbers of what does not hold; never a content. */
  findings: Type.Array(
    Type.Object({ kind: Type.String(), id: Type.String(), what: Type.String() }),
    { maxItems: ASSURANCE_FINDINGS_MAX },
  ),
  /** Of all, shown or not; of one kind no more than a thousand are counted. */
  findings_total: Count,
})
export type CheckResult = Static<typeof CheckResult>

const Value = Nullable(Type.Union([Type.String(), Type.Number()]))

const drift = {
  check: Type.String(),
  /** `regression`: it passed at the baseline. `changed`: it holds, and is not what it was. */
  type: Type.Enum(['regression', 'changed']),
  detail: Type.String(),
  baseline_status: Nullable(Type.Enum(CHECK_STATUSES)),
  current_status: Nullable(Type.Enum(CHECK_STATUSES)),
  baseline_value: Value,
  current_value: Value,
}
export const DriftEvent = Type.Object(drift)
export type DriftEvent = Static<typeof DriftEvent>

const summary = {
  run_id: Type.String(),
  status: Type.Enum(ASSURANCE_STATUSES),
  trigger: Type.Enum(ASSURANCE_TRIGGERS),
  schedule_id: Nullable(Type.String()),
  checks: Type.Array(Type.String()),
  drift_events_count: Count,
  /** `interrupted` or `stopped`: the process ended; otherwise the name of an error. */
  error: Nullable(Type.String()),
  started_at: Timestamp,
  completed_at: Nullable(Timestamp),
}
export const AssuranceRunSummary = Type.Object(summary)
export type AssuranceRunSummary = Static<typeof AssuranceRunSummary>

export const AssuranceRun = Type.Object({
  ...summary,
  /** By name, also by the other name a check was asked for under; empty while it runs. */
  checks_results: Type.Record(Type.String(), CheckResult),
  drift_events: Type.Array(DriftEvent),
  /** What it was compared with. */
  baseline_id: Nullable(Type.String()),
  /** What chose the samples. */
  seed: Type.String(),
  /** Position of its entry on the log; null: it has none. */
  log_seq: Nullable(Type.Integer({ minimum: 0 })),
})
export type AssuranceRun = Static<typeof AssuranceRun>

const Begun = Type.Object({ run_id: Type.String(), status: Type.Literal('running') })

const Schedule = Type.Object({
  schedule_id: Type.String(),
  interval_min: Interval,
  checks: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  alert_webhook: Type.Null(),
  next_due_at: Nullable(Timestamp),
  last_run_id: Nullable(Type.String()),
  created_at: Timestamp,
})
export type AssuranceSchedule = Static<typeof Schedule>

const read = { access: 'tenant', scope: 'compliance:read' } as const
const admin = { access: 'tenant', scope: 'compliance:admin' } as const
const path = '/v1/assurance'
const schedule = `${path}/schedules/{schedule_id}` as const
const params = Type.Object({ schedule_id: Id })

export const assurance = {
  create_schedule: operation({
    ...admin,
    id: 'assurance.create_schedule',
    method: 'POST',
    path: `${path}/schedules`,
    summary: 'Runs checks at an interval',
    description:
      'The first run is due after one interval. Runs missed while the service was down are made ' +
      'up for by one. `conformance` takes an interval of an hour or more: it writes to stores of ' +
      'its own, and each of its writes is on the log. `alert_webhook` is refused: nothing is ' +
      'sent, read `/v1/assurance/drift`.',
    body: Type.Object({
      interval_min: Type.Optional(Type.Integer({ ...Interval, default: 60 })),
      checks: Type.Optional(Checks),
      alert_webhook: AlertWebhook,
    }),
    body_optional: true,
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
    summary: 'The schedules, oldest first: a hundred at most',
    status: 200,
    reply: Type.Object({ schedules: Type.Array(Schedule) }),
    refuses: [],
  }),
  update_schedule: operation({
    ...admin,
    id: 'assurance.update_schedule',
    method: 'PUT',
    path: schedule,
    summary: 'Changes a schedule; what is left out stays',
    description: 'With another interval the next run is due that long after now.',
    params,
    body: Type.Object({
      interval_min: Type.Optional(Interval),
      checks: Type.Optional(Checks),
      enabled: Type.Optional(Type.Boolean()),
      alert_webhook: AlertWebhook,
    }),
    status: 200,
    reply: Schedule,
    refuses: ['schedule_not_found', 'rejected'],
  }),
  delete_schedule: operation({
    ...admin,
    id: 'assurance.delete_schedule',
    method: 'DELETE',
    path: schedule,
    summary: 'Deletes a schedule; its runs stay',
    params,
    status: 200,
    reply: Type.Object({ deleted: Type.Literal(true), schedule_id: Type.String() }),
    refuses: ['schedule_not_found'],
  }),
  run: operation({
    ...admin,
    id: 'assurance.run',
    method: 'POST',
    path: `${path}/run`,
    summary: 'Checks the tenant now, and compares with the baseline',
    description:
      `Answers with the whole run, or after ${ASSURANCE_WAIT_S} seconds, and at once with ` +
      '`background`, with 202 and where to find it. One run of a tenant at a time. The chain is ' +
      'verified from its first entry; of more than ' +
      `${ASSURANCE_SAMPLE} facts, and of more than as many decisions, a sample is ` +
      'opened, chosen by `seed`. A key limited to some stores is refused.',
    body: Type.Object({
      /** Left out: all but `conformance`. */
      checks: Type.Optional(Checks),
      background: Type.Optional(Type.Boolean({ default: false })),
    }),
    body_optional: true,
    status: 200,
    reply: AssuranceRun,
    accepted: Begun,
    refuses: ['rejected', 'run_in_progress'],
  }),
  runs: operation({
    ...read,
    id: 'assurance.runs',
    method: 'GET',
    path: `${path}/runs`,
    summary: 'The runs, newest first',
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
    summary: 'One run with its results',
    params: Type.Object({ run_id: Id }),
    status: 200,
    reply: AssuranceRun,
    refuses: ['run_not_found'],
  }),
  capture_baseline: operation({
    ...admin,
    id: 'assurance.capture_baseline',
    method: 'POST',
    path: `${path}/baseline`,
    summary: 'Checks the tenant and keeps what it is now: later runs are compared with it',
    description: 'Refused where a check fails: a baseline is what a sound state looked like.',
    status: 200,
    reply: Type.Object({
      baseline_id: Type.String(),
      run_id: Type.String(),
      captured_at: Timestamp,
      snapshot_keys: Type.Array(Type.String()),
    }),
    accepted: Begun,
    refuses: ['run_in_progress', 'wrong_state'],
  }),
  baseline: operation({
    ...read,
    id: 'assurance.baseline',
    method: 'GET',
    path: `${path}/baseline`,
    summary: 'The newest baseline: counts, digests, and the state of each check',
    status: 200,
    reply: Type.Object({
      baseline_id: Type.String(),
      run_id: Type.String(),
      captured_at: Timestamp,
      snapshot: JsonObject,
    }),
    refuses: ['baseline_not_found'],
  }),
  drift: operation({
    ...read,
    id: 'assurance.drift',
    method: 'GET',
    path: `${path}/drift`,
    summary: 'What runs found to differ from the baseline, newest first',
    query: Type.Object({ limit: Limit(limits.assurance_drift_page) }),
    status: 200,
    reply: Type.Object({
      drift_events: Type.Array(
        Type.Object({ ...drift, run_id: Type.String(), detected_at: Timestamp }),
      ),
      count: Count,
    }),
    refuses: [],
  }),
  stats: operation({
    ...read,
    id: 'assurance.stats',
    method: 'GET',
    path: `${path}/stats`,
    summary: 'How the runs that are kept ended',
    status: 200,
    reply: Type.Object({
      total_runs: Count,
      passed: Count,
      drifted: Count,
      failed: Count,
      running: Count,
      active_schedules: Count,
      last_run: Nullable(AssuranceRunSummary),
    }),
    refuses: [],
  }),
} as const
