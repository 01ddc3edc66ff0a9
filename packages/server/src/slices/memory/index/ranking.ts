// Ranks the visible facts of a partition by their terms, neighbours' terms and vector similarity.

import { listMetadataFeatures } from './analysis.ts'
import {
  type LexicalScores,
  SCORE_UNIT,
  type SearchScratch,
  scoreTerms,
  takeScratch,
} from './lexical-scores.ts'
import type { Partition, Validity } from './partition.ts'
import { NO_REF } from './slot-columns.ts'
import { readSlot } from './term-index.ts'
import { growArray } from './typed-arrays.ts'

export interface SearchOptions {
  readonly query: string
  /** The query vector of the store's embedder; null: rank by terms alone. */
  readonly vector: Int8Array | null
  readonly namespace: string | null
  /** Only facts with valid_from <= at < valid_until are visible. */
  readonly at_us: number
  /** The present: a fact that has expired by now is not visible at any time. */
  readonly now_us: number
  /** Top-level metadata entries a fact must have; values are compared as canonical JSON. */
  readonly filter: Readonly<Record<string, unknown>> | null
  /**
   * Validity as recorded at an earlier log position: replaces the current one, hides other refs.
   */
  readonly visible: ReadonlyMap<number, Validity> | null
  readonly limit: number
  readonly min_score: number | null
}

/**
 * The parts of a score, which add up to it exactly, in BM25 units, multiples of 2^-16: `lexical`
 * (the fact's own terms), `neighbour` (shares from its session) and `dense` (vector similarity,
 * relative to the best term score of any visible fact). `recency`, only for a query without terms
 * and vector, is below 2^-16 while a partition has fewer than 65,536 facts.
 */
interface ScoreParts {
  readonly lexical: number
  readonly neighbour: number
  readonly dense: number
  readonly recency: number
}

export interface RankedFact {
  readonly ref: number
  readonly score: number
  readonly parts: ScoreParts
  readonly token_count: number
  /** The ref of the best ranked fact with the same content. */
  readonly content_ref: number
}

/**
 * The score of two equal vectors: one and a half times the best term score among the visible
 * facts. Chosen by measurement, see docs/decisions/0015.
 */
const LIKENESS = { numerator: 3, denominator: 2 }
/** The dot product of a unit vector times 127 with itself. */
export const DOT_MAX = 127 * 127
/** Recency stays below every other score while a partition has fewer facts than this. */
const RECENCY_STEPS = 0x10000

/**
 * Returns the best `limit` visible facts by score descending, then ref ascending. The score is the
 * term score, the fact's own and its neighbours', plus the vector similarity. Facts without any
 * match follow, so that a budget is filled. A query without a term and without a vector ranks the
 * newest facts first.
 */
export function rankFacts(partition: Partition, options: SearchOptions): RankedFact[] {
  partition.analysePending()
  const terms = partition.analyser.analyseQuery(options.query)
  const vector = options.vector?.some((value) => value !== 0) ? options.vector : null
  if (vector !== null) partition.vectors.assertSameSpace(vector)
  const scratch = takeScratch(partition.columns.used)
  try {
    const visible = findVisible(partition, options, scratch)
    if (terms.length === 0 && vector === null) return rankByRecency(partition, options, visible)
    const scores = scoreTerms(partition, terms, { visible, scratch })
    return rankScored(partition, options, { scores, visible, vector, scratch })
  } finally {
    scratch.reset()
  }
}

interface ScoredPartition {
  readonly scores: LexicalScores
  readonly visible: Uint8Array
  readonly vector: Int8Array | null
  readonly scratch: SearchScratch
}

function rankScored(
  partition: Partition,
  options: SearchOptions,
  scored: ScoredPartition,
): RankedFact[] {
  const best = new TopK(options.limit)
  const { vector } = scored
  if (vector !== null) {
    offerFused(partition, scored, { best, vector })
  } else {
    offerMatched(partition, scored.scores, best)
    if (!best.full) offerUnmatched(partition, scored, best)
  }
  const ranked: RankedFact[] = []
  const show = rankedFactsOf(partition)
  for (const { slot, score } of best.drain()) {
    const one = show(slot, toScoreParts(scored.scores, slot, score))
    if (options.min_score === null || one.score >= options.min_score) ranked.push(one)
  }
  return ranked
}

/** Scores all visible facts: vector similarity can rank a fact without a common term first. */
function offerFused(
  partition: Partition,
  { scores, visible, scratch }: ScoredPartition,
  { best, vector }: { best: TopK; vector: Int8Array },
): void {
  const { refs, used } = partition.columns
  const { dots } = scratch
  partition.vectors.denseScores(vector, used, dots)
  const bestScore = findBestScore(scores)
  // An upper bound of the similarity score, without its division: skips facts that cannot be among
  // the best.
  const perDot = (bestScore * LIKENESS.numerator) / (LIKENESS.denominator * DOT_MAX)
  for (let slot = 0; slot < used; slot++) {
    if (visible[slot] === 0) continue
    const score = sumScores(scores, slot)
    const dot = dots[slot] ?? 0
    if (best.full && score + Math.max(dot, 0) * perDot + 1 < best.lowest) continue
    best.offer(score + scoreLikeness(dot, bestScore), refs[slot] ?? 0, slot)
  }
}

/**
 * Vector similarity in score units, an integer; 0 for a negative dot product. If no fact has a term
 * of the query, equal vectors score one and a half units of BM25.
 */
export function scoreLikeness(dot: number, bestScore: number): number {
  if (dot <= 0) return 0
  return Math.floor((bestScore * LIKENESS.numerator * dot) / (LIKENESS.denominator * DOT_MAX))
}

export function findBestScore(scores: LexicalScores): number {
  let bestScore = 0
  for (let at = 0; at < scores.matched.size; at++) {
    bestScore = Math.max(bestScore, sumScores(scores, scores.matched.at(at)))
  }
  return bestScore === 0 ? SCORE_UNIT : bestScore
}

function offerMatched(partition: Partition, scores: LexicalScores, best: TopK): void {
  const { refs } = partition.columns
  for (let at = 0; at < scores.matched.size; at++) {
    const slot = scores.matched.at(at)
    best.offer(sumScores(scores, slot), refs[slot] ?? 0, slot)
  }
}

function offerUnmatched(
  partition: Partition,
  { scores, visible }: ScoredPartition,
  best: TopK,
): void {
  const { refs, used } = partition.columns
  for (let slot = 0; slot < used; slot++) {
    if (visible[slot] === 0 || sumScores(scores, slot) > 0) continue
    best.offer(0, refs[slot] ?? 0, slot)
  }
}

/** By slot: 1 where the fact is valid at the time and passes the filter. */
export function findVisible(
  partition: Partition,
  options: SearchOptions,
  { valid, filtered }: SearchScratch,
): Uint8Array {
  let visible = findValid(partition, options, valid)
  for (const feature of listMetadataFeatures(options.filter ?? {})) {
    const both = visible === filtered ? valid : filtered
    both.fill(0, 0, partition.columns.used)
    const postings = partition.findPostings(feature)
    for (let at = 0; postings !== undefined && at < postings.size; at++) {
      const slot = readSlot(postings.array[postings.start + at] ?? 0)
      both[slot] = visible[slot] ?? 0
    }
    visible = both
  }
  return visible
}

function findValid(
  partition: Partition,
  { visible, at_us, now_us }: SearchOptions,
  valid: Uint8Array,
): Uint8Array {
  if (visible === null) return partition.visibility.at(at_us, now_us)
  valid.fill(0, 0, partition.columns.used)
  for (const [ref, { valid_from_us, valid_until_us }] of visible) {
    const slot = partition.findSlot(ref)
    if (slot === undefined || (partition.columns.expires[slot] ?? 0) <= now_us) continue
    if (valid_from_us <= at_us && at_us < (valid_until_us ?? Number.POSITIVE_INFINITY)) {
      valid[slot] = 1
    }
  }
  return valid
}

function sumScores(scores: LexicalScores, slot: number): number {
  return (scores.lexical[slot] ?? 0) + (scores.neighbour[slot] ?? 0)
}

/** The n-th newest of m facts scores m - n + 1 steps; later refs are newer. */
function rankByRecency(
  partition: Partition,
  options: SearchOptions,
  visible: Uint8Array,
): RankedFact[] {
  const { refs, used } = partition.columns
  const best = new TopK(options.limit)
  let facts = 0
  for (let slot = 0; slot < used; slot++) {
    if (visible[slot] === 0 || refs[slot] === NO_REF) continue
    facts++
    best.offer(refs[slot] ?? 0, 0, slot)
  }
  const show = rankedFactsOf(partition)
  return best
    .drain()
    .map(({ slot }, at) => {
      const recency = (facts - at) / (SCORE_UNIT * RECENCY_STEPS)
      return show(slot, { lexical: 0, neighbour: 0, dense: 0, recency })
    })
    .filter(({ score }) => options.min_score === null || score >= options.min_score)
}

function toScoreParts(scores: LexicalScores, slot: number, score: number): RankedFact['parts'] {
  return {
    lexical: (scores.lexical[slot] ?? 0) / SCORE_UNIT,
    neighbour: (scores.neighbour[slot] ?? 0) / SCORE_UNIT,
    dense: (score - sumScores(scores, slot)) / SCORE_UNIT,
    recency: 0,
  }
}

/** Makes the facts of one ranking. */
function rankedFactsOf(partition: Partition): (slot: number, parts: ScoreParts) => RankedFact {
  const { refs, tokenCounts } = partition.columns
  const firstWithContent = partition.compareContents()
  return (slot, parts) => ({
    ref: refs[slot] ?? NO_REF,
    score: parts.lexical + parts.neighbour + parts.dense + parts.recency,
    parts,
    token_count: tokenCounts[slot] ?? 0,
    content_ref: refs[firstWithContent(slot)] ?? NO_REF,
  })
}

/** A bounded heap whose root is the worst candidate kept. */
export class TopK {
  readonly #capacity: number
  #size = 0
  #scores = new Float64Array(0)
  #refs = new Float64Array(0)
  #slots = new Uint32Array(0)
  #lowest = Number.NEGATIVE_INFINITY

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get full(): boolean {
    return this.#size >= this.#capacity
  }

  /** The lowest score kept: once full, nothing below it can enter. */
  get lowest(): number {
    return this.#lowest
  }

  offer(score: number, ref: number, slot: number): void {
    if (this.#size < this.#capacity) {
      this.#scores = growArray(this.#scores, this.#size)
      this.#refs = growArray(this.#refs, this.#size)
      this.#slots = growArray(this.#slots, this.#size)
      this.#size++
      this.#rise(this.#size - 1, score, ref, slot)
    } else if (this.#size > 0 && ranksBefore(score, ref, this.#lowest, this.#refs[0] ?? 0)) {
      this.#sink(score, ref, slot)
    } else return
    this.#lowest = this.#scores[0] ?? Number.NEGATIVE_INFINITY
  }

  /** Removes all candidates and returns them, best first. */
  drain(): { score: number; slot: number }[] {
    const drained = new Array<{ score: number; slot: number }>(this.#size)
    for (let at = this.#size - 1; at >= 0; at--) {
      drained[at] = { score: this.#scores[0] ?? 0, slot: this.#slots[0] ?? 0 }
      this.#size = at
      this.#sink(this.#scores[at] ?? 0, this.#refs[at] ?? 0, this.#slots[at] ?? 0)
    }
    this.#lowest = Number.NEGATIVE_INFINITY
    return drained
  }

  #rise(from: number, score: number, ref: number, slot: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!ranksBefore(this.#scores[parent] ?? 0, this.#refs[parent] ?? 0, score, ref)) break
      this.#copy(parent, at)
      at = parent
    }
    this.#put(at, score, ref, slot)
  }

  /** Replaces the root by a candidate. */
  #sink(score: number, ref: number, slot: number): void {
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= this.#size) break
      if (child + 1 < this.#size && this.#worse(child + 1, child)) child++
      if (!ranksBefore(score, ref, this.#scores[child] ?? 0, this.#refs[child] ?? 0)) break
      this.#copy(child, at)
      at = child
    }
    this.#put(at, score, ref, slot)
  }

  #worse(one: number, other: number): boolean {
    return ranksBefore(
      this.#scores[other] ?? 0,
      this.#refs[other] ?? 0,
      this.#scores[one] ?? 0,
      this.#refs[one] ?? 0,
    )
  }

  #copy(from: number, to: number): void {
    this.#put(to, this.#scores[from] ?? 0, this.#refs[from] ?? 0, this.#slots[from] ?? 0)
  }

  #put(at: number, score: number, ref: number, slot: number): void {
    this.#scores[at] = score
    this.#refs[at] = ref
    this.#slots[at] = slot
  }
}

function ranksBefore(score: number, ref: number, otherScore: number, otherRef: number): boolean {
  return score > otherScore || (score === otherScore && ref < otherRef)
}
