// The oracle: computes from the trace alone what a conforming store would answer.

import type { PlacedTurn, Trace, TraceFact, Turn } from '../workloads/trace.ts'
import { turnsInOrder } from '../workloads/trace.ts'

/** Why a fact must not be in an answer. */
export type ForbiddenReason = 'not_yet_written' | 'deleted' | 'foreign' | 'not_valid_then'

export type Expectation = {
  readonly turn_id: string
  /** Every fact of the slot that is valid then: a perfect answer contains all of them. */
  readonly required: readonly string[]
  /** Facts of the trace that no answer to this question may contain, and why. */
  readonly forbidden: ReadonlyMap<string, ForbiddenReason>
}

/** The expected answer of each question, by turn. */
export function expectationsOf(trace: Trace): ReadonlyMap<string, Expectation> {
  const state = startState(trace)
  const expected = new Map<string, Expectation>()
  for (const placed of turnsInOrder(trace)) {
    applyTurn(state, placed.turn)
    if (placed.turn.role === 'agent_query')
      expected.set(placed.turn.turn_id, expectationAt(state, placed))
  }
  return expected
}

type OracleState = {
  readonly facts: ReadonlyMap<string, TraceFact>
  readonly introduced: Set<string>
  readonly deleted: Map<string, string>
}

export function startState(trace: Trace): OracleState {
  const facts = new Map(trace.facts.map((fact) => [fact.fact_id, fact]))
  return { facts, introduced: new Set(), deleted: new Map() }
}

/**
 * Applies the writes and deletions of a turn. The effect of a concurrent transaction is known only
 * from its result, so it does not change what is expected.
 */
export function applyTurn(state: OracleState, turn: Turn): void {
  if (turn.txn_id !== null) return
  for (const id of turn.introduces) {
    if (!state.facts.has(id)) throw new Error(`the trace introduces an unknown fact ${id}`)
    state.introduced.add(id)
  }
  for (const id of turn.deletes) state.deleted.set(id, turn.timestamp)
}

/** The expected answer to a question at this point of the trace. */
export function expectationAt(state: OracleState, { turn, session }: PlacedTurn): Expectation {
  const at = turn.as_of ?? turn.timestamp
  const required: string[] = []
  const forbidden = new Map<string, ForbiddenReason>()
  for (const fact of state.facts.values()) {
    const wrong = forbiddenReason(state, fact, { at, tenant_id: session.tenant_id })
    if (wrong !== null) forbidden.set(fact.fact_id, wrong)
    else if (fact.subject === turn.asks?.subject && fact.predicate === turn.asks.predicate)
      required.push(fact.fact_id)
  }
  return { turn_id: turn.turn_id, required, forbidden }
}

function forbiddenReason(
  state: OracleState,
  fact: TraceFact,
  { at, tenant_id }: { at: string; tenant_id: string | null },
): ForbiddenReason | null {
  if (!state.introduced.has(fact.fact_id)) return 'not_yet_written'
  if (state.deleted.has(fact.fact_id)) return 'deleted'
  if (fact.tenant_id !== tenant_id) return 'foreign'
  const until = effectiveUntil(state, fact)
  const holds = fact.valid_from <= at && (until === null || at < until)
  return holds ? null : 'not_valid_then'
}

/**
 * When a version stops being valid, given the writes so far: when its successor begins. If every
 * later version is deleted, it is open again; if only the next is deleted, the gap stays (rule O2).
 */
function effectiveUntil({ facts, introduced, deleted }: OracleState, fact: TraceFact) {
  if (fact.superseded_by === null) return fact.valid_until
  let until: string | null = null
  for (let id: string | null = fact.superseded_by; id !== null; ) {
    const next = facts.get(id)
    if (!next || !introduced.has(id)) break
    until ??= next.valid_from
    if (!deleted.has(id)) return until
    id = next.superseded_by
  }
  return null
}

/** Version chains of two or more versions, oldest first. */
export function chainsOf(trace: Trace): string[][] {
  const facts = new Map(trace.facts.map((fact) => [fact.fact_id, fact]))
  const later = new Set(trace.facts.map((fact) => fact.superseded_by))
  const heads = trace.facts.filter((f) => !later.has(f.fact_id) && f.superseded_by !== null)
  return heads.map((oldest) => {
    const chain: string[] = []
    for (let at: TraceFact | undefined = oldest; at; at = facts.get(at.superseded_by ?? ''))
      chain.push(at.fact_id)
    return chain
  })
}

/** The oracle's results for a whole trace, in the form of the public traces' ground truth. */
export type GroundTruth = {
  /** The facts each question requires, by turn. */
  readonly recall_targets: ReadonlyMap<string, readonly string[]>
  readonly superseded_chains: readonly (readonly string[])[]
  /** Facts by namespace; facts without a namespace are not included. */
  readonly tenant_partitions: ReadonlyMap<string, readonly string[]>
  /** When a fact was deleted. */
  readonly deleted_facts: ReadonlyMap<string, string>
}

export function groundTruthOf(trace: Trace): GroundTruth {
  const state = startState(trace)
  for (const { turn } of turnsInOrder(trace)) applyTurn(state, turn)
  const partitions = Map.groupBy(trace.facts, ({ tenant_id }) => tenant_id)
  return {
    recall_targets: new Map(
      [...expectationsOf(trace)].map(([turn_id, { required }]) => [turn_id, required]),
    ),
    superseded_chains: chainsOf(trace),
    tenant_partitions: new Map(
      [...partitions].flatMap(([tenant_id, facts]) =>
        tenant_id === null ? [] : [[tenant_id, facts.map(({ fact_id }) => fact_id)] as const],
      ),
    ),
    deleted_facts: state.deleted,
  }
}
