// The data of a workload: facts, and turns that introduce, delete and query them. Fields that exist
// in public traces have the same names, so that the same code replays and evaluates both.

export type TraceFact = {
  readonly fact_id: string
  readonly subject: string
  readonly predicate: string
  readonly object: string
  /** Importance from 0 to 1. */
  readonly importance: number
  readonly tenant_id: string | null
  readonly valid_from: string
  readonly valid_until: string | null
  readonly superseded_by: string | null
}

/** The subject of a question: every fact about it that is valid at the time is an answer. */
export type Slot = { readonly subject: string; readonly predicate: string }

export type Turn = {
  readonly turn_id: string
  readonly role: 'user' | 'agent_query'
  readonly content: string
  readonly timestamp: string
  readonly introduces: readonly string[]
  readonly deletes: readonly string[]
  /** Set for questions only. */
  readonly asks: Slot | null
  readonly as_of: string | null
  /** The transaction of the turn, in a group that runs concurrently. */
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

/** A turn with its session. */
export type PlacedTurn = { readonly turn: Turn; readonly session: Session }

/** All turns, sorted by time, then session, then position in the session. */
export function turnsInOrder(trace: Trace): PlacedTurn[] {
  return trace.sessions
    .flatMap((session, s) => session.turns.map((turn, t) => ({ turn, session, s, t })))
    .sort((a, b) => order(a.turn.timestamp, b.turn.timestamp) || a.s - b.s || a.t - b.t)
    .map(({ turn, session }) => ({ turn, session }))
}

// All times of a trace have the same format, in UTC, so they compare as text.
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Maps each fact that replaces another to the replaced one. */
export function predecessorsOf(trace: Trace): ReadonlyMap<string, string> {
  return new Map(
    trace.facts.flatMap((fact) =>
      fact.superseded_by === null ? [] : [[fact.superseded_by, fact.fact_id] as const],
    ),
  )
}
