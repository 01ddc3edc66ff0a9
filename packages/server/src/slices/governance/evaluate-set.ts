// All policies of a tenant on one request, or on the items of one: outcomes, verdict, redactions.

import type { PolicyResult } from '@custos/contract'
import { type Outcome, worse } from './outcome.ts'
import { replaceSpans } from './pii-rule.ts'
import type { CompiledPolicy } from './policy.ts'
import type { Context, GateRequest } from './request.ts'
import type { Replacement } from './rule.ts'

export type Verdict = 'allowed' | 'denied' | 'escalated'

/** Texts to use instead of those given, by field. */
export type Redactions = Readonly<Record<string, string>>

export interface SetRequest {
  readonly operation: string
  /** One for each item: a batch is one request. */
  readonly contexts: readonly Context[]
  /** Positions of rate limits for which the request is one too many. */
  readonly exceeded: ReadonlySet<number>
}

export interface SetOutcome {
  readonly verdict: Verdict
  /** One for each policy, the heaviest of all items. */
  readonly outcomes: readonly Outcome[]
  /** One for each item. */
  readonly redactions: readonly Redactions[]
}

/** What a policy says to a request without items. */
const UNCONCERNED: Outcome = { result: 'allowed', applicable: false, detail: null }

/** Pure: the same policies, request and rates give the same answer. */
export function evaluateSet(policies: readonly CompiledPolicy[], request: SetRequest): SetOutcome {
  const items = request.contexts.map((context) => ({ operation: request.operation, context }))
  const outcomes = policies.map((policy, i) => {
    const around = { rate_exceeded: request.exceeded.has(i) }
    return items.map((item) => policy.evaluate(item, around)).reduce(worse, UNCONCERNED)
  })
  const verdict = verdictOf(outcomes.map(({ result }) => result))
  const redacting = verdict === 'denied' ? [] : policies
  return { verdict, outcomes, redactions: items.map((item) => redactionsOf(redacting, item)) }
}

/** What one policy denies no person can approve. */
export function verdictOf(results: readonly PolicyResult[]): Verdict {
  if (results.includes('denied')) return 'denied'
  return results.includes('escalated') ? 'escalated' : 'allowed'
}

const NONE: Redactions = {}

function redactionsOf(policies: readonly CompiledPolicy[], request: GateRequest): Redactions {
  const all = policies.flatMap((policy) => policy.replacements(request))
  if (all.length === 0) return NONE
  const texts: Record<string, string> = {}
  for (const [field, replacements] of Map.groupBy(all, (replacement) => replacement.field))
    texts[field] = redact(request.context[field], replacements)
  return texts
}

function redact(value: unknown, replacements: readonly Replacement[]): string {
  // Rules replace in texts only.
  return replaceSpans(String(value), replacements)
}
