// The gate in front of an operation: evaluates the tenant's policies on its context and records the
// result.

import {
  ACTION_PREFIX,
  type PolicyAction,
  type PolicyResult,
  type PolicyType,
} from '@custos/contract'
import { rateLimits } from '../../platform/rates/rate-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type EvaluationResult,
  keptOperation,
  recordOf,
  summarise,
  writeEvaluated,
} from './evaluation-result.ts'
import { evaluationLog } from './log/evaluation-log.ts'
import { type PolicyScope, type PolicySet, policySets } from './policy-sets.ts'
import { describeDetail } from './rules/describe.ts'
import {
  evaluateSet,
  type Redactions,
  type SetOutcome,
  type Verdict,
  verdictOf,
} from './rules/evaluate-set.ts'
import type { Outcome } from './rules/outcome.ts'
import type { CompiledPolicy } from './rules/policy.ts'
import type { Context } from './rules/request.ts'

export interface GateResult {
  readonly verdict: Verdict
  /** `null` if the tenant has no enabled policies, so that nothing was evaluated. */
  readonly evaluation_id: string | null
  /** Number of the policy set that was evaluated. */
  readonly policy_set: number
  /** The result of each enabled policy. */
  readonly policies: readonly {
    readonly policy_id: string
    readonly version: number
    readonly name: string
    readonly policy_type: PolicyType
    readonly action: PolicyAction
    readonly result: PolicyResult
    readonly applicable: boolean
    /** A stable code; `null` if the policy simply allowed the request. */
    readonly reason: string | null
    /** For people; contains no word of the request. */
    readonly detail: string
  }[]
  /** Values to use instead of the given ones, for each context; no entries without policies. */
  readonly redactions: readonly Redactions[]
  /** The rate limit to wait for; `null` if waiting does not help. */
  readonly exceeded: {
    readonly policy_id: string
    readonly max_requests: number
    readonly window_s: number
    readonly retry_after_s: number
  } | null
}

interface GateOptions {
  /** Counts towards no rate limit and is not stored. */
  readonly dry_run?: boolean
  /** Context keys whose values are ids minted and verified by the service, stored in clear. */
  readonly minted?: readonly string[]
  /**
   * Set for a request that was counted before and that a person has approved. It counts towards no
   * rate limit, and these policies do not escalate it again; a policy changed since then does.
   */
  readonly met?: readonly PolicyVersion[]
}

export interface PolicyVersion {
  readonly policy_id: string
  readonly version: number
}

const ID_BYTES = 10
const STORE = ['store_id']
/**
 * Operations that call the gate themselves, with the ids in their context that they have verified.
 * The store of `decisions.log` is an unverified text of the caller.
 */
const GATED: ReadonlyMap<string, readonly string[]> = new Map([
  ['memory.write', STORE],
  ['memory.retrieve', STORE],
  ['memory.delete', STORE],
  ['decisions.log', []],
  ['landing.issue', []],
  ['artifacts.register', []],
  ['world_model.register_type', []],
  ['world_model.invoke', []],
  ['provenance.register', []],
  ['compositions.compose', []],
])
const asksItself = (operation: string): boolean =>
  GATED.has(operation) || operation.startsWith(ACTION_PREFIX)
const NO_REDACTIONS: Redactions = {}
/** The result for a tenant without policies. */
const UNGATED: GateResult = {
  verdict: 'allowed',
  evaluation_id: null,
  policy_set: 0,
  policies: [],
  redactions: [],
  exceeded: null,
}

/**
 * Evaluates the tenant's policies for one request. On return a denial or escalation is durable and
 * on the log; an allowed evaluation is stored within a second.
 */
export async function gate(
  call: PolicyScope,
  operation: string,
  context: Context,
  options: GateOptions = {},
): Promise<GateResult> {
  return gateItems(call, operation, [context], options)
}

/** Same as `gate` for a request of several items: counted once; the strictest result decides. */
export async function gateItems(
  call: PolicyScope,
  operation: string,
  contexts: readonly Context[],
  options: GateOptions = {},
): Promise<GateResult> {
  const minted = GATED.get(operation) ?? []
  const request = { operation, contexts, minted, ...options, by: 'gate' as const }
  const found = policySets(call.kernel).of(call)
  const set = found instanceof Promise ? await found : found
  const evaluated = await evaluate(call, set, request)
  if (evaluated === null) return { ...UNGATED, policy_set: set.policy_set }
  if (!options.dry_run) await record(call, evaluated)
  return { ...showGated(evaluated), exceeded: await findExceeded(call, evaluated) }
}

/** The rate limit with the longest wait, if only rate limits deny the request. */
async function findExceeded(
  { kernel, tenant_id }: PolicyScope,
  { verdict, set, outcomes }: EvaluationResult,
): Promise<GateResult['exceeded']> {
  if (verdict !== 'denied') return null
  const denied = outcomes.flatMap((outcome, i) =>
    outcome.result === 'denied' ? [{ outcome, policy: set.policies[i] }] : [],
  )
  let longest: GateResult['exceeded'] = null
  for (const { outcome, policy } of denied) {
    if (!policy?.rate || outcome.detail?.reason !== 'rate_exceeded') return null
    const { policy_id, rate } = policy
    const { max_requests, window_us } = rate
    const limit = { tenant_id, limit_id: policy_id, max_requests, window_us }
    const retry_after_s = await rateLimits(kernel).secondsUntilRoom(limit)
    const window_s = window_us / 1_000_000
    if (longest === null || retry_after_s > longest.retry_after_s)
      longest = { policy_id, max_requests, window_s, retry_after_s }
  }
  return longest
}

/**
 * For operations that cannot wait for an approval: throws `policy_denied`, `rate_limited` or
 * `approval_required`, or returns the values to use instead of the given ones.
 */
export async function admit(
  call: PolicyScope,
  operation: string,
  context: Context,
  options: Pick<GateOptions, 'minted'> = {},
): Promise<Redactions> {
  const [redactions] = await admitItems(call, operation, [context], options)
  return redactions ?? NO_REDACTIONS
}

/** Same as `admit` for several items; the result has the order of `contexts`. */
export async function admitItems(
  call: PolicyScope,
  operation: string,
  contexts: readonly Context[],
  options: Pick<GateOptions, 'minted'> = {},
): Promise<readonly Redactions[]> {
  const gated = await gateItems(call, operation, contexts, options)
  if (gated.verdict !== 'allowed') throw refusalOf(gated)
  return gated.redactions
}

/** The refusal of a request that its policies do not allow. */
export function refusalOf({ verdict, policies, exceeded }: GateResult): Refusal {
  if (exceeded) return rateRefusal(exceeded)
  const deciding = policies.filter(({ result }) => result === verdict)
  const { policy_id = '', name = '', detail: reason = '' } = deciding[0] ?? {}
  const first = { policy_id, name, reason }
  // Ids and names are the tenant's own texts about its rules, so any of its keys may see them.
  const members = { ...first, policies: deciding.map((one) => pickName(one)) }
  const code = verdict === 'denied' ? 'policy_denied' : 'approval_required'
  return new Refusal(code, undefined, { members, detail: first })
}

const pickName = ({ policy_id, name }: { policy_id: string; name: string }) => ({ policy_id, name })

/** 429, with the fields of draft-ietf-httpapi-ratelimit-headers-11. */
function rateRefusal({
  policy_id,
  max_requests,
  window_s,
  retry_after_s,
}: NonNullable<GateResult['exceeded']>): Refusal {
  const message = `a policy allows ${max_requests} requests in ${window_s} s`
  return new Refusal('rate_limited', message, {
    members: { quota: policy_id, limit: max_requests, window_s },
    retry_after_s,
    headers: {
      'ratelimit-policy': `"${policy_id}";q=${max_requests};w=${window_s}`,
      ratelimit: `"${policy_id}";r=0;t=${retry_after_s}`,
    },
  })
}

interface EvaluateRequest extends GateOptions {
  readonly operation: string
  readonly contexts: readonly Context[]
  /** A caller's evaluation of one of the service's operations does not use up its rate limits. */
  readonly by: 'gate' | 'caller'
}

/** Returns `null` without policies. Counts towards rate limits unless it is a dry run. */
export async function evaluate(
  asking: PolicyScope,
  set: PolicySet,
  request: EvaluateRequest,
): Promise<EvaluationResult | null> {
  const { kernel, tenant_id } = asking
  if (set.policies.length === 0) return null
  const exceeded = await exceededRates(asking, set, request)
  const { operation, contexts, minted = [], met = [] } = request
  const first = await evaluateSet(set.policies, { operation, contexts, exceeded })
  const outcome = met.length === 0 ? first : meet(first, set.policies, met)
  const keys = await kernel.keyring.tenant(tenant_id)
  const kept_operation = keptOperation(keys, operation)
  return {
    ...outcome,
    set,
    operation,
    kept_operation,
    evaluation_id: kernel.ids.hex(ID_BYTES),
    created_us: kernel.clock.now(),
    request: summarise(keys, kept_operation, { contexts, minted }),
  }
}

/** Applies a person's approvals to the escalations of an outcome. */
function meet(
  { outcomes, redactions }: SetOutcome,
  policies: readonly CompiledPolicy[],
  met: readonly PolicyVersion[],
): SetOutcome {
  const answered = outcomes.map((outcome, i): Outcome => {
    const { policy_id, version } = policies[i] ?? {}
    const approved = met.some((one) => one.policy_id === policy_id && one.version === version)
    if (outcome.result !== 'escalated' || !approved) return outcome
    return { ...outcome, result: 'allowed', detail: { reason: 'approved' } }
  })
  const verdict = verdictOf(answered.map(({ result }) => result))
  return { verdict, outcomes: answered, redactions }
}

async function exceededRates(
  { kernel, tenant_id }: PolicyScope,
  { policies }: PolicySet,
  { operation, dry_run = false, by, met }: EvaluateRequest,
): Promise<ReadonlySet<number>> {
  const counts = !dry_run && met === undefined && (by === 'gate' || !asksItself(operation))
  const exceeded = new Set<number>()
  const rates = rateLimits(kernel)
  for (const [i, { policy_id, rate }] of policies.entries()) {
    if (!rate?.isOf(operation)) continue
    const limit = { tenant_id, limit_id: policy_id, ...rate }
    const within = counts ? rates.take(limit) : rates.peek(limit)
    if (!(within instanceof Promise ? await within : within)) exceeded.add(i)
  }
  return exceeded
}

/** Records an evaluation; unless it was allowed, it is durable on return. */
export async function record(
  { kernel, tenant_id }: PolicyScope,
  evaluated: EvaluationResult,
): Promise<void> {
  kernel.metrics.countEvaluation(evaluated.verdict)
  if (evaluated.verdict === 'allowed') {
    await evaluationLog(kernel).add(tenant_id, recordOf(evaluated))
    return
  }
  const keys = await kernel.keyring.tenant(tenant_id)
  await kernel.db.transact(tenant_id, (tx) => writeEvaluated(tx, keys, evaluated))
}

function showGated({
  verdict,
  evaluation_id,
  set,
  outcomes,
  redactions,
}: EvaluationResult): Omit<GateResult, 'exceeded'> {
  return {
    verdict,
    evaluation_id,
    policy_set: set.policy_set,
    policies: set.policies.flatMap((policy, i) => {
      const outcome = outcomes[i]
      return outcome ? [showPolicy(policy, outcome)] : []
    }),
    redactions,
  }
}

function showPolicy(
  policy: CompiledPolicy,
  { result, applicable, detail }: Outcome,
): GateResult['policies'][number] {
  const { policy_id, version, name, policy_type, action } = policy
  const reason = detail?.reason ?? null
  return {
    ...{ policy_id, version, name, policy_type, action, result, applicable, reason },
    detail: describeDetail(policy, detail),
  }
}
