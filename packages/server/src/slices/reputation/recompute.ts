// Recomputes every aggregate of a tenant from its log alone, and compares it with the tables.

import { createHash } from 'node:crypto'
import type { EventPayload, EventType } from '@custos/contract'
import { canonicalize } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { scoreOf } from './agent-score.ts'
import { errorOf } from './changes.ts'
import { effectOf, isScored, resolves, squaredError } from './evidence.ts'
import { listAllAgents } from './rows/agents.sql.ts'
import { hexOf, hexOrNull } from './rows/labels.ts'
import {
  listAllDecisions,
  listAllOutcomes,
  listAllReviewers,
  listAllReviews,
  listEntries,
  listLive,
} from './rows/recompute.sql.ts'

/** Two values that should be equal but are not. */
interface Difference {
  readonly table: string
  /** A label, or a log position. */
  readonly id: string
  readonly what: string
}

export interface RecomputeResult {
  /** The number of log entries that were replayed. */
  readonly entries: number
  readonly decisions: number
  readonly outcomes: number
  readonly reviews: number
  readonly agents: number
  /** The SHA-256 over every agent's replayed score: equal logs have equal digests. */
  readonly scores_digest: string
  readonly differences: readonly Difference[]
}

const PAGE = 2_000
const DIFFERENCES_MAX = 100

/** Recomputes on one snapshot. */
export async function recompute(
  db: TenantDb,
  progress: (entry: number) => void = () => {},
): Promise<RecomputeResult> {
  const replay = new Replay()
  const entries = await replayLog(db, replay, progress)
  const totals = replay.totals()
  const differences: Difference[] = []
  for await (const found of compareAll(db, replay, totals)) {
    differences.push(found)
    if (differences.length === DIFFERENCES_MAX) break
  }
  const reviews = [...replay.reviews.values()].reduce((sum, { size }) => sum + size, 0)
  return {
    entries,
    decisions: replay.decisions.size,
    outcomes: replay.outcomes.size,
    reviews,
    agents: totals.agents.size,
    scores_digest: digestScores(totals),
    differences,
  }
}

async function replayLog(
  db: TenantDb,
  replay: Replay,
  progress: (entry: number) => void,
): Promise<number> {
  let entries = 0
  for (let after = -1; ; ) {
    const rows = await listEntries(db, after, PAGE)
    for (const { seq, record } of rows) {
      after = seq
      if (!record.includes('"event_type":"cgr.')) continue
      replay.add(JSON.parse(record))
      entries += 1
    }
    progress(after)
    if (rows.length < PAGE) return entries
  }
}

/** Hashes each score with all of its inputs, ordered by the agents' labels. */
function digestScores(totals: Totals): string {
  const hash = createHash('sha256')
  for (const [identity, agent] of [...totals.agents].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const weighed = [...(totals.live.get(identity) ?? [])].map(([name, live]) => {
      const reviewer = totals.reviewers.get(name)
      const error_e12 = reviewer?.error_e12 ?? 0n
      return {
        agent_no: agent.agent_no,
        reviewer_no: reviewer?.reviewer_no ?? -1,
        ...live,
        observations: reviewer?.observations ?? 0,
        ...partsOf(error_e12),
      }
    })
    const row = { ...agent, identity: new Uint8Array(), dimension: new Uint8Array() }
    const score = scoreOf({ ...row, kind: agent.known_by, anchor: null }, weighed)
    hash.update(canonicalize({ identity, ...score }))
  }
  return hash.digest('hex')
}

const UNIT_E12 = 1_000_000_000_000n

const partsOf = (error_e12: bigint) => ({
  error_ones: Number(error_e12 / UNIT_E12),
  error_parts: Number(error_e12 % UNIT_E12),
})

async function* compareAll(
  db: TenantDb,
  replay: Replay,
  totals: Totals,
): AsyncGenerator<Difference> {
  const reviewerOf = new Map<number, string>()
  for (const [name, { reviewer_no }] of totals.reviewers) reviewerOf.set(reviewer_no, name)
  yield* compareAgents(db, totals, reviewerOf)
  yield* compareReviewers(db, totals)
  yield* compareDecisions(db, replay, totals)
  yield* compareOutcomes(db, replay)
  yield* compareReviews(db, { replay, totals, reviewerOf })
}

/** Reports the members in which the two rows differ. */
function* unequal(
  at: { table: string; id: string },
  stored: Readonly<Record<string, unknown>>,
  replayed: Readonly<Record<string, unknown>> | undefined,
): Generator<Difference> {
  if (!replayed) {
    yield { ...at, what: 'is in the table and not on the log' }
    return
  }
  for (const [name, value] of Object.entries(stored))
    if (value !== replayed[name])
      yield { ...at, what: `${name} is ${String(value)}, the log gives ${String(replayed[name])}` }
}

function* missing(table: string, expected: number, seen: number): Generator<Difference> {
  if (expected !== seen)
    yield { table, id: '-', what: `the log gives ${expected} rows, the table has ${seen}` }
}

async function* compareAgents(
  db: TenantDb,
  totals: Totals,
  reviewerOf: ReadonlyMap<number, string>,
): AsyncGenerator<Difference> {
  let [seen, seenLive] = [0, 0]
  for (let after = -1; ; ) {
    const rows = await listAllAgents(db, after, PAGE)
    const end = rows.length < PAGE ? undefined : rows.at(-1)?.agent_no
    const live = await listLive(db, after + 1, end ?? Number.MAX_SAFE_INTEGER)
    const identityOf = new Map(rows.map((row) => [row.agent_no, hexOf(row.identity)]))
    for (const { identity, kind, dimension, anchor, ...row } of rows) {
      const id = hexOf(identity)
      const labels = { known_by: kind, dimension: hexOf(dimension), anchor: hexOrNull(anchor) }
      yield* unequal(
        { table: 'cgr_agents', id },
        { ...row, ...labels },
        asRecord(totals.agents.get(id)),
      )
      after = row.agent_no
    }
    for (const { agent_no, reviewer_no, ...row } of live) {
      const ofAgent = totals.live.get(identityOf.get(agent_no) ?? '')
      const replayed = ofAgent?.get(reviewerOf.get(reviewer_no) ?? '')
      const id = `${agent_no} ${reviewer_no}`
      yield* unequal({ table: 'cgr_live_reviews', id }, row, replayed && { ...replayed })
    }
    seen += rows.length
    seenLive += live.length
    if (rows.length < PAGE) break
  }
  yield* missing('cgr_agents', totals.agents.size, seen)
  const expected = [...totals.live.values()].reduce((sum, { size }) => sum + size, 0)
  yield* missing('cgr_live_reviews', expected, seenLive)
}

async function* compareReviewers(db: TenantDb, { reviewers }: Totals): AsyncGenerator<Difference> {
  let seen = 0
  for (let after = -1; ; ) {
    const rows = await listAllReviewers(db, after, PAGE)
    for (const row of rows) {
      const id = hexOf(row.name)
      const { reviewer_no, observations } = row
      const error_e12 = errorOf(row)
      const stored = { reviewer_no, observations, error_e12, anchor: hexOrNull(row.anchor) }
      yield* unequal({ table: 'cgr_reviewers', id }, stored, asRecord(reviewers.get(id)))
      after = reviewer_no
    }
    seen += rows.length
    if (rows.length < PAGE) break
  }
  yield* missing('cgr_reviewers', reviewers.size, seen)
}

const asRecord = (value: object | undefined) => value && { ...value }

async function* compareDecisions(
  db: TenantDb,
  replay: Replay,
  totals: Totals,
): AsyncGenerator<Difference> {
  let seen = 0
  for (let after = -1; ; ) {
    const rows = await listAllDecisions(db, after, PAGE)
    for (const row of rows) {
      const logged = replay.decisions.get(row.seq)
      const agent_no = logged && totals.agents.get(logged.agent)?.agent_no
      const stored = {
        decision_id: hexOf(row.decision_id),
        agent_no: row.agent_no,
        referent: hexOrNull(row.referent),
        decision: row.decision,
        tag: row.tag,
        current: row.current === 1,
        handle: hexOf(row.handle),
        anchor: hexOrNull(row.anchor),
      }
      const at = { table: 'cgr_decisions', id: String(row.seq) }
      yield* unequal(at, stored, logged && { ...logged, agent_no })
      after = row.seq
    }
    seen += rows.length
    if (rows.length < PAGE) break
  }
  yield* missing('cgr_decisions', replay.decisions.size, seen)
}

async function* compareOutcomes(db: TenantDb, { outcomes }: Replay): AsyncGenerator<Difference> {
  let seen = 0
  for (let after: Uint8Array = Buffer.alloc(0); ; ) {
    const rows = await listAllOutcomes(db, after, PAGE)
    for (const { referent, outcome, seq, ...row } of rows) {
      const stored = {
        outcome,
        seq,
        event_at: formatTime(row.event_us),
        reporter: hexOrNull(row.reporter),
        content: hexOf(row.content),
      }
      const id = hexOf(referent)
      yield* unequal({ table: 'cgr_outcomes', id }, stored, asRecord(outcomes.get(id)))
      after = referent
    }
    seen += rows.length
    if (rows.length < PAGE) break
  }
  yield* missing('cgr_outcomes', outcomes.size, seen)
}

async function* compareReviews(
  db: TenantDb,
  {
    replay,
    totals,
    reviewerOf,
  }: {
    readonly replay: Replay
    readonly totals: Totals
    readonly reviewerOf: ReadonlyMap<number, string>
  },
): AsyncGenerator<Difference> {
  const { reviews } = replay
  let seen = 0
  let after: { referent: Uint8Array; reviewer_no: number } = {
    referent: Buffer.alloc(0),
    reviewer_no: -1,
  }
  for (;;) {
    const rows = await listAllReviews(db, after, PAGE)
    for (const { referent, reviewer_no, rating_e6, seq, ...row } of rows) {
      const stored = {
        seq,
        rating_e6,
        agent_no: row.agent_no,
        event_at: formatTime(row.event_us),
        content: hexOf(row.content),
        handle: hexOrNull(row.handle),
      }
      const replayed = reviews.get(hexOf(referent))?.get(reviewerOf.get(reviewer_no) ?? '')
      const agent = replayed ? replay.agentOf(replayed) : null
      const agent_no = agent === null ? null : totals.agents.get(agent)?.agent_no
      const id = `${hexOf(referent)} ${reviewer_no}`
      yield* unequal({ table: 'cgr_reviews', id }, stored, replayed && { ...replayed, agent_no })
      after = { referent, reviewer_no }
    }
    seen += rows.length
    if (rows.length < PAGE) break
  }
  const expected = [...reviews.values()].reduce((sum, { size }) => sum + size, 0)
  yield* missing('cgr_reviews', expected, seen)
}

/** A log entry. `appendCrumb` wrote it and checked the payload of its type. */
type Entry = {
  [E in EventType]: {
    readonly seq: number
    readonly event_type: E
    readonly subject: string
    readonly payload: EventPayload<E>
  }
}[EventType]

interface LoggedDecision extends EventPayload<'cgr.decision_recorded'> {
  readonly seq: number
  readonly decision_id: string
  current: boolean
}

interface LoggedReview extends EventPayload<'cgr.review_recorded'> {
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

/** All aggregates, keyed by hex label. */
interface Totals {
  readonly agents: ReadonlyMap<string, AgentTotals>
  readonly reviewers: ReadonlyMap<string, ReviewerTotals>
  /** Keyed by agent, then by reviewer. */
  readonly live: ReadonlyMap<string, ReadonlyMap<string, LiveTotals>>
}

class Replay {
  readonly decisions = new Map<number, LoggedDecision>()
  readonly outcomes = new Map<
    string,
    EventPayload<'cgr.outcome_recorded'> & { readonly seq: number }
  >()
  /** Keyed by referent, then by reviewer. */
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

  #decide(seq: number, decision_id: string, payload: EventPayload<'cgr.decision_recorded'>): void {
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

  #review(seq: number, referent: string, payload: EventPayload<'cgr.review_recorded'>): void {
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

  /** The agent of the decision that a review is limited to, or `null` if it is not limited. */
  agentOf({ decision_id }: LoggedReview): string | null {
    return decision_id === null ? null : (this.#agentOf.get(decision_id) ?? '')
  }

  /** Computes the totals from the records that are valid at the end of the log. */
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

  // The rule of evidence.ts, for labels in hex. A test compares the two.
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
