// The state of reputation as the log alone tells it: a fold over its entries, without a table.

import type { EventPayload, EventType } from '@custos/contract'
import { effectOf, isScored, resolves, squaredError } from './evidence.ts'

type Payload<E extends EventType> = EventPayload<E>

/** An entry of the log: written by appendCrumb, which checks the payload of each type. */
type Entry = {
  [E in EventType]: {
    readonly seq: number
    readonly event_type: E
    readonly subject: string
    readonly payload: Payload<E>
  }
}[EventType]

interface LoggedDecision extends Payload<'cgr.decision_recorded'> {
  readonly seq: number
  readonly decision_id: string
  current: boolean
}

interface LoggedReview extends Payload<'cgr.review_recorded'> {
  readonly seq: number
  readonly referent: string
}

interface AgentTotals {
  readonly agent_no: number
  readonly dimension: string
  readonly known_by: string
  readonly anchor: string | null
  newest_seq: number
  n_success: number
  n_failure: number
  n_pending: number
  n_unscored: number
}

interface ReviewerTotals {
  readonly reviewer_no: number
  readonly anchor: string | null
  observations: number
  error_e12: bigint
}

interface LiveTotals {
  count: number
  rating_sum_e6: number
}

/** Every aggregate, by label in hex. */
export interface Totals {
  readonly agents: ReadonlyMap<string, AgentTotals>
  readonly reviewers: ReadonlyMap<string, ReviewerTotals>
  /** By agent, then by reviewer. */
  readonly live: ReadonlyMap<string, ReadonlyMap<string, LiveTotals>>
}

export class Replay {
  readonly decisions = new Map<number, LoggedDecision>()
  readonly outcomes = new Map<string, Payload<'cgr.outcome_recorded'> & { readonly seq: number }>()
  /** By referent, then by reviewer. */
  readonly reviews = new Map<string, Map<string, LoggedReview>>()
  readonly #agents = new Map<string, AgentTotals>()
  readonly #reviewers = new Map<string, ReviewerTotals>()
  readonly #current = new Map<string, LoggedDecision>()
  readonly #agentOf = new Map<string, string>()

  add({ seq, event_type, subject, payload }: Entry): void {
    if (event_type === 'cgr.decision_recorded') this.#decide(seq, subject, payload)
    else if (event_type === 'cgr.outcome_recorded') this.outcomes.set(subject, { seq, ...payload })
    else if (event_type === 'cgr.review_recorded') this.#review(seq, subject, payload)
  }

  #decide(seq: number, decision_id: string, payload: Payload<'cgr.decision_recorded'>): void {
    const decision = { seq, decision_id, ...payload, current: true }
    const { agent, referent, dimension, known_by, anchor } = decision
    this.decisions.set(seq, decision)
    this.#agentOf.set(decision_id, agent)
    const known = this.#agents.get(agent)
    const counts = { n_success: 0, n_failure: 0, n_pending: 0, n_unscored: 0 }
    if (known) known.newest_seq = seq
    else {
      const row = { agent_no: seq, dimension, known_by, anchor, newest_seq: seq, ...counts }
      this.#agents.set(agent, row)
    }
    if (referent === null) return
    const key = `${agent} ${referent}`
    const previous = this.#current.get(key)
    if (previous) previous.current = false
    this.#current.set(key, decision)
  }

  #review(seq: number, referent: string, payload: Payload<'cgr.review_recorded'>): void {
    const { reviewer, reviewer_key: anchor } = payload
    if (!this.#reviewers.has(reviewer))
      this.#reviewers.set(reviewer, { reviewer_no: seq, anchor, observations: 0, error_e12: 0n })
    let reviews = this.reviews.get(referent)
    if (!reviews) {
      reviews = new Map()
      this.reviews.set(referent, reviews)
    }
    reviews.set(reviewer, { seq, referent, ...payload })
  }

  /** The agent of the decision that a review is limited to; null: of none. */
  agentOf({ decision_id }: LoggedReview): string | null {
    return decision_id === null ? null : (this.#agentOf.get(decision_id) ?? '')
  }

  /** Recomputes the totals from the records that are valid at the end. */
  totals(): Totals {
    const live = new Map<string, Map<string, LiveTotals>>()
    for (const decision of this.decisions.values())
      if (decision.current) this.#countDecision(decision, live)
    for (const reviews of this.reviews.values())
      for (const review of reviews.values()) this.#countObservation(review)
    return { agents: this.#agents, reviewers: this.#reviewers, live }
  }

  #countDecision(decision: LoggedDecision, live: Map<string, Map<string, LiveTotals>>): void {
    const agent = this.#agents.get(decision.agent)
    if (!agent || !isScored(decision)) return
    const { referent } = decision
    const effect = effectOf(referent === null ? undefined : this.outcomes.get(referent)?.outcome)
    if (effect === 'success') agent.n_success += 1
    else if (effect === 'failure') agent.n_failure += 1
    else agent.n_pending += 1
    if (effect === 'unscored') agent.n_unscored += 1
    if (resolves(effect) || referent === null) return
    for (const review of this.reviews.get(referent)?.values() ?? [])
      if (this.#weighs(review, decision)) addLive(live, decision.agent, review)
  }

  // The rule of evidence.ts over labels in hex: the two are held against each other by a test.
  #weighs(review: LoggedReview, decision: LoggedDecision): boolean {
    const { reviewer, reviewer_key, handle } = review
    const agent = this.agentOf(review)
    if (agent !== null && agent !== decision.agent) return false
    if (agent === null && handle !== null && handle !== decision.handle) return false
    if (reviewer === decision.handle) return false
    return reviewer_key === null || reviewer_key !== decision.anchor
  }

  #countObservation({ referent, reviewer, rating_e6 }: LoggedReview): void {
    const effect = effectOf(this.outcomes.get(referent)?.outcome)
    const totals = this.#reviewers.get(reviewer)
    if (!totals || !resolves(effect)) return
    totals.observations += 1
    totals.error_e12 += squaredError(rating_e6, effect)
  }
}

function addLive(
  live: Map<string, Map<string, LiveTotals>>,
  agent: string,
  { reviewer, rating_e6 }: LoggedReview,
): void {
  let ofAgent = live.get(agent)
  if (!ofAgent) {
    ofAgent = new Map()
    live.set(agent, ofAgent)
  }
  const totals = ofAgent.get(reviewer) ?? { count: 0, rating_sum_e6: 0 }
  totals.count += 1
  totals.rating_sum_e6 += rating_e6
  ofAgent.set(reviewer, totals)
}
