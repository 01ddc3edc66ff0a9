// A policy in the form that is evaluated: compiled once for all requests until it changes.

import type { PolicyAction, PolicyConfig, PolicyResult, PolicyType } from '@custos/contract'
import { describeDetail } from './describe.ts'
import { CLEAR, type Detail, Fault, type Finding, type Outcome, UNCONCERNED } from './outcome.ts'
import { PatternRefused } from './patterns.ts'
import type { Recognisers } from './personal-data.ts'
import type { GateRequest } from './request.ts'
import type { Rule, RuleFinding, Surroundings } from './rule.ts'
import { makers, operationFilter, rateOf } from './rules.ts'
import type { Replacement } from './searchable.ts'

/** A stored policy after opening. */
export interface PolicyText {
  readonly policy_id: string
  readonly version: number
  readonly policy_type: PolicyType
  readonly action: PolicyAction
  readonly name: string
  /** The configuration as it was validated before it was stored. */
  readonly config: Readonly<Record<string, unknown>>
}

export interface CompiledPolicy extends PolicyText {
  /** The JSON of an outcome: an entry of `logs`, and the members of `evaluations` that are its. */
  write(outcome: Outcome): { readonly evaluation: string; readonly log: string }
  /** `null` for all types except rate_limit. */
  readonly rate: {
    readonly max_requests: number
    readonly window_us: number
    isOf(operation: string): boolean
  } | null
  /** Returns a promise only if it searches for long or waits for something. */
  evaluate(request: GateRequest, around: Surroundings): Evaluation | Promise<Evaluation>
}

export interface Evaluation {
  readonly outcome: Outcome
  /** Replacements for a request that is allowed. */
  readonly replacements: readonly Replacement[]
}

const RESULTS: Readonly<Record<PolicyAction, PolicyResult>> = {
  allow: 'allowed',
  deny: 'denied',
  escalate: 'escalated',
  log_only: 'logged',
}

/** A policy that cannot be read or compiled denies every request. */
export function compilePolicy(text: PolicyText | null, recognisers: Recognisers): Rule {
  if (text === null) return faulty({ reason: 'unreadable' })
  try {
    return makeRule(text, recognisers)
  } catch (error) {
    if (error instanceof PatternRefused) return faulty({ reason: 'bad_pattern' })
    return faulty({ reason: 'failed' })
  }
}

/** Throws if the configuration does not fit its type. */
export function makeRule(
  { policy_type, config }: Pick<PolicyText, 'policy_type' | 'config'>,
  recognisers: Recognisers,
): Rule {
  // The configuration was validated for its type before it was stored.
  const make = makers[policy_type] as (config: unknown, recognisers: Recognisers) => Rule
  return make(config, recognisers)
}

const faulty = (detail: Detail): Rule => ({
  find() {
    throw new Fault(detail)
  },
})

/** @param rule the result of `compilePolicy` */
export function policyOf(text: PolicyText, rule: Rule): CompiledPolicy {
  return {
    ...text,
    write: outcomeWriter(text),
    rate: text.policy_type === 'rate_limit' ? rateRule(text.config) : null,
    evaluate: (request, around) => evaluateRule(text.action, rule, request, around),
  }
}

function outcomeWriter(policy: PolicyText): CompiledPolicy['write'] {
  const { policy_id, name, policy_type, action } = policy
  const about = { policy_name: name, policy_type, action }
  const write = ({ result, applicable, detail }: Outcome) => {
    const words = describeDetail(policy, detail)
    const reason = detail?.reason ?? null
    const evaluation = { policy_id, ...about, result, applicable, reason, detail: words }
    return {
      evaluation: JSON.stringify(evaluation).slice(1, -1),
      log: JSON.stringify({ ...about, result, detail: words }),
    }
  }
  // Nearly all outcomes are these two.
  const [clear, unconcerned] = [write(CLEAR), write(UNCONCERNED)]
  return (outcome) => {
    if (outcome.detail !== null) return write(outcome)
    return outcome.applicable ? clear : unconcerned
  }
}

function rateRule(config: PolicyConfig<'rate_limit'>): NonNullable<CompiledPolicy['rate']> {
  const { max_requests, window_seconds } = rateOf(config)
  return {
    max_requests,
    window_us: window_seconds * 1_000_000,
    isOf: operationFilter(config.operations),
  }
}

function evaluateRule(
  action: PolicyAction,
  rule: Rule,
  request: GateRequest,
  around: Surroundings,
): Evaluation | Promise<Evaluation> {
  try {
    const found = rule.find(request, around)
    if (!(found instanceof Promise)) return evaluationOf(action, found)
    return found.then((later) => evaluationOf(action, later)).catch(faultOf)
  } catch (error) {
    return faultOf(error)
  }
}

function evaluationOf(action: PolicyAction, found: RuleFinding): Evaluation {
  if (typeof found !== 'object' || !('replacements' in found))
    return { outcome: outcomeOf(action, found), replacements: NOTHING }
  const { finding, replacements } = found
  return { outcome: outcomeOf(action, finding), replacements }
}

function faultOf(error: unknown): Evaluation {
  const detail = error instanceof Fault ? error.detail : { reason: 'failed' as const }
  const outcome = { result: 'denied', applicable: true, detail } as const
  return { outcome, replacements: NOTHING }
}

const NOTHING: readonly Replacement[] = []

function outcomeOf(action: PolicyAction, finding: Finding): Outcome {
  if (finding === 'clear') return CLEAR
  if (finding === 'unconcerned') return UNCONCERNED
  return { result: RESULTS[action], applicable: true, detail: finding }
}
