// The score of each visible fact: its words and likeness, changed by who speaks, and by the facts
// of its message and its session. In whole score units, so that it is the same on every machine.

import { speakerFeature } from './analysis.ts'
import { NO_SESSION, NO_SLOT } from './columns/slot-columns.ts'
import { type Postings, readSlot } from './columns/term-index.ts'
import type { DateRange } from './date-expressions.ts'
import {
  computeTermWeight,
  type LexicalScores,
  SCORE_UNIT,
  type SearchScratch,
} from './lexical-scores.ts'
import type { Partition } from './partition.ts'

/** A share as a fraction of whole numbers. Chosen by measurement, see docs/decisions/0022. */
interface Share {
  readonly numerator: number
  readonly denominator: number
}

/** The score of two equal vectors, as a share of the best term score of any visible fact. */
const LIKENESS: Share = { numerator: 3, denominator: 2 }
/** What a fact gets of the likeness of the more similar of its two neighbours. */
const LENT_LIKENESS: Share = { numerator: 1, denominator: 5 }
/** What is added where the query names the speaker, or a speaker whom the fact mentions. */
const SPOKEN: Share = { numerator: 3, denominator: 10 }
const MENTIONED: Share = { numerator: 1, denominator: 5 }
/** What is added where the fact is of a day that the query names. */
const DATED: Share = { numerator: 1, denominator: 5 }
/** What a short question loses: it asks for what another fact says. */
const QUESTION: Share = { numerator: 1, denominator: 10 }
const QUESTION_TERMS_MAX = 16
/** What all pieces of a message lose but the best of them. */
const PIECE: Share = { numerator: 1, denominator: 5 }
/** Pieces of one message at most. */
const PIECES_MAX = 16
/** What a fact gets of the best score in its session. */
const SESSION: Share = { numerator: 3, denominator: 20 }

const shareOf = (score: number, { numerator, denominator }: Share): number =>
  Math.floor((score * numerator) / denominator)

/** The dot product of a unit vector times 127 with itself. */
export const DOT_MAX = 127 * 127
const LIKENESS_DIVISOR = LIKENESS.denominator * LENT_LIKENESS.denominator * DOT_MAX

/**
 * The parts of a score, which add up to it exactly, in BM25 units, multiples of 2^-16: `lexical`
 * (the fact's own terms), `neighbour` (shares from its session), `dense` (vector similarity,
 * relative to the best term score of any visible fact, its own and some of its neighbours'),
 * `speaker` and `date` (the query names who speaks, or the day), `question` and `message`
 * (negative: a question, a lesser piece of a message), `session` (a share of the best score in its
 * session). `recency`, only for a query without terms and vector, is below 2^-16 while a partition
 * has fewer than 65,536 facts.
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

/**
 * How likely a fact is evidence, a logistic function of two numbers: the weight of the query's
 * terms that it has, relative to the heaviest ones, and its cosine with the query. Fitted on one
 * half of three sets and tested on the other, see docs/evaluation.md.
 */
const CONFIDENCE = { base: -6.5, terms: 2.5, cosine: 6.3 }
const CONFIDENCE_BY_TERMS = { base: -4.9, terms: 3.8 }
/** Terms of a query that one fact can be expected to have: a long query names many things. */
const HEAVIEST = 8
/**
 * The cosine that the most similar of a number of unrelated texts has at most: the more texts, the
 * higher the best of them. As a confidence 0.002 for one, 0.006 for 20, 0.01 for 600.
 */
const unrelatedCosine = (facts: number): number => 0.05 + 0.07 * Math.sqrt(2 * Math.log(facts))

/** How a query names a fact: it mentions a speaker of the query, or is spoken by one. */
const MENTIONS = 1
const SPEAKS = 2

export interface FusionInput {
  readonly terms: readonly string[]
  readonly scores: LexicalScores
  readonly visible: Uint8Array
  /** The days that the query names. */
  readonly dates: readonly DateRange[]
  /** null: by terms alone. */
  readonly vector: Int8Array | null
  /** The vectors are not of the bundled model. */
  readonly uncalibrated: boolean
  readonly scratch: SearchScratch
}

function findBestScore(scores: LexicalScores): number {
  let bestScore = 0
  for (let at = 0; at < scores.matched.size; at++) {
    bestScore = Math.max(bestScore, sumScores(scores, scores.matched.at(at)))
  }
  return bestScore === 0 ? SCORE_UNIT : bestScore
}

const sumScores = (scores: LexicalScores, slot: number): number =>
  (scores.lexical[slot] ?? 0) + (scores.neighbour[slot] ?? 0)

/** Scores of the visible slots of one search, in score units. Valid until the next search. */
export class FusedScores {
  readonly bestScore: number
  /** By slot: the score without the other facts of its message and session. */
  readonly #alone: Float64Array
  readonly #partition: Partition
  readonly #scored: FusionInput
  readonly #named: Uint8Array
  readonly #around: Int32Array
  // As fields of their own: they are read for every slot.
  readonly #sessions: Int32Array
  readonly #questions: Uint8Array
  readonly #lengths: Uint32Array
  readonly #hasDates: boolean
  readonly #dots: Int32Array
  readonly #lexical: Float64Array
  readonly #neighbour: Float64Array
  /** What a unit of dot product adds to the score, over LIKENESS_DIVISOR; 0 without a vector. */
  readonly #perDot: number
  /** Of the heaviest terms of the query, in score units. */
  readonly #queryWeight: number
  /** Whether a cosine counts in the confidence. */
  readonly #isCalibrated: boolean
  /** By session: the best of its scores. */
  readonly #sessionBest: Float64Array
  readonly #sessionBonus: Float64Array

  constructor(partition: Partition, scored: FusionInput) {
    this.#partition = partition
    this.#scored = scored
    const { scratch, vector } = scored
    this.bestScore = findBestScore(scored.scores)
    if (vector !== null) partition.vectors.denseScores(vector, partition.columns.used, scratch.dots)
    this.#sessions = partition.sessions.sessions
    this.#questions = partition.columns.questions
    this.#lengths = partition.columns.lengths
    this.#hasDates = scored.dates.length > 0
    this.#dots = scratch.dots
    this.#lexical = scored.scores.lexical
    this.#neighbour = scored.scores.neighbour
    this.#perDot = vector === null ? 0 : this.bestScore * LIKENESS.numerator
    this.#around = this.#findAround()
    this.#named = this.#findNamed()
    this.#queryWeight = Math.max(1, this.#weighQuery())
    this.#isCalibrated = vector !== null && !scored.uncalibrated
    this.#alone = scratch.alone
    this.#sessionBest = new Float64Array(partition.sessions.count)
    this.#scoreAll()
    this.#sessionBonus = this.#sessionBest.map((best) => shareOf(best, SESSION))
  }

  /**
   * Whether no visible fact has a word of the query, its own or a neighbour's, or is of a day it
   * names, and none is similar.
   */
  areUnrelated(): boolean {
    const { visible, vector, scores } = this.#scored
    if (scores.matched.size > 0 || this.#isOfNamedDay()) return false
    let [bestLogit, facts] = [Number.NEGATIVE_INFINITY, 0]
    for (let slot = 0; slot < this.#partition.columns.used; slot++) {
      if (visible[slot] === 0) continue
      facts++
      bestLogit = Math.max(bestLogit, this.#logitOf(slot))
    }
    const floor = CONFIDENCE.base + CONFIDENCE.cosine * unrelatedCosine(Math.max(1, facts))
    return vector === null || bestLogit < floor
  }

  /** Fills `#alone` and `#sessionBest`. */
  #scoreAll(): void {
    const { visible } = this.#scored
    const { used } = this.#partition.columns
    const sessions = this.#sessions
    const alone = this.#alone
    const sessionBest = this.#sessionBest
    for (let slot = 0; slot < used; slot++) {
      if (visible[slot] === 0) continue
      const score = this.#scoreAlone(slot)
      alone[slot] = score
      const session = sessions[slot] ?? NO_SESSION
      if (session !== NO_SESSION && score > (sessionBest[session] ?? 0))
        sessionBest[session] = score
    }
  }

  /** Whether a visible fact is of a day that the query names. */
  #isOfNamedDay(): boolean {
    const { dates, visible } = this.#scored
    const { days, used } = this.#partition.columns
    for (let slot = 0; slot < used && dates.length > 0; slot++)
      if (visible[slot] !== 0 && isWithin(dates, days[slot] ?? 0)) return true
    return false
  }

  /** By slot: the highest dot product of its two neighbours in the session, at least 0. */
  #findAround(): Int32Array {
    const { scores, scratch, vector, visible } = this.#scored
    const { around, dots } = scratch
    const { used } = this.#partition.columns
    around.fill(0, 0, used)
    for (let slot = 0; slot < used && vector !== null; slot++) {
      if (visible[slot] === 0) continue
      const later = scores.chains.after(slot)
      if (later === NO_SLOT) continue
      around[slot] = Math.max(around[slot] ?? 0, dots[later] ?? 0)
      around[later] = Math.max(around[later] ?? 0, dots[slot] ?? 0)
    }
    return around
  }

  #weighQuery(): number {
    const { terms, scores } = this.#scored
    const weights = terms.map((term) => {
      const postings = [term, speakerFeature(term)].map((one) => this.#partition.findPostings(one))
      const counts = postings.map((one) => (one ? scores.statistics.countWith(one) : 0))
      return computeTermWeight(scores.statistics.facts, Math.max(...counts))
    })
    const heaviest = weights.sort((left, right) => right - left).slice(0, HEAVIEST)
    return heaviest.reduce((sum, weight) => sum + weight, 0)
  }

  confidenceOf(slot: number): number {
    return confidenceOf(this.#logitOf(slot))
  }

  #logitOf(slot: number): number {
    const share = (this.#lexical[slot] ?? 0) / this.#queryWeight
    const dot = this.#isCalibrated ? (this.#dots[slot] ?? 0) : 0
    // A fact whose vector is missing is judged by its terms.
    if (dot === 0) return CONFIDENCE_BY_TERMS.base + CONFIDENCE_BY_TERMS.terms * share
    const { base, terms, cosine } = CONFIDENCE
    return base + terms * share + (dot > 0 ? (cosine * dot) / DOT_MAX : 0)
  }

  /** Not below the score, and quicker. */
  boundOf(slot: number): number {
    return (this.#alone[slot] ?? 0) + this.#sessionBonusOf(slot)
  }

  scoreOf(slot: number): number {
    return this.boundOf(slot) - this.#messageLoss(slot)
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
   * The dot product with the query, that of the more similar neighbour, and the score of both. If
   * no fact has a term of the query, equal vectors score one and a half units of BM25.
   */
  likenessOf(slot: number): { dot: number; neighbour: number; score: number } {
    if (this.#scored.vector === null) return { dot: 0, neighbour: 0, score: 0 }
    const dot = this.#scored.scratch.dots[slot] ?? 0
    return { dot, neighbour: this.#around[slot] ?? 0, score: this.#scoreLikeness(slot) }
  }

  #scoreLikeness(slot: number): number {
    if (this.#perDot === 0) return 0
    const dot = this.#dots[slot] ?? 0
    const own = dot > 0 ? dot * LENT_LIKENESS.denominator : 0
    const both = own + (this.#around[slot] ?? 0) * LENT_LIKENESS.numerator
    return Math.floor((this.#perDot * both) / LIKENESS_DIVISOR)
  }

  /** Whether the query names the speaker of the fact, or a speaker whom it mentions. */
  #findNamed(): Uint8Array {
    const { terms, scratch, visible } = this.#scored
    const { named } = scratch
    named.fill(0, 0, this.#partition.columns.used)
    const aliases = [...this.#scored.scores.aliases.values()].flat()
    for (const term of new Set([...terms, ...aliases])) {
      const spoken = this.#partition.findPostings(speakerFeature(term))
      // A speaker whom the search cannot see is none.
      if (!slotsOf(spoken).some((slot) => visible[slot] !== 0)) continue
      const mentioned = this.#partition.findPostings(term)
      for (const slot of slotsOf(mentioned)) named[slot] = Math.max(MENTIONS, named[slot] ?? 0)
      for (const slot of slotsOf(spoken)) named[slot] = SPEAKS
    }
    return named
  }

  #wordsOf(slot: number): number {
    return (this.#lexical[slot] ?? 0) + (this.#neighbour[slot] ?? 0)
  }

  #scoreAlone(slot: number): number {
    const fused = this.#wordsOf(slot) + this.#scoreLikeness(slot)
    const named = fused + this.#speakerBonus(slot, fused) + this.#dateBonus(slot, fused)
    return named - this.#questionLoss(slot, named)
  }

  #speakerBonus(slot: number, score: number): number {
    const named = this.#named[slot] ?? 0
    return named === 0 ? 0 : shareOf(score, named === SPEAKS ? SPOKEN : MENTIONED)
  }

  #dateBonus(slot: number, score: number): number {
    if (!this.#hasDates) return 0
    if (!isWithin(this.#scored.dates, this.#partition.columns.days[slot] ?? 0)) return 0
    // A day may be all that the query names.
    return shareOf(Math.max(score, this.bestScore), DATED)
  }

  #questionLoss(slot: number, score: number): number {
    if (this.#questions[slot] !== 1) return 0
    if ((this.#lengths[slot] ?? 0) > QUESTION_TERMS_MAX) return 0
    return shareOf(score, QUESTION)
  }

  /** A fact without a session is one by itself. */
  #sessionBonusOf(slot: number): number {
    const session = this.#sessions[slot] ?? NO_SESSION
    if (session === NO_SESSION) return shareOf(this.#alone[slot] ?? 0, SESSION)
    return this.#sessionBonus[session] ?? 0
  }

  /**
   * Pieces without a message id are taken for one message only where they are few: many texts in a
   * row are many messages.
   */
  #messageLoss(slot: number): number {
    const { chains } = this.#scored.scores
    const before = (later: number) => chains.pieceBefore(later)
    const after = (earlier: number) => chains.pieceAfter(earlier)
    const earlier = this.#comparePieces(slot, before, PIECES_MAX)
    const later = this.#comparePieces(slot, after, PIECES_MAX - earlier.pieces)
    if (!earlier.hasBetter && !later.hasBetter) return 0
    const isOneMessage = earlier.pieces + later.pieces < PIECES_MAX
    const isNamed = this.#partition.columns.messages[slot] !== 0
    return isOneMessage || isNamed ? shareOf(this.#alone[slot] ?? 0, PIECE) : 0
  }

  /** The pieces on one side of a slot, `piecesMax` of them at most, and whether one is better. */
  #comparePieces(
    slot: number,
    step: (slot: number) => number,
    piecesMax: number,
  ): { pieces: number; hasBetter: boolean } {
    const { refs } = this.#partition.columns
    let [pieces, hasBetter] = [0, false]
    for (let next = step(slot); next !== NO_SLOT && pieces < piecesMax; next = step(next)) {
      pieces += 1
      const difference = (this.#alone[next] ?? 0) - (this.#alone[slot] ?? 0)
      const isFirst = (refs[next] ?? 0) < (refs[slot] ?? 0)
      hasBetter ||= difference > 0 || (difference === 0 && isFirst)
    }
    return { pieces, hasBetter }
  }
}

const isWithin = (dates: readonly DateRange[], day: number): boolean =>
  dates.some(({ first_day, last_day }) => first_day <= day && day <= last_day)

/** In thousandths: more is not known, and it is the same on every machine. */
const confidenceOf = (logit: number): number => Math.round(1_000 / (1 + Math.exp(-logit))) / 1_000

function* slotsOf(postings: Postings | undefined): Generator<number, void> {
  for (let at = 0; postings !== undefined && at < postings.size; at++)
    yield readSlot(postings.array[postings.start + at] ?? 0)
}
