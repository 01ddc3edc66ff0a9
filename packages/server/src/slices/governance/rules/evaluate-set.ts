// Evaluates all policies of a tenant on one request or its items: outcomes, verdict, redactions.

import type { PolicyResult } from '@custos/contract'
import { heavierOf, type Outcome, UNCONCERNED } from './outcome.ts'
import type { CompiledPolicy } from './policy.ts'
import { type Context, type GateRequest, gateRequest, valueAt } from './request.ts'
import { makeWork } from './rule.ts'
import { type Replacement, replaceIn } from './searchable.ts'

export type Verdict = 'allowed' | 'denied' | 'escalated'

/** Values to use instead of the given ones, by field. */
export type Redactions = Readonly<Record<string, unknown>>

interface SetRequest {
  readonly operation: string
  /** One context per item; a batch counts as one request. */
  readonly contexts: readonly Context[]
  /** Positions of the rate limits that the request exceeds. */
  readonly exceeded: ReadonlySet<number>
}

export interface SetOutcome {
  readonly verdict: Verdict
  /** One outcome per policy, the strictest of all items. */
  readonly outcomes: readonly Outcome[]
  /** One entry per item. */
  readonly redactions: readonly Redactions[]
}

/**
 * Pure: the same policies, request and rates give the same result. Yields to other requests if it
 * takes long.
 */
export async function evaluateSet(
  policies: readonly CompiledPolicy[],
  request: SetRequest,
): Promise<SetOutcome> {
  const { operation, contexts, exceeded } = request
  const items = contexts.map((context) => newItem(operation, context))
  const work = makeWork()
  const outcomes: Outcome[] = []
  for (const [i, policy] of policies.entries()) {
    const around = { rate_exceeded: exceeded.has(i), work }
    // The result of a policy for a request without items.
    let heaviest = UNCONCERNED
    for (const { item, replacements } of items) {
      const evaluating = policy.evaluate(item, around)
      const evaluated = evaluating instanceof Promise ? await evaluating : evaluating
      heaviest = heavierOf(heaviest, evaluated.outcome)
      for (const replacement of evaluated.replacements) replacements.push(replacement)
      const pause = work.pause()
      if (pause) await pause
    }
    outcomes.push(heaviest)
  }
  const verdict = verdictOf(outcomes.map(({ result }) => result))
  // Denied requests are redacted too, so that their stored record holds no more than an allowed
  // one.
  const redactions = items.map(({ item, replacements }) => redactionsOf(item, replacements))
  return { verdict, outcomes, redactions }
}

/** A denial outweighs an escalation: no person can approve what a policy denies. */
export function verdictOf(results: readonly PolicyResult[]): Verdict {
  if (results.includes('denied')) return 'denied'
  return results.includes('escalated') ? 'escalated' : 'allowed'
}

const newItem = (
  operation: string,
  context: Context,
): { readonly item: GateRequest; readonly replacements: Replacement[] } => ({
  item: gateRequest(operation, context),
  replacements: [],
})

const NONE: Redactions = {}

/**
 * The value to use: the given one, or the redacted one in the given one's shape. A text stays a
 * text, a list of texts a list of texts, and an object an object.
 */
export function redactedOr<T>(redactions: Redactions | undefined, key: string, given: T): T {
  const value = redactions?.[key]
  if (value === undefined) return given
  if (!isAlike(value, given)) throw new Error(`the redacted ${key} has another shape`)
  return value
}

const isAlike = <T>(value: unknown, given: T): value is T & {} =>
  typeof value === typeof given && Array.isArray(value) === Array.isArray(given)

function redactionsOf(item: GateRequest, all: readonly Replacement[]): Redactions {
  if (all.length === 0) return NONE
  const values: Record<string, unknown> = {}
  for (const [field, replacements] of Map.groupBy(all, (replacement) => replacement.field))
    values[field] = replaceIn(valueAt(item, field), replacements)
  return values
}
