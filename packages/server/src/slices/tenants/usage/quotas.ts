// Quotas of plans: exact, counted in the unit of work that uses them; and the periods that governed
// decisions are counted in: those of a subscription, or calendar months.

import { formatTime } from '../../../platform/clock.ts'
import { findTenant } from '../../../platform/db/control.sql.ts'
import type { SharedSlot, TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { limitsAt, type PlanLimits } from '../../../platform/kernel/plan-limits.ts'
import { type LimitOf, rateLimits } from '../../../platform/rates/rate-limits.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import {
  countMemories,
  countSelfTestStores,
  findCounter,
  findMarks,
  findPaidTime,
  findPlan,
  findStoreTotals,
  insertMark,
  saveCounter,
} from './usage.sql.ts'
import { calendarMonth, countGoverned, countGovernedEver, pendingGoverned } from './usage.ts'

/** Percentages of an included amount at which the tenant is notified. */
const THRESHOLDS = [80, 100] as const

const MEMORIES = 'memories'

interface PlanState {
  readonly plan: string
  /** Where a person can change the plan; `null` if this installation sells no plans. */
  readonly upgrade_url: string | null
  readonly limits: PlanLimits
  /** `null` if not read by this commit. */
  readonly memories: {
    readonly value: number
    /** See `quota_counters.stores_seq`. */
    readonly stores_seq: number
    readonly changed: boolean
  } | null
}

/** Units of a tenant run one at a time on both engines: nobody counts in between. */
const slot: SharedSlot<PlanState> = {
  name: 'plan',
  async flush(tx, { memories }) {
    if (!memories?.changed) return
    const { value, stores_seq } = memories
    await saveCounter(tx, { name: MEMORIES, value, stores_seq })
  },
}

/** The limits of the tenant's plan. If no plan has limits, the limits that protect a process. */
export async function planLimits(kernel: Kernel, db: TenantDb): Promise<PlanLimits> {
  const tenant = await findTenant(db, db.tenant_id)
  return limitsAt(kernel.settings.plans, tenant ?? null, kernel.clock.now())
}

/** Returns `null` if no plan has limits. */
async function loadPlan(kernel: Kernel, tx: Tx): Promise<PlanState | null> {
  const table = kernel.settings.plans
  if (table === null) return null
  const known = tx.shared.get(slot)
  if (known) return known
  const tenant = await findPlan(tx)
  // The tenant is being created and has no row yet.
  if (!tenant) return null
  const { plan } = tenant
  const { billing, console_origins } = kernel.settings
  const [console_origin = null] = billing === null ? [] : console_origins
  const upgrade_url = console_origin === null ? null : `${console_origin}/`
  const state = { plan, upgrade_url, limits: limitsAt(table, tenant, tx.now()), memories: null }
  tx.shared.set(slot, state)
  return state
}

async function loadMemories(tx: Tx, { memories }: PlanState) {
  if (memories !== null) return memories
  const [counted, { last_seq }] = await Promise.all([
    findCounter(tx, MEMORIES),
    findStoreTotals(tx),
  ])
  // If the positions differ, a unit that does not count, such as one without plans, changed a
  // store.
  if (counted?.stores_seq === last_seq) return { ...counted, changed: false }
  return { value: await countMemories(tx), stores_seq: last_seq, changed: true }
}

/**
 * Counts new memories in their unit of work, before their rows are inserted. Refuses
 * `quota_exceeded` if the plan does not allow them.
 * @returns a function to call with the log position of the change, which is that of its store
 */
export async function reserveMemories(
  kernel: Kernel,
  tx: Tx,
  count: number,
): Promise<(seq: number) => void> {
  const plan = await loadPlan(kernel, tx)
  const limit = plan?.limits.memories ?? null
  if (plan === null || limit === null) return () => {}
  const before = await loadMemories(tx, plan)
  const value = before.value + count
  if (value > limit) throw quotaExceeded(plan, { quota: MEMORIES, limit, used: before.value })
  return (seq) =>
    tx.shared.set(slot, { ...plan, memories: { value, stores_seq: seq, changed: true } })
}

/** Subtracts memories that are erased in this unit at log position `seq`. */
export async function releaseMemories(
  kernel: Kernel,
  tx: Tx,
  { count, seq }: { readonly count: number; readonly seq: number },
): Promise<void> {
  const plan = await loadPlan(kernel, tx)
  if (plan === null || plan.limits.memories === null) return
  const before = await loadMemories(tx, plan)
  const memories = { value: before.value - count, stores_seq: seq, changed: true }
  tx.shared.set(slot, { ...plan, memories })
}

/** Self-test stores that are not counted. Further ones are, as anybody can mark a store as one. */
const SELF_TESTS_FREE = 20

/** The stores that count towards a plan: all but those of self-tests, which exist only briefly. */
async function countStores(db: TenantDb): Promise<{ counted: number; self_tests: number }> {
  const [{ count }, self_tests] = await Promise.all([findStoreTotals(db), countSelfTestStores(db)])
  return { counted: count - Math.min(self_tests, SELF_TESTS_FREE), self_tests }
}

/** Call this before a store is inserted. Refuses `quota_exceeded`. */
export async function requireRoomForStore(
  kernel: Kernel,
  tx: Tx,
  { self_test = false }: { readonly self_test?: boolean | undefined } = {},
): Promise<void> {
  const plan = await loadPlan(kernel, tx)
  const limit = plan?.limits.stores ?? null
  if (plan === null || limit === null) return
  const { counted, self_tests } = await countStores(tx)
  if (self_test && self_tests < SELF_TESTS_FREE) return
  if (counted >= limit) throw quotaExceeded(plan, { quota: 'stores', limit, used: counted })
}

/**
 * Call this after a governed decision was counted (`meter`) in this unit. Refuses
 * `free_ceiling_reached` for a decision beyond the plan's ceiling, and writes a log entry when a
 * share of the included amount is used.
 */
export async function limitGovernedDecisions(kernel: Kernel, tx: Tx): Promise<void> {
  const plan = await loadPlan(kernel, tx)
  if (plan === null) return
  const { included, ceiling } = plan.limits.governed_decisions
  const now_us = tx.now()
  const begins = kernel.settings.billing !== null
  if (included === null && ceiling === null && !begins) return
  const { name: period, end_at, used } = await countedPeriod(tx, now_us, { begins })
  if (ceiling !== null && used > ceiling)
    throw new Refusal('free_ceiling_reached', undefined, {
      members: {
        message: `The plan ${plan.plan} ends at ${ceiling} governed decisions in a period`,
        ceiling,
        ...quotaMembers(plan, { quota: GOVERNED, limit: ceiling, used: used - 1 }),
        period_end: end_at,
      },
    })
  if (included === null) return
  for (const percent of THRESHOLDS.filter((share) => used === thresholdOf(included, share)))
    await appendCrumb(tx, {
      event_type: 'quota.threshold_reached',
      subject: tx.tenant_id,
      payload: { quota: GOVERNED, percent, limit: included, period },
    })
}

const GOVERNED = 'governed_decisions'

const thresholdOf = (included: number, percent: number): number =>
  Math.ceil((included * percent) / 100)

interface QuotaUse {
  readonly quota: string
  readonly limit: number
  readonly used: number
}

const quotaMembers = ({ plan, upgrade_url }: PlanState, { quota, limit, used }: QuotaUse) => ({
  upgrade_url,
  quota,
  limit,
  used,
  plan,
})

const quotaExceeded = (plan: PlanState, exceeded: QuotaUse): Refusal =>
  new Refusal(
    'quota_exceeded',
    `The plan allows ${exceeded.limit} ${exceeded.quota}, and ${exceeded.used} are used`,
    {
      members: {
        message: `The plan ${plan.plan} allows ${exceeded.limit} ${exceeded.quota}`,
        ...quotaMembers(plan, exceeded),
        period_end: null,
      },
    },
  )

/** The counter of a tenant's memories, if one is kept, and the actual number of rows. */
export async function compareMemoryCount(
  db: TenantDb,
): Promise<{ readonly counted: number; readonly rows: number } | null> {
  const [counter, { last_seq }] = await Promise.all([
    findCounter(db, MEMORIES),
    findStoreTotals(db),
  ])
  if (counter?.stores_seq !== last_seq) return null
  return { counted: counter.value, rows: await countMemories(db) }
}

/** The tenant's current use of its plan, for people. */
export async function loadQuotaUse(kernel: Kernel, db: TenantDb): Promise<readonly QuotaUse[]> {
  const tenant = await findTenant(db, db.tenant_id)
  if (!tenant || kernel.settings.plans === null) return []
  const limits = limitsAt(kernel.settings.plans, tenant, kernel.clock.now())
  const [counter, stores] = await Promise.all([findCounter(db, MEMORIES), findStoreTotals(db)])
  const { counted } = await countStores(db)
  const isCurrent = counter?.stores_seq === stores.last_seq
  const memories = isCurrent && counter ? counter.value : await countMemories(db)
  const uses = [
    { quota: MEMORIES, limit: limits.memories, used: memories },
    { quota: 'stores', limit: limits.stores, used: counted },
  ]
  return uses.flatMap(({ limit, ...use }) => (limit === null ? [] : [{ ...use, limit }]))
}

const WINDOW_S = 60
const LIMIT = 'requests'

/**
 * Operations that are counted but never refused: what protects a person, proves something or
 * secures a credential must not wait for the next minute.
 */
const NEVER_REFUSED: readonly RegExp[] = [
  /^(erasure|subjects|retention|offboarding|gcrumbs|billing)\./,
  /\.(verify\w*|integrity|proof|block|revoke|rotate|rotate_key|rotate_secret|cancel)$/,
  /\.(export|download\w*|usage|current_usage)$/,
  /^(jobs\.get|decisions\.(scrub|redact)|memory\.(delete|delete_store|audit))$/,
  /^(webhooks\.(update|delete)|approvals\.reject)$/,
]

const isNeverRefused = (operation: string): boolean =>
  NEVER_REFUSED.some((pattern) => pattern.test(operation))

/**
 * Counts a request of a tenant whose plan limits its rate, before its body is read. Returns headers
 * of the answer: fields of draft-ietf-httpapi-ratelimit-headers. Refuses `rate_limited`; null: no
 * limit.
 */
export async function takeRequest(
  kernel: Kernel,
  principal: Principal,
  operation: string,
): Promise<Readonly<Record<string, string>> | null> {
  const { plan, tenant_id } = principal
  if (plan === undefined || kernel.settings.plans === null) return null
  const limits = limitsAt(kernel.settings.plans, plan, kernel.clock.now())
  const max_requests = limits.requests_per_minute
  if (max_requests === null) return null
  const limit: LimitOf = {
    tenant_id,
    limit_id: LIMIT,
    max_requests,
    window_us: WINDOW_S * 1_000_000,
  }
  const rates = rateLimits(kernel)
  const taken = await rates.take(limit)
  const policy = { 'ratelimit-policy': `"${LIMIT}";q=${max_requests};w=${WINDOW_S}` }
  if (taken) return { ...policy, ratelimit: `"${LIMIT}";r=${rates.left(limit)};t=${WINDOW_S}` }
  // A limit of zero requests never frees one, but the limit may change.
  const retry_after_s = max_requests === 0 ? WINDOW_S : await rates.secondsUntilRoom(limit)
  const headers = { ...policy, ratelimit: `"${LIMIT}";r=0;t=${retry_after_s}` }
  if (isNeverRefused(operation)) return headers
  throw new Refusal('rate_limited', `The plan allows ${max_requests} requests a minute`, {
    members: { quota: LIMIT, limit: max_requests, window_s: WINDOW_S },
    retry_after_s,
    headers,
  })
}

/**
 * Records the total at the beginning of a period, unless it is recorded already.
 * @param uncounted governed decisions of this unit, which belong to the new period
 */
export async function markPeriod(tx: Tx, period_start_us: number, uncounted = 0): Promise<void> {
  tx.shared.set(periodSlot, null)
  const total = (await countGovernedEver(tx)) - uncounted
  await insertMark(tx, { period_start_us, total })
}

interface CountedPeriod {
  /** `YYYY-MM` for a month, else the day on which the period begins. */
  readonly name: string
  readonly start_at: string
  /** Exclusive end. */
  readonly end_at: string
  readonly source: 'subscription' | 'calendar_month'
  /** Governed decisions in the period. */
  readonly used: number
}

/** Read once per commit, with the counts of earlier commits. */
const periodSlot: SharedSlot<CountedPeriod | null> = { name: 'period', flush: async () => {} }

/** Same as `currentPeriod`, in a unit that counted a governed decision; may begin a period. */
async function countedPeriod(
  tx: Tx,
  now_us: number,
  { begins }: { readonly begins: boolean },
): Promise<CountedPeriod> {
  const known = tx.shared.get(periodSlot) ?? null
  if (known !== null && formatTime(now_us) < known.end_at)
    return { ...known, used: known.used + pendingGoverned(tx) }
  if (begins) await beginPeriod(tx, now_us)
  const period = await currentPeriod(tx, now_us)
  tx.shared.set(periodSlot, { ...period, used: period.used - pendingGoverned(tx) })
  return period
}

/** The current period with its count; in a unit of work, including that unit's counts. */
export async function currentPeriod(db: TenantDb, now_us: number): Promise<CountedPeriod> {
  const paid = await findPaidPeriod(db)
  if (paid === null || now_us < paid.period_start_us) {
    const { period, ...month } = calendarMonth(now_us, 0)
    const used = await countGoverned(db, period)
    return { name: period, ...month, source: 'calendar_month', used }
  }
  // Past the end of the period the next one has begun, though the provider has not reported it yet.
  const isOver = now_us >= paid.period_end_us
  const start_us = isOver ? paid.period_end_us : paid.period_start_us
  const length_us = paid.period_end_us - paid.period_start_us
  const marks = await findMarks(db)
  const mark = marks.find(({ period_start_us }) => period_start_us === start_us)
  const used = mark === undefined ? 0 : (await countGovernedEver(db)) - mark.total
  return {
    name: formatTime(start_us).slice(0, 10),
    start_at: formatTime(start_us),
    end_at: formatTime(isOver ? start_us + length_us : paid.period_end_us),
    source: 'subscription',
    used,
  }
}

/** Runs in the unit that counts the first governed decision after the end of a paid period. */
async function beginPeriod(tx: Tx, now_us: number): Promise<void> {
  const paid = await findPaidPeriod(tx)
  if (paid === null || now_us < paid.period_end_us) return
  const marks = await findMarks(tx)
  if (marks.some(({ period_start_us }) => period_start_us === paid.period_end_us)) return
  await markPeriod(tx, paid.period_end_us, 1)
}

const PAID: readonly string[] = ['trialing', 'active', 'canceling', 'past_due']

async function findPaidPeriod(db: TenantDb) {
  const row = await findPaidTime(db)
  if (!row || !PAID.includes(row.status)) return null
  const { period_start_us, period_end_us } = row
  return period_start_us === null || period_end_us === null
    ? null
    : { period_start_us, period_end_us }
}
