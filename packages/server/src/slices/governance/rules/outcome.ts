// The outcome of one policy for one request: a result and a reason, without a word of the request.

import type { PolicyResult } from '@custos/contract'

/** Why a policy did not simply allow a request. */
export const REASONS = {
  rate_exceeded: 'rate_exceeded',
  model_not_listed: 'model_not_listed',
  pattern_found: 'pattern_found',
  personal_data: 'personal_data',
  store_not_listed: 'store_not_listed',
  over_budget: 'over_budget',
  approval_needed: 'approval_needed',
  parameter_missing: 'parameter_missing',
  parameters_refused: 'parameters_refused',
  tool_denied: 'tool_denied',
  /** The policy required an approval, and a person gave it. */
  approved: 'approved',
  // Faults: the policy could not be evaluated, which denies the request.
  missing_context: 'missing_context',
  wrong_type: 'wrong_type',
  ambiguous: 'ambiguous',
  field_too_long: 'field_too_long',
  too_many_found: 'too_many_found',
  work_exceeded: 'work_exceeded',
  bad_pattern: 'bad_pattern',
  unreadable: 'unreadable',
  failed: 'failed',
} as const

/** Numbers, and positions in the policy's own configuration; never a value of the request. */
export interface Detail {
  readonly reason: keyof typeof REASONS
  /** Position among the fields that the policy reads. */
  readonly field?: number
  /** Position of the matching entry in a list of the configuration. */
  readonly item?: number
  /** Names of recognisers. */
  readonly entities?: readonly string[]
  readonly count?: number
  readonly limit?: number
}

export interface Outcome {
  readonly result: PolicyResult
  /** False if the policy does not apply to the request. */
  readonly applicable: boolean
  readonly detail: Detail | null
}

/**
 * The only outcomes of an evaluation without a detail: the policy allows the request, or does not
 * apply to it.
 */
export const CLEAR: Outcome = { result: 'allowed', applicable: true, detail: null }
export const UNCONCERNED: Outcome = { result: 'allowed', applicable: false, detail: null }

/** What a rule finds: a match, no match, or that it does not apply to the request. */
export type Finding = Detail | 'clear' | 'unconcerned'

/** The policy cannot be evaluated on this request, which is denied whatever the policy's action. */
export class Fault extends Error {
  readonly detail: Detail

  constructor(detail: Detail) {
    super(detail.reason)
    this.detail = detail
  }
}

const RANK: Readonly<Record<PolicyResult, number>> = {
  allowed: 0,
  logged: 1,
  escalated: 2,
  denied: 3,
}

/** The stricter outcome; of equally strict ones the first that is applicable. */
export function heavierOf(a: Outcome, b: Outcome): Outcome {
  const by = RANK[b.result] - RANK[a.result]
  if (by !== 0) return by > 0 ? b : a
  return !a.applicable && b.applicable ? b : a
}
