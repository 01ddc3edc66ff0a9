// Replays a GMP workload trace over HTTP and scores it as the public suite does.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Fact {
  readonly fact_id: string
  readonly subject: string
  readonly predicate: string
  readonly superseded_by: string | null
  readonly tenant_id: string | null
  readonly valid_from: string
}

interface Turn {
  readonly turn_id: string
  readonly role: string
  readonly content: string
  readonly timestamp: string
  readonly introduces: readonly string[]
  readonly deletes: readonly string[]
  readonly requires: readonly string[]
  readonly as_of: string | null
}

export interface Trace {
  readonly workload: string
  readonly facts: readonly Fact[]
  readonly sessions: readonly {
    readonly tenant_id: string | null
    readonly turns: readonly Turn[]
  }[]
}

/** Scores over the queries of a trace. */
export interface Scores {
  queries: number
  /** Mean share of the required facts that came back. */
  recall: number
  recall_current: number
  recall_historical: number
  /** Share of the current queries that returned a superseded version. */
  stale: number
  /** Share of the queries that returned a deleted fact. */
  deleted: number
  /** Share of the queries that returned another tenant's fact. */
  foreign: number
}

export interface Store {
  write(content: string, options: Record<string, unknown>): Promise<unknown>
  supersede(old: unknown, content: string, options: Record<string, unknown>): Promise<unknown>
  erase(ref: unknown): Promise<void>
  retrieve(query: string, options: Record<string, unknown>): Promise<unknown[]>
}

const folder = join(import.meta.dirname, '../../../../shared/data/gmp-traces')

/** The trace, or null where the data sets are not present. */
export function loadTrace(name: string): Trace | null {
  const path = join(folder, `${name}.json`)
  // Public data in the documented format.
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Trace) : null
}

interface Replay {
  readonly facts: ReadonlyMap<string, Fact>
  readonly predecessor: ReadonlyMap<string, string>
  readonly refOf: Map<string, unknown>
  readonly factOf: Map<unknown, string>
  readonly deleted: Set<string>
}

/** Replays in the order of time and returns the scores. */
export async function replay(trace: Trace, store: Store): Promise<Scores> {
  const state: Replay = {
    facts: new Map(trace.facts.map((fact) => [fact.fact_id, fact])),
    predecessor: new Map(
      trace.facts.flatMap((f) => (f.superseded_by ? [[f.superseded_by, f.fact_id] as const] : [])),
    ),
    refOf: new Map(),
    factOf: new Map(),
    deleted: new Set(),
  }
  const turns = trace.sessions
    .flatMap(({ tenant_id, turns }, session) =>
      turns.map((turn, index) => ({ turn, tenant_id, session, index })),
    )
    .sort(
      (a, b) =>
        order(a.turn.timestamp, b.turn.timestamp) || a.session - b.session || a.index - b.index,
    )
  const results: QueryResult[] = []
  for (const { turn, tenant_id } of turns) {
    for (const fact_id of turn.introduces) await introduce(state, store, fact_id, turn.content)
    for (const fact_id of turn.deletes) await forget(state, store, fact_id)
    if (turn.role === 'agent_query') results.push(await ask(state, store, turn, tenant_id))
  }
  return score(results)
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

async function introduce(state: Replay, store: Store, fact_id: string, content: string) {
  const fact = state.facts.get(fact_id)
  if (!fact) throw new Error(`the trace introduces an unknown fact ${fact_id}`)
  const options = {
    valid_from: fact.valid_from,
    tenant_id: fact.tenant_id,
    metadata: { subject: fact.subject, predicate: fact.predicate },
  }
  const before = state.predecessor.get(fact_id)
  const old = before === undefined ? undefined : state.refOf.get(before)
  const ref =
    old === undefined
      ? await store.write(content, options)
      : await store.supersede(old, content, options)
  state.refOf.set(fact_id, ref)
  state.factOf.set(ref, fact_id)
}

async function forget(state: Replay, store: Store, fact_id: string): Promise<void> {
  await store.erase(state.refOf.get(fact_id))
  state.deleted.add(fact_id)
}

interface QueryResult {
  readonly historical: boolean
  readonly recall: number | null
  readonly stale: boolean
  readonly deleted: boolean
  readonly foreign: boolean
}

async function ask(
  state: Replay,
  store: Store,
  turn: Turn,
  tenant_id: string | null,
): Promise<QueryResult> {
  const refs = await store.retrieve(turn.content, {
    budget_tokens: 512,
    as_of: turn.as_of,
    tenant_id,
    top_k: null,
  })
  const got = new Set(refs.map((ref) => state.factOf.get(ref) ?? 'unknown'))
  const wanted = turn.requires.filter((fact_id) => !state.deleted.has(fact_id))
  const successors = (fact_id: string) => state.facts.get(fact_id)?.superseded_by
  const present = [...got]
  return {
    historical: turn.as_of !== null,
    recall: wanted.length === 0 ? null : wanted.filter((id) => got.has(id)).length / wanted.length,
    stale:
      turn.as_of === null &&
      present.some((id) => {
        const next = successors(id)
        return next != null && state.refOf.has(next)
      }),
    deleted: present.some((id) => state.deleted.has(id)),
    foreign: present.some((id) => (state.facts.get(id)?.tenant_id ?? null) !== tenant_id),
  }
}

function score(results: readonly QueryResult[]): Scores {
  const mean = (numbers: readonly number[]): number =>
    numbers.length === 0 ? 1 : numbers.reduce((sum, n) => sum + n, 0) / numbers.length
  const recalls = (of: readonly QueryResult[]) =>
    mean(of.flatMap((result) => (result.recall === null ? [] : [result.recall])))
  const share = (of: (result: QueryResult) => boolean) =>
    results.length === 0 ? 0 : results.filter(of).length / results.length
  return {
    queries: results.length,
    recall: recalls(results),
    recall_current: recalls(results.filter((r) => !r.historical)),
    recall_historical: recalls(results.filter((r) => r.historical)),
    stale: share((r) => r.stale),
    deleted: share((r) => r.deleted),
    foreign: share((r) => r.foreign),
  }
}
