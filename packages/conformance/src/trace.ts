// What a workload is: facts, and turns that introduce, delete and ask for them. The fields that
// public traces have too are called as there, so that both can be replayed and judged alike.

export type TraceFact = {
  readonly fact_id: string
  readonly subject: string
  readonly predicate: string
  readonly object: string
  /** 0..1 */
  readonly importance: number
  readonly tenant_id: string | null
  readonly valid_from: string
  readonly valid_until: string | null
  readonly superseded_by: string | null
}

/** What a question is about: every fact on it that is valid then is an answer. */
export type Slot = { readonly subject: string; readonly predicate: string }

export type Turn = {
  readonly turn_id: string
  readonly role: 'user' | 'agent_query'
  readonly content: string
  readonly timestamp: string
  readonly introduces: readonly string[]
  readonly deletes: readonly string[]
  /** Of a question only. */
  readonly asks: Slot | null
  readonly as_of: string | null
  /** The transaction it belongs to, in a group that runs at once. */
  readonly txn_id: string | null
}

export type Session = {
  readonly session_id: string
  readonly tenant_id: string | null
  readonly turns: readonly Turn[]
}

export type Trace = {
  readonly workload: string
  readonly seed: number
  readonly facts: readonly TraceFact[]
  readonly sessions: readonly Session[]
}

/** A turn with the session that it is of. */
export type PlacedTurn = { readonly turn: Turn; readonly session: Session }

/** All turns by time, then session, then place in it. */
export function turnsInOrder(trace: Trace): PlacedTurn[] {
  return trace.sessions
    .flatMap((session, s) => session.turns.map((turn, t) => ({ turn, session, s, t })))
    .sort((a, b) => order(a.turn.timestamp, b.turn.timestamp) || a.s - b.s || a.t - b.t)
    .map(({ turn, session }) => ({ turn, session }))
}

// All times of a trace have one form, in UTC, so they compare as text.
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Sorts a version under the one that it replaces. */
export function predecessorsOf(trace: Trace): ReadonlyMap<string, string> {
  return new Map(
    trace.facts.flatMap((fact) =>
      fact.superseded_by === null ? [] : [[fact.superseded_by, fact.fact_id] as const],
    ),
  )
}
