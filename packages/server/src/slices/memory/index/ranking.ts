// Ranks the visible facts of a partition by their terms, neighbours' terms and vector similarity.

import { listMetadataFeatures } from './analysis.ts'
import { NO_REF } from './columns/slot-columns.ts'
import { readSlot } from './columns/term-index.ts'
import { growArray } from './columns/typed-arrays.ts'
import { findDateRanges } from './date-expressions.ts'
import { FusedScores, type FusionInput, type ScoreParts } from './fused-scores.ts'
import {
  SCORE_UNIT,
  type SearchScratch,
  type SimilarTerms,
  scoreTerms,
  takeScratch,
} from './lexical-scores.ts'
import type { Partition, Validity } from './partition.ts'

export interface SearchOptions {
  readonly query: string
  /** The query vector of the store's embedder; null: rank by terms alone. */
  readonly vector: Int8Array | null
  /** Terms that count as one of the query's. null: only the query's own do. */
  readonly similar: SimilarTerms | null
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
  /** The vectors are not of the bundled model, for whose cosines the confidence was fitted. */
  readonly uncalibrated?: boolean
  /** null: nothing is found if no fact is related to the query at all. */
  readonly min_confidence: number | null
}

export interface RankedFact {
  readonly ref: number
  readonly score: number
  readonly parts: ScoreParts
  /** How likely the fact is evidence, 0 to 1; 1 for a query without terms and vector. */
  readonly confidence: number
  readonly token_count: number
  /** The ref of the best ranked fact with the same content. */
  readonly content_ref: number
}

/** The bundled model and the words of other scripts do not tell when nothing is related. */
const OTHER_SCRIPT = /[^\P{L}\p{Script=Latin}]/u
/** Recency stays below every other score while a partition has fewer facts than this. */
const RECENCY_STEPS = 0x10000

/**
 * Returns the best `limit` visible facts by score descending, then ref ascending. Facts without any
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
    const { similar, now_us } = options
    const scores = scoreTerms(partition, terms, { visible, now_us, scratch, similar })
    const dates = findDateRanges(options.query, options.at_us)
    const { uncalibrated = false } = options
    const input = { terms, scores, visible, dates, vector, uncalibrated, scratch }
    return rankScored(partition, options, input)
  } finally {
    scratch.reset()
  }
}

function rankScored(
  partition: Partition,
  options: SearchOptions,
  scored: FusionInput,
): RankedFact[] {
  const { limit, min_score, min_confidence } = options
  const best = new TopK(limit)
  const fused = new FusedScores(partition, scored)
  const canTell = scored.terms.length > 0 && !OTHER_SCRIPT.test(options.query)
  if (min_confidence === null && canTell && fused.areUnrelated()) return []
  const { refs, used } = partition.columns
  for (let slot = 0; slot < used; slot++) {
    if (scored.visible[slot] === 0) continue
    if (best.full && fused.boundOf(slot) < best.lowest) continue
    best.offer(fused.scoreOf(slot), refs[slot] ?? 0, slot)
  }
  const ranked: RankedFact[] = []
  const show = rankedFactsOf(partition)
  for (const { slot } of best.drain()) {
    const one = show(slot, fused.partsOf(slot), fused.confidenceOf(slot))
    const isLow = one.score < (min_score ?? Number.NEGATIVE_INFINITY)
    if (!isLow && one.confidence >= (min_confidence ?? 0)) ranked.push(one)
  }
  return ranked
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
      return show(slot, { ...NO_PARTS, recency }, 1)
    })
    .filter(({ score }) => options.min_score === null || score >= options.min_score)
}

const NO_PARTS: ScoreParts = {
  lexical: 0,
  neighbour: 0,
  dense: 0,
  speaker: 0,
  date: 0,
  question: 0,
  message: 0,
  session: 0,
  recency: 0,
}

/** Sums of multiples of 2^-16 are exact in any order. */
const sumOf = (parts: ScoreParts): number =>
  Object.values(parts).reduce((sum: number, part: number) => sum + part, 0)

/** Makes the facts of one ranking. */
function rankedFactsOf(
  partition: Partition,
): (slot: number, parts: ScoreParts, confidence: number) => RankedFact {
  const { refs, tokenCounts } = partition.columns
  const firstWithContent = partition.compareContents()
  return (slot, parts, confidence) => ({
    ref: refs[slot] ?? NO_REF,
    score: sumOf(parts),
    parts,
    confidence,
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
