// Ranks the visible facts of a partition: words first, then session, then likeness, then ref.
import { analyseQuery } from './analysis.ts'
import { SCORE_UNIT } from './bm25.ts'
import { metadataFeatures } from './metadata-features.ts'
import type { Partition } from './partition.ts'
import type { Ranked, SearchRequest } from './search-request.ts'
import { NO_REF } from './slot-columns.ts'
import { TopK } from './top-k.ts'
import { scoreWords, type WordScores } from './word-scores.ts'

/** Inside a score, likeness takes the 16 bits below the words' integer: it can only break ties. */
const DENSE_STEPS = 0x10000
/** Dot products lie within 127^2 of zero; the offset makes them positive. */
const DENSE_OFFSET = 0x8000
/** A ranking key is an integer below 2^53; divided by this (exactly) it is in BM25 units. */
const KEY_UNIT = SCORE_UNIT * DENSE_STEPS

/**
 * The best `limit` visible facts by score descending, then ref ascending. Facts that match no word
 * follow those that do, by likeness of vectors, so that a budget is filled. A query without any
 * searchable word and without a vector has nothing to compare: the newest fact comes first.
 */
export function rank(partition: Partition, request: SearchRequest): Ranked[] {
  partition.analysePending()
  const visible = findVisible(partition, request)
  const terms = analyseQuery(request.query)
  const vector = request.vector?.some((value) => value !== 0) ? request.vector : null
  if (terms.length === 0 && vector === null) return rankByRecency(partition, request, visible)
  if (vector !== null) partition.vectors.assertSameSpace(vector)
  const scores = scoreWords(partition, terms, visible)
  try {
    return pick(partition, request, { scores, visible, vector })
  } finally {
    scores.release()
  }
}

interface Scored {
  readonly scores: WordScores
  readonly visible: Uint8Array
  readonly vector: Int8Array | null
}

function pick(
  partition: Partition,
  request: SearchRequest,
  { scores, visible, vector }: Scored,
): Ranked[] {
  const denseOf = (slot: number): number =>
    vector === null ? 0 : denseSteps(partition.vectors.dot(slot, vector))
  const best = new TopK(request.limit)
  offerMatched(partition, scores, { best, denseOf })
  if (!best.full) offerUnmatched(partition, scores, { best, denseOf, visible })
  return best
    .drain()
    .map(({ slot, score }) => toRanked(partition, slot, wordParts(scores, slot, score)))
    .filter(({ score }) => request.min_score === null || score >= request.min_score)
}

interface Selection {
  readonly best: TopK
  readonly denseOf: (slot: number) => number
}

/** One flag per slot: 1 where the fact is in its validity and passes the filter. */
function findVisible(partition: Partition, request: SearchRequest): Uint8Array {
  const valid = findValid(partition, request)
  let passed = valid
  for (const feature of metadataFeatures(request.filter ?? {})) {
    const both = new Uint8Array(passed.length)
    const list = partition.findPostings(feature)
    for (let at = 0; list !== undefined && at < list.size; at++) {
      const slot = list.pairs[at * 2] ?? 0
      both[slot] = passed[slot] ?? 0
    }
    passed = both
  }
  return passed
}

function findValid(partition: Partition, { visible, at_us }: SearchRequest): Uint8Array {
  const valid = new Uint8Array(partition.columns.used)
  if (visible === null) {
    for (let slot = 0; slot < valid.length; slot++) {
      // A free slot has an empty validity.
      if (partition.isValidAt(slot, at_us)) valid[slot] = 1
    }
    return valid
  }
  for (const [ref, { valid_from_us, valid_until_us }] of visible) {
    const slot = partition.slotOf(ref)
    if (slot === undefined) continue
    if (valid_from_us <= at_us && at_us < (valid_until_us ?? Number.POSITIVE_INFINITY)) {
      valid[slot] = 1
    }
  }
  return valid
}

function wordKey(scores: WordScores, slot: number): number {
  return ((scores.lexical[slot] ?? 0) + (scores.neighbour[slot] ?? 0)) * DENSE_STEPS
}

/** Likeness is computed only for what can still enter: most matched facts cannot. */
function offerMatched(
  partition: Partition,
  scores: WordScores,
  { best, denseOf }: Selection,
): void {
  for (let at = 0; at < scores.matched.size; at++) {
    const slot = scores.matched.at(at)
    const key = wordKey(scores, slot)
    if (best.full && key + DENSE_STEPS <= best.lowest) continue
    best.offer(key + denseOf(slot), partition.columns.refs[slot] ?? 0, slot)
  }
}

function offerUnmatched(
  partition: Partition,
  scores: WordScores,
  { best, denseOf, visible }: Selection & { visible: Uint8Array },
): void {
  const { refs } = partition.columns
  for (let slot = 0; slot < visible.length; slot++) {
    if (visible[slot] === 0 || wordKey(scores, slot) > 0) continue
    best.offer(denseOf(slot), refs[slot] ?? 0, slot)
  }
}

/** The n-th newest of m facts scores m - n + 1 steps: later refs are newer. */
function rankByRecency(
  partition: Partition,
  request: SearchRequest,
  visible: Uint8Array,
): Ranked[] {
  const { refs } = partition.columns
  const best = new TopK(request.limit)
  let facts = 0
  for (let slot = 0; slot < visible.length; slot++) {
    if (visible[slot] === 0 || refs[slot] === NO_REF) continue
    facts++
    best.offer(refs[slot] ?? 0, 0, slot)
  }
  return best
    .drain()
    .map(({ slot }, at) => {
      const recency = (facts - at) / KEY_UNIT
      return toRanked(partition, slot, { lexical: 0, neighbour: 0, dense: 0, recency })
    })
    .filter(({ score }) => request.min_score === null || score >= request.min_score)
}

function wordParts(scores: WordScores, slot: number, key: number): Ranked['parts'] {
  return {
    lexical: (scores.lexical[slot] ?? 0) / SCORE_UNIT,
    neighbour: (scores.neighbour[slot] ?? 0) / SCORE_UNIT,
    dense: (key - wordKey(scores, slot)) / KEY_UNIT,
    recency: 0,
  }
}

function toRanked(partition: Partition, slot: number, parts: Ranked['parts']): Ranked {
  return {
    ref: partition.columns.refs[slot] ?? NO_REF,
    score: parts.lexical + parts.neighbour + parts.dense + parts.recency,
    parts,
    token_count: partition.columns.tokenCounts[slot] ?? 0,
  }
}

function denseSteps(dot: number): number {
  return Math.min(Math.max(dot + DENSE_OFFSET, 0), DENSE_STEPS - 1)
}
