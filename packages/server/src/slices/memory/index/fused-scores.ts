// The score of each visible fact: its words and vector similarity, adjusted for its speaker, its
// message and its session. In whole score units, so that scores are the same on every machine.

import { speakerFeature } from '../text/analysis.ts'
import { type DateRange, isWithin } from '../text/date-expressions.ts'
import { NO_SESSION, NO_SLOT } from './columns/slot-columns.ts'
import { overSlots, type Steps } from './columns/steps.ts'
import { slotsOf } from './columns/term-index.ts'
import { TopK } from './columns/top-k.ts'
import { confidenceOf, DOT_MAX, logitOf, sumHeaviest, unrelatedLogit } from './confidence.ts'
import {
  computeTermWeight,
  findBestScore,
  type LexicalScores,
  SCORE_UNIT,
  type SearchScratch,
} from './lexical-scores.ts'
import { type Partition, PIECE_TERMS_MIN } from './partition.ts'
import { HIDDEN, ScoreBounds, SESSION, type Share, shareOf } from './score-bounds.ts'

/** The score of two equal vectors, as a share of the best term score of any visible fact. */
const LIKENESS: Share = { numerator: 3, denominator: 2 }
/** Share of the similarity of its more similar neighbour that a fact gets. */
const LENT_LIKENESS: Share = { numerator: 1, denominator: 5 }
/** Added if the query names the fact's speaker, or a speaker whom the fact mentions. */
const SPOKEN: Share = { numerator: 3, denominator: 10 }
const MENTIONED: Share = { numerator: 1, denominator: 5 }
/** Added if the fact is about a day that the query names. */
const DATED: Share = { numerator: 1, denominator: 5 }
/** Deducted from a short question: its asker wants what another fact says. */
const QUESTION: Share = { numerator: 1, denominator: 10 }
const QUESTION_TERMS_MAX = 16
/** Deducted from every piece of a message except the best one. */
const PIECE: Share = { numerator: 1, denominator: 5 }
/** Maximum number of pieces of one message. */
const PIECES_MAX = 16

const LIKENESS_DIVISOR = LIKENESS.denominator * LENT_LIKENESS.denominator * DOT_MAX

/**
 * The parts of a score, which add up to it exactly, in BM25 units, multiples of 2^-16: `lexical`
 * (the fact's own terms), `neighbour` (shares from its session), `dense` (vector similarity,
 * relative to the best term score of any visible fact: its own and a share of a neighbour's),
 * `speaker` and `date` (the query names the speaker or the day), `question` and `message`
 * (negative: a question, a lesser piece of a message), `session` (a share of the best score in its
 * session). `recency` is set only for a query without terms and vector; it is below 2^-16 while a
 * partition has fewer than 65,536 facts.
 */
export interface ScoreParts {
  readonly lexical: number
  readonly neighbour: number
  readonly dense: number
  readonly speaker: number
  readonly date: number
  readonly question: number
  readonly message: number
  readonly session: number
  readonly recency: number
}

/** How a fact relates to a speaker named in the query: it mentions them, or they speak it. */
const MENTIONS = 1
const SPEAKS = 2

export interface FusionInput {
  readonly terms: readonly string[]
  readonly scores: LexicalScores
  readonly visible: Uint8Array
  /** The days named by the query. */
  readonly dates: readonly DateRange[]
  /** `null` if facts are ranked by terms alone. */
  readonly vector: Int8Array | null
  /** True if the vectors are not those of the bundled model. */
  readonly uncalibrated: boolean
  readonly scratch: SearchScratch
}

/** Scores of the visible slots of one search, in score units. Valid until the next search. */
export class FusedScores {
  readonly bestScore: number
  /** Scores by slot without the other facts of message and session; NaN if not computed. */
  readonly #alone: Float64Array
  readonly #partition: Partition
  readonly #scored: FusionInput
  readonly #named: Uint8Array
  #isAnyNamed = false
  // Copied to fields because they are read for every slot.
  readonly #sessions: Int32Array
  readonly #questions: Uint8Array
  readonly #lengths: Uint32Array
  readonly #messages: Uint32Array
  readonly #visible: Uint8Array
  readonly #before: Int32Array
  readonly #after: Int32Array
  readonly #hasDates: boolean
  readonly #dots: Int32Array
  readonly #lexical: Float64Array
  readonly #neighbour: Float64Array
  /** Score per unit of dot product, times LIKENESS_DIVISOR; 0 without a vector. */
  readonly #perDot: number
  /** Weight of the heaviest query terms, in score units. */
  readonly #queryWeight: number
  /** Whether cosines count towards the confidence. */
  readonly #isCalibrated: boolean
  /** Share of the best score in the session, by session. Negative: not computed yet. */
  readonly #sessionBonus: Float64Array
  readonly #bounds: ScoreBounds

  constructor(partition: Partition, scored: FusionInput) {
    this.#partition = partition
    this.#scored = scored
    const { scratch, vector } = scored
    this.bestScore = findBestScore(scored.scores)
    this.#sessions = partition.sessions.sessions
    this.#questions = partition.columns.questions
    this.#lengths = partition.columns.lengths
    this.#messages = partition.columns.messages
    this.#visible = scored.visible
    this.#before = partition.sessions.before
    this.#after = partition.sessions.after
    this.#hasDates = scored.dates.length > 0
    this.#dots = scratch.passes.dots
    this.#lexical = scored.scores.lexical
    this.#neighbour = scored.scores.neighbour
    this.#perDot = vector === null ? 0 : this.bestScore * LIKENESS.numerator
    this.#named = this.#findNamed()
    this.#queryWeight = Math.max(1, this.#weighQuery())
    this.#isCalibrated = vector !== null && !scored.uncalibrated
    this.#sessionBonus = new Float64Array(partition.sessions.count).fill(-1)
    this.#alone = scratch.alone.fill(Number.NaN, 0, partition.columns.used)
    this.#bounds = new ScoreBounds(partition, scratch.passes, this.#findFactors())
  }

  /** Compares the vectors. Must run before the other methods. */
  *prepare(): Steps<void> {
    const { vector } = this.#scored
    const { columns, vectors } = this.#partition
    if (vector !== null) yield* vectors.denseScores(vector, columns.used, this.#dots)
  }

  /**
   * Whether no visible fact is related to the query: none has a query word, its own or a
   * neighbour's, none is of a day that it names, and none is similar.
   */
  *areUnrelated(): Steps<boolean> {
    const { visible, vector, scores, dates } = this.#scored
    if (scores.matched.size > 0) return false
    const { days, used } = this.#partition.columns
    let [bestLogit, facts, isDated] = [Number.NEGATIVE_INFINITY, 0, false]
    yield* overSlots(used, (from, to) => {
      for (let slot = from; slot < to; slot++) {
        if (visible[slot] === 0) continue
        facts++
        bestLogit = Math.max(bestLogit, this.#logitOf(slot))
        isDated ||= this.#hasDates && isWithin(dates, days[slot] ?? 0)
      }
    })
    if (isDated) return false
    return vector === null || bestLogit < unrelatedLogit(facts)
  }

  /**
   * Returns the best `limit` visible slots by score, then by ref. One pass drops the slots whose
   * score is certainly below that of `limit` others; the remaining scores are computed.
   */
  *findBest(limit: number): Steps<TopK> {
    const { candidates, rests } = this.#scored.scratch
    const { refs } = this.#partition.columns
    const lowest = yield* this.#findCandidates(limit)
    const best = new TopK(limit)
    for (let at = 0; at < candidates.size; at++) {
      const slot = candidates.at(at)
      const bound = (rests[at] ?? 0) + this.#bounds.bonusMax(slot, this.#scoreAlone(slot))
      if (bound < lowest || (best.full && bound < best.lowest)) continue
      // The first slot of a session computes the bonus of the whole session.
      if ((this.#sessionBonus[this.#sessions[slot] ?? NO_SESSION] ?? 0) < 0) yield
      best.offer((rests[at] ?? 0) + this.#sessionBonusOf(slot), refs[slot] ?? 0, slot)
    }
    return best
  }

  /**
   * Fills the candidates of the scratch with their scores without the session share; returns a
   * lower bound of the best `limit` scores. Inspects a fact by itself only if bounds over all facts
   * do not exclude it.
   */
  *#findCandidates(limit: number): Steps<number> {
    const { scratch, visible } = this.#scored
    const { candidates, rests } = scratch
    const { refs } = this.#partition.columns
    const bounds = this.#bounds
    const bests = new Float64Array(this.#sessionBonus.length).fill(HIDDEN)
    let lowest = this.#findLeast(yield* bounds.sumUp(visible, limit), limit, bests)
    const least = new TopK(limit)
    yield* bounds.select(lowest, bests, (slot) => {
      const sum = bounds.sums[slot] ?? HIDDEN
      const session = this.#sessions[slot] ?? NO_SESSION
      const best = bests[session] ?? HIDDEN
      if (best !== HIDDEN && bounds.aloneMax(sum) >= best)
        bests[session] = Math.max(best, this.#scoreAlone(slot))
      const most = bounds.aloneBeside(sum, this.#aroundOf(slot))
      if (most + bounds.bonusMax(slot, most) < lowest) return
      const alone = this.#scoreAlone(slot)
      if (alone + bounds.bonusMax(slot, alone) < lowest) return
      const rank = alone - this.#messageLoss(slot)
      rests[candidates.size] = rank
      candidates.push(slot)
      least.offer(rank + shareOf(alone, SESSION), refs[slot] ?? 0, slot)
      if (least.full && least.lowest > lowest) lowest = least.lowest
    })
    for (const [session, best] of bests.entries())
      if (best !== HIDDEN) this.#sessionBonus[session] = shareOf(best, SESSION)
    return lowest
  }

  /**
   * Returns a lower bound of the scores of `limit` slots, or minus infinity if there are fewer.
   * Records the best scores of their sessions.
   */
  #findLeast(slots: TopK, limit: number, bests: Float64Array): number {
    const least = new TopK(limit)
    for (const { slot } of slots.drain()) {
      const alone = this.#scoreAlone(slot)
      least.offer(alone - this.#messageLoss(slot) + shareOf(alone, SESSION), 0, slot)
      const session = this.#sessions[slot] ?? NO_SESSION
      if (session !== NO_SESSION) bests[session] = Math.max(bests[session] ?? HIDDEN, alone)
    }
    return least.full ? least.lowest : Number.NEGATIVE_INFINITY
  }

  /** The factors that bound a score, from the shares that a fact can get. */
  #findFactors(): ConstructorParameters<typeof ScoreBounds>[2] {
    const { dates } = this.#scored
    const shares = [...(this.#isAnyNamed ? [SPOKEN] : []), ...(dates.length > 0 ? [DATED] : [])]
    const factor = shares.reduce((sum, one) => sum + one.numerator / one.denominator, 1)
    const perDot = this.#perDot / LIKENESS_DIVISOR
    const datedMax = dates.length > 0 ? shareOf(this.bestScore, DATED) : 0
    return {
      perDot: perDot * LENT_LIKENESS.denominator,
      factor,
      perDotAround: factor * perDot * LENT_LIKENESS.numerator,
      // One unit more than the exact bounds, which are computed with rounding.
      rest: datedMax + 2,
    }
  }

  /** The highest dot product of the two session neighbours, at least 0. */
  #aroundOf(slot: number): number {
    const { chains } = this.#scored.scores
    let [earlier, later] = [this.#before[slot] ?? NO_SLOT, this.#after[slot] ?? NO_SLOT]
    // Fast path: most neighbours are visible and not pieces of the same message.
    if (earlier !== NO_SLOT && (this.#visible[earlier] === 0 || !this.#isWhole(earlier)))
      earlier = chains.before(slot)
    if (later !== NO_SLOT && (this.#visible[later] === 0 || !this.#isWhole(slot)))
      later = chains.after(slot)
    const one = earlier === NO_SLOT ? 0 : (this.#dots[earlier] ?? 0)
    const other = later === NO_SLOT ? 0 : (this.#dots[later] ?? 0)
    return Math.max(0, one, other)
  }

  /** Whether no later fact can be a piece of the same message. */
  #isWhole(slot: number): boolean {
    return this.#messages[slot] === 0 && (this.#lengths[slot] ?? 0) < PIECE_TERMS_MIN
  }

  #weighQuery(): number {
    const { terms, scores } = this.#scored
    const weights = terms.map((term) => {
      const postings = [term, speakerFeature(term)].map((one) => this.#partition.findPostings(one))
      const counts = postings.map((one) => (one ? scores.statistics.countWith(one) : 0))
      return computeTermWeight(scores.statistics.facts, Math.max(...counts))
    })
    return sumHeaviest(weights)
  }

  confidenceOf(slot: number): number {
    return confidenceOf(this.#logitOf(slot))
  }

  #logitOf(slot: number): number {
    const share = (this.#lexical[slot] ?? 0) / this.#queryWeight
    const dot = this.#isCalibrated ? (this.#dots[slot] ?? 0) : 0
    return logitOf(share, dot)
  }

  partsOf(slot: number): ScoreParts {
    const { scores } = this.#scored
    const dense = this.#scoreLikeness(slot)
    const fused = this.#wordsOf(slot) + dense
    const speaker = this.#speakerBonus(slot, fused)
    const date = this.#dateBonus(slot, fused)
    const units = (value: number) => (value === 0 ? 0 : value / SCORE_UNIT)
    return {
      lexical: units(scores.lexical[slot] ?? 0),
      neighbour: units(scores.neighbour[slot] ?? 0),
      dense: units(dense),
      speaker: units(speaker),
      date: units(date),
      question: units(-this.#questionLoss(slot, fused + speaker + date)),
      message: units(-this.#messageLoss(slot)),
      session: units(this.#sessionBonusOf(slot)),
      recency: 0,
    }
  }

  /**
   * The fact's dot product with the query, that of its more similar neighbour, and the score of
   * both. If no fact has a query term, equal vectors score one and a half units of BM25.
   */
  likenessOf(slot: number): { dot: number; neighbour: number; score: number } {
    if (this.#scored.vector === null) return { dot: 0, neighbour: 0, score: 0 }
    const dot = this.#dots[slot] ?? 0
    return { dot, neighbour: this.#aroundOf(slot), score: this.#scoreLikeness(slot) }
  }

  #scoreLikeness(slot: number): number {
    if (this.#perDot === 0) return 0
    const dot = this.#dots[slot] ?? 0
    const own = dot > 0 ? dot * LENT_LIKENESS.denominator : 0
    const both = own + this.#aroundOf(slot) * LENT_LIKENESS.numerator
    return Math.floor((this.#perDot * both) / LIKENESS_DIVISOR)
  }

  /** Flags facts whose speaker the query names, or that mention a speaker it names. */
  #findNamed(): Uint8Array {
    const { terms, scratch, visible } = this.#scored
    const { named } = scratch
    named.fill(0, 0, this.#partition.columns.used)
    const aliases = [...this.#scored.scores.aliases.values()].flat()
    for (const term of new Set([...terms, ...aliases])) {
      const spoken = this.#partition.findPostings(speakerFeature(term))
      // A speaker without a visible fact does not count.
      if (!slotsOf(spoken).some((slot) => visible[slot] !== 0)) continue
      this.#isAnyNamed = true
      const mentioned = this.#partition.findPostings(term)
      for (const slot of slotsOf(mentioned)) named[slot] = Math.max(MENTIONS, named[slot] ?? 0)
      for (const slot of slotsOf(spoken)) named[slot] = SPEAKS
    }
    return named
  }

  #wordsOf(slot: number): number {
    return (this.#lexical[slot] ?? 0) + (this.#neighbour[slot] ?? 0)
  }

  /** The score of a slot without the other facts of its message and session. */
  #scoreAlone(slot: number): number {
    const known = this.#alone[slot] ?? 0
    if (!Number.isNaN(known)) return known
    const fused = this.#wordsOf(slot) + this.#scoreLikeness(slot)
    const named = fused + this.#speakerBonus(slot, fused) + this.#dateBonus(slot, fused)
    const alone = named - this.#questionLoss(slot, named)
    this.#alone[slot] = alone
    return alone
  }

  #speakerBonus(slot: number, score: number): number {
    const named = this.#named[slot] ?? 0
    return named === 0 ? 0 : shareOf(score, named === SPEAKS ? SPOKEN : MENTIONED)
  }

  #dateBonus(slot: number, score: number): number {
    if (!this.#hasDates) return 0
    if (!isWithin(this.#scored.dates, this.#partition.columns.days[slot] ?? 0)) return 0
    // A day may be all that the query names, so the best score counts too.
    return shareOf(Math.max(score, this.bestScore), DATED)
  }

  #questionLoss(slot: number, score: number): number {
    if (this.#questions[slot] !== 1) return 0
    if ((this.#lengths[slot] ?? 0) > QUESTION_TERMS_MAX) return 0
    return shareOf(score, QUESTION)
  }

  /** A fact without a session counts as a session of its own. */
  #sessionBonusOf(slot: number): number {
    const session = this.#sessions[slot] ?? NO_SESSION
    if (session === NO_SESSION) return shareOf(this.#scoreAlone(slot), SESSION)
    const known = this.#sessionBonus[session] ?? -1
    if (known >= 0) return known
    const bonus = shareOf(this.#bestAround(slot), SESSION)
    this.#sessionBonus[session] = bonus
    return bonus
  }

  /** The best score alone (see `#scoreAlone`) of the visible facts in a slot's session. */
  #bestAround(slot: number): number {
    const { sums } = this.#bounds
    let best = 0
    for (const links of [this.#before, this.#after])
      for (let next = slot; next !== NO_SLOT; next = links[next] ?? NO_SLOT)
        // A fact that was put after the sums were written is not visible.
        if (this.#visible[next] !== 0 && this.#bounds.aloneMax(sums[next] ?? HIDDEN) >= best)
          best = Math.max(best, this.#scoreAlone(next))
    return best
  }

  /**
   * Pieces without a message id are taken as one message only if they are few: many texts in a row
   * are separate messages.
   */
  #messageLoss(slot: number): number {
    const { chains } = this.#scored.scores
    const beside = this.#before[slot] ?? NO_SLOT
    const isAlone = beside === NO_SLOT || (this.#visible[beside] !== 0 && this.#isWhole(beside))
    if (isAlone && this.#isWhole(slot)) return 0
    const before = (later: number) => chains.pieceBefore(later)
    const after = (earlier: number) => chains.pieceAfter(earlier)
    const earlier = this.#comparePieces(slot, before, PIECES_MAX)
    const later = this.#comparePieces(slot, after, PIECES_MAX - earlier.pieces)
    if (!earlier.hasBetter && !later.hasBetter) return 0
    const isOneMessage = earlier.pieces + later.pieces < PIECES_MAX
    const isNamed = this.#partition.columns.messages[slot] !== 0
    return isOneMessage || isNamed ? shareOf(this.#scoreAlone(slot), PIECE) : 0
  }

  /** Counts up to `piecesMax` pieces on one side of a slot, and whether one of them is better. */
  #comparePieces(
    slot: number,
    step: (slot: number) => number,
    piecesMax: number,
  ): { pieces: number; hasBetter: boolean } {
    const { refs } = this.#partition.columns
    let [pieces, hasBetter] = [0, false]
    for (let next = step(slot); next !== NO_SLOT && pieces < piecesMax; next = step(next)) {
      pieces += 1
      const difference = this.#scoreAlone(next) - this.#scoreAlone(slot)
      const isFirst = (refs[next] ?? 0) < (refs[slot] ?? 0)
      hasBetter ||= difference > 0 || (difference === 0 && isFirst)
    }
    return { pieces, hasBetter }
  }
}
