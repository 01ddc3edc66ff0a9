// Replays a trace against a store and compares its answers with the oracle.

import { type Ref, type RetrieveOptions, refKey, type WriteOptions } from '../client/store.ts'
import {
  type PlacedTurn,
  predecessorsOf,
  type Trace,
  type TraceFact,
  turnsInOrder,
} from '../workloads/trace.ts'
import { applyTurn, expectationAt, type ForbiddenReason, startState } from './oracle.ts'
import type { Metrics } from './result.ts'

/** The operations a replay needs. */
export type ReplayStore = {
  write(content: string, options: WriteOptions): Promise<Ref>
  supersede(old_ref: Ref, content: string, options: WriteOptions): Promise<Ref>
  erase(ref: Ref): Promise<boolean>
  /** Returns refs, best first; all earlier writes are visible. */
  retrieve(query: string, options: RetrieveOptions): Promise<readonly Ref[]>
}

export type ReplayOptions = {
  readonly budget: number
  /** The declared capabilities; requests that need others are skipped or sent without them. */
  readonly declared: ReadonlySet<string>
  /** Called after each turn. */
  readonly on_turn?: () => void
}

export type LeakedFact = { readonly fact_id: string; readonly wrong: ForbiddenReason | 'unknown' }

/** The answer to one question, compared with the oracle. */
export type Observation = {
  readonly turn_id: string
  readonly as_of: string | null
  readonly required: readonly string[]
  /** The facts of `required` that were returned. */
  readonly found: readonly string[]
  readonly leaks: readonly LeakedFact[]
  readonly returned: number
}

export type ReplayResult = {
  readonly observations: readonly Observation[]
  readonly refs: ReadonlyMap<string, Ref>
  readonly facts: ReadonlyMap<string, TraceFact>
  /** Facts whose deletion the store answered with `deleted: false`. */
  readonly not_deleted: readonly string[]
}

/**
 * Replays the turns in order of time. Skips a question with `as_of` if the store does not declare
 * `bi_temporal`, and a deletion if it does not declare `hard_delete`.
 */
export async function replay(
  trace: Trace,
  store: ReplayStore,
  options: ReplayOptions,
): Promise<ReplayResult> {
  const state = startState(trace)
  const before = predecessorsOf(trace)
  const refs = new Map<string, Ref>()
  const observations: Observation[] = []
  const not_deleted: string[] = []
  for (const placed of turnsInOrder(trace)) {
    const { turn } = placed
    applyTurn(state, turn)
    for (const id of turn.introduces) {
      const fact = state.facts.get(id)
      const old = options.declared.has('supersession_chain')
        ? refs.get(before.get(id) ?? '')
        : undefined
      if (fact) refs.set(id, await writeFact(store, fact, { content: turn.content, old, options }))
    }
    for (const id of turn.deletes) {
      const ref = refs.get(id)
      if (ref === undefined || !options.declared.has('hard_delete')) continue
      if (!(await store.erase(ref))) not_deleted.push(id)
    }
    if (turn.role === 'agent_query' && isApplicable(placed, options)) {
      const expected = expectationAt(state, placed)
      const returned = await store.retrieve(turn.content, retrieveOptionsOf(placed, options))
      observations.push(scoreAnswer(placed, expected, { refs, returned }))
    }
    options.on_turn?.()
  }
  return { observations, refs, facts: state.facts, not_deleted }
}

function writeFact(
  store: ReplayStore,
  fact: TraceFact,
  given: { content: string; old: Ref | undefined; options: ReplayOptions },
): Promise<Ref> {
  const { subject, predicate, importance, valid_from } = fact
  const scoped = given.options.declared.has('multi_tenant') && fact.tenant_id !== null
  const options: WriteOptions = {
    valid_from,
    metadata: { subject, predicate, importance },
    ...(scoped ? { tenant_id: fact.tenant_id } : {}),
  }
  return given.old === undefined
    ? store.write(given.content, options)
    : store.supersede(given.old, given.content, options)
}

const isApplicable = ({ turn }: PlacedTurn, { declared }: ReplayOptions): boolean =>
  turn.as_of === null || declared.has('bi_temporal')

function retrieveOptionsOf(
  { turn, session }: PlacedTurn,
  { budget, declared }: ReplayOptions,
): RetrieveOptions {
  const scoped = declared.has('multi_tenant') && session.tenant_id !== null
  return {
    budget_tokens: budget,
    as_of: turn.as_of,
    ...(scoped ? { tenant_id: session.tenant_id } : {}),
  }
}

function scoreAnswer(
  { turn }: PlacedTurn,
  { required, forbidden }: ReturnType<typeof expectationAt>,
  { refs, returned }: { refs: ReadonlyMap<string, Ref>; returned: readonly Ref[] },
): Observation {
  const factOf = new Map([...refs].map(([fact_id, ref]) => [refKey(ref), fact_id]))
  const ids = returned.map((ref) => factOf.get(refKey(ref)) ?? refKey(ref))
  const leaks = ids.flatMap((fact_id): LeakedFact[] => {
    const wrong = refs.has(fact_id) ? forbidden.get(fact_id) : 'unknown'
    return wrong === undefined ? [] : [{ fact_id, wrong }]
  })
  return {
    turn_id: turn.turn_id,
    as_of: turn.as_of,
    required,
    found: required.filter((id) => ids.includes(id)),
    leaks,
    returned: returned.length,
  }
}

const mean = (numbers: readonly number[]): number =>
  numbers.length === 0 ? 1 : numbers.reduce((sum, n) => sum + n, 0) / numbers.length

/** Mean share of the required facts that were returned, over questions that require any (M1). */
export function recallOf(observations: readonly Observation[]): number {
  return mean(
    observations.flatMap(({ required, found }) =>
      required.length === 0 ? [] : [found.length / required.length],
    ),
  )
}

/** Mean share of the returned facts that were required, over non-empty answers (M2). */
export function precisionOf(observations: readonly Observation[]): number {
  return mean(
    observations.flatMap(({ found, returned }) =>
      returned === 0 ? [] : [found.length / returned],
    ),
  )
}

/** Share of the answers that contain a fact that is forbidden for one of these reasons. */
export function leakageOf(
  observations: readonly Observation[],
  reasons: readonly LeakedFact['wrong'][],
): number {
  if (observations.length === 0) return 0
  const leaky = observations.filter(({ leaks }) =>
    leaks.some(({ wrong }) => reasons.includes(wrong)),
  )
  return leaky.length / observations.length
}

export const scoresOf = (observations: readonly Observation[]): Metrics => ({
  queries: observations.length,
  recall: rounded(recallOf(observations)),
  precision: rounded(precisionOf(observations)),
})

/** Rounds to six decimals, more than the precision of any of these numbers. */
export const rounded = (share: number): number => Math.round(share * 1e6) / 1e6
