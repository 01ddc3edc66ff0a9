// All policies of a tenant on one request, or on the items of one: outcomes, verdict, redactions.

import type { PolicyResult } from '@custos/contract'
import { heavierOf, type Outcome } from './outcome.ts'
import type { CompiledPolicy } from './policy.ts'
import { type Context, type GateRequest, gateRequest, valueAt } from './request.ts'
import { makeWork } from './rule.ts'
import { type Replacement, replaceIn } from './searchable.ts'

export type Verdict = 'allowed' | 'denied' | 'escalated'

/** Values to use instead of those given, by field. */
export type Redactions = Readonly<Record<string, unknown>>

interface SetRequest {
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

/** The result of a policy for a request without items. */
const UNCONCERNED: Outcome = { result: 'allowed', applicable: false, detail: null }

/**
 * Pure: the same policies, request and rates give the same answer. Other requests run in between
 * where it takes long.
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
  // Also for a denied request, so that its stored record holds no more than an allowed one.
  const redactions = items.map(({ item, replacements }) => redactionsOf(item, replacements))
  return { verdict, outcomes, redactions }
}

/** What one policy denies no person can approve. */
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
 * The value to use: as given, or as policies redacted it. What is not text keeps its shape, so
 * that a text stays a text, a list of texts one, and an object an object.
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
