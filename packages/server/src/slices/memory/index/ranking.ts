// Ranks the visible facts of a partition by their terms, neighbours' terms and vector similarity.

import { listMetadataFeatures } from '../text/analysis.ts'
import { findDateRanges } from '../text/date-expressions.ts'
import { NO_REF } from './columns/slot-columns.ts'
import { finish, overSlots, type Steps } from './columns/steps.ts'
import { readSlot } from './columns/term-index.ts'
import { TopK } from './columns/top-k.ts'
import { FusedScores, type FusionInput, type ScoreParts } from './fused-scores.ts'
import {
  countRoom,
  SCORE_UNIT,
  SearchScratch,
  type SimilarTerms,
  scoreTerms,
  takeScratch,
} from './lexical-scores.ts'
import type { Partition, Validity } from './partition.ts'

export interface SearchOptions {
  readonly query: string
  /** The query vector of the store's embedder; `null` to rank by terms alone. */
  readonly vector: Int8Array | null
  /** Terms that count as a query term; `null` if only the query's own terms do. */
  readonly similar: SimilarTerms | null
  readonly namespace: string | null
  /** Only facts with valid_from <= at < valid_until are visible. */
  readonly at_us: number
  /** The present time. A fact that has expired by now is not visible at any time. */
  readonly now_us: number
  /** Top-level metadata entries a fact must have; values are compared as canonical JSON. */
  readonly filter: Readonly<Record<string, unknown>> | null
  /**
   * Validity as recorded at an earlier log position. Replaces the current validity and hides all
   * other refs.
   */
  readonly visible: ReadonlyMap<number, Validity> | null
  readonly limit: number
  readonly min_score: number | null
  /** True if the vectors are not of the bundled model, for which confidence was fitted. */
  readonly uncalibrated?: boolean
  /** `null` to return nothing only if no fact is related to the query at all. */
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

/** For other scripts, neither the bundled model nor the words tell that nothing is related. */
const OTHER_SCRIPT = /[^\P{L}\p{Script=Latin}]/u
/** Recency stays below every other score while a partition has fewer facts than this. */
const RECENCY_STEPS = 0x10000

/**
 * Returns the best `limit` visible facts by score descending, then ref ascending. Facts without any
 * match follow, so that a budget is filled. A query without a term and without a vector ranks the
 * newest facts first.
 */
export const rankFacts = (partition: Partition, options: SearchOptions): RankedFact[] =>
  finish(rankInSteps(partition, options, takeScratch(partition)))

/**
 * Same as `rankFacts`, in steps. Facts may be put and their validity may change between steps: the
 * ranking is that of the facts at the first step. After any other change, which changes the
 * partition's `version`, the steps must not be continued.
 */
export function* rankInSteps(
  partition: Partition,
  options: SearchOptions,
  scratch: SearchScratch,
): Steps<RankedFact[]> {
  partition.analysePending()
  const terms = partition.analyser.analyseQuery(options.query)
  const vector = options.vector?.some((value) => value !== 0) ? options.vector : null
  if (vector !== null) partition.vectors.assertSameSpace(vector)
  try {
    const { used } = partition.columns
    const found = yield* findVisible(partition, options, scratch)
    const visible = holdVisible(found, used, scratch)
    if (terms.length === 0 && vector === null) return rankByRecency(partition, options, visible)
    const { similar, now_us } = options
    const scores = yield* scoreTerms(partition, terms, { visible, now_us, scratch, similar })
    const dates = findDateRanges(options.query, options.at_us)
    const { uncalibrated = false } = options
    const input = { terms, scores, visible, dates, vector, uncalibrated, scratch }
    return yield* rankScored(partition, options, input)
  } finally {
    scratch.reset()
  }
}

/** Maximum number of facts put between the steps of one search; real searches see far fewer. */
const SLOTS_PUT_MAX = 0x10000

/** Allocates working memory for a search in steps: other searches may run between two steps. */
export const makeHeldScratch = (partition: Partition): SearchScratch =>
  new SearchScratch(Math.ceil(countRoom(partition) * 1.25) + SLOTS_PUT_MAX)

/** Whether the working memory is large enough for a search of the partition in steps. */
export const hasRoom = ({ capacity }: SearchScratch, partition: Partition): boolean =>
  capacity >= countRoom(partition) + SLOTS_PUT_MAX

/** Copies the flags, so that no other search changes them; facts put meanwhile are not visible. */
function holdVisible(
  visible: Uint8Array,
  used: number,
  { passes: { valid, filtered } }: SearchScratch,
): Uint8Array {
  const flags = visible.subarray(0, used)
  const held = visible === valid ? filtered : valid
  held.set(flags)
  return held.fill(0, flags.length, flags.length + SLOTS_PUT_MAX)
}

function* rankScored(
  partition: Partition,
  options: SearchOptions,
  scored: FusionInput,
): Steps<RankedFact[]> {
  const { limit, min_score, min_confidence } = options
  const fused = new FusedScores(partition, scored)
  yield* fused.prepare()
  const canTell = scored.terms.length > 0 && !OTHER_SCRIPT.test(options.query)
  if (min_confidence === null && canTell && (yield* fused.areUnrelated())) return []
  const ranked: RankedFact[] = []
  const best = yield* fused.findBest(limit)
  const show = rankedFactsOf(partition)
  for (const { slot } of best.drain()) {
    const one = show(slot, fused.partsOf(slot), fused.confidenceOf(slot))
    const isLow = one.score < (min_score ?? Number.NEGATIVE_INFINITY)
    if (!isLow && one.confidence >= (min_confidence ?? 0)) ranked.push(one)
  }
  return ranked
}

/** Flags by slot: 1 if the fact is valid at the time and passes the filter. */
export function* findVisible(
  partition: Partition,
  options: SearchOptions,
  { passes: { valid, filtered } }: SearchScratch,
): Steps<Uint8Array> {
  let visible = yield* findValid(partition, options, valid)
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

function* findValid(
  partition: Partition,
  { visible, at_us, now_us }: SearchOptions,
  valid: Uint8Array,
): Steps<Uint8Array> {
  const { columns, visibility } = partition
  if (visible === null) return visibility.at(at_us, now_us)
  // Another fact may take a slot between two steps.
  const refs = columns.refs.slice(0, columns.used)
  yield* overSlots(refs.length, (from, to) => {
    for (let slot = from; slot < to; slot++) {
      const known = visible.get(refs[slot] ?? NO_REF)
      const isValid =
        known !== undefined &&
        known.valid_from_us <= at_us &&
        at_us < (known.valid_until_us ?? Number.POSITIVE_INFINITY) &&
        (columns.expires[slot] ?? 0) > now_us
      valid[slot] = isValid ? 1 : 0
    }
  })
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

/** Returns a function that makes the ranked facts of one ranking. */
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
