// Ranks the visible facts of a partition: words, own and lent, plus likeness; then by ref.
import { analyseQuery } from './analysis.ts'
import { SCORE_UNIT } from './bm25.ts'
import { metadataFeatures } from './metadata-features.ts'
import type { Partition } from './partition.ts'
import { slotIn } from './postings.ts'
import type { Ranked, SearchRequest } from './search-request.ts'
import { type SearchScratch, takeScratch } from './search-scratch.ts'
import { NO_REF } from './slot-columns.ts'
import { TopK } from './top-k.ts'
import { scoreWords, type WordScores } from './word-scores.ts'

/**
 * What a perfect likeness of vectors counts for: one and a half times the best sum of words among
 * the facts a query can see. Chosen by measurement, see docs/decisions/0015.
 */
const LIKENESS = { numerator: 3, denominator: 2 }
/** The dot product of a unit vector, times 127, with itself. */
export const DOT_MAX = 127 * 127
/** Recency stays below every other score while a partition has fewer facts than this. */
const RECENCY_STEPS = 0x10000

/**
 * The best `limit` visible facts by score descending, then ref ascending: the sum of words, own and
 * lent, plus likeness of vectors. What matches in neither follows, so that a budget is filled. A
 * query without any searchable word and without a vector has nothing to compare: the newest fact
 * comes first.
 */
export function rank(partition: Partition, request: SearchRequest): Ranked[] {
  partition.analysePending()
  const terms = analyseQuery(request.query)
  const vector = request.vector?.some((value) => value !== 0) ? request.vector : null
  if (vector !== null) partition.vectors.assertSameSpace(vector)
  const scratch = takeScratch(partition.columns.used)
  try {
    const visible = findVisible(partition, request, scratch)
    if (terms.length === 0 && vector === null) return rankByRecency(partition, request, visible)
    const scores = scoreWords(partition, terms, { visible, scratch })
    return pick(partition, request, { scores, visible, vector, scratch })
  } finally {
    scratch.reset()
  }
}

interface Scored {
  readonly scores: WordScores
  readonly visible: Uint8Array
  readonly vector: Int8Array | null
  readonly scratch: SearchScratch
}

function pick(partition: Partition, request: SearchRequest, scored: Scored): Ranked[] {
  const best = new TopK(request.limit)
  const { vector } = scored
  if (vector !== null) {
    offerFused(partition, scored, { best, vector })
  } else {
    offerMatched(partition, scored.scores, best)
    if (!best.full) offerUnmatched(partition, scored, best)
  }
  const ranked: Ranked[] = []
  for (const { slot, score } of best.drain()) {
    const one = toRanked(partition, slot, partsOf(scored.scores, slot, score))
    if (request.min_score === null || one.score >= request.min_score) ranked.push(one)
  }
  return ranked
}

/** Words and likeness of every visible fact: a fact without a word in common may come first. */
function offerFused(
  partition: Partition,
  { scores, visible, scratch }: Scored,
  { best, vector }: { best: TopK; vector: Int8Array },
): void {
  const { refs, used } = partition.columns
  const { dots } = scratch
  partition.vectors.denseScores(vector, used, dots)
  const most = bestWords(scores)
  // No dot product is worth more: what cannot enter even so is not divided for.
  const perDot = (most * LIKENESS.numerator) / (LIKENESS.denominator * DOT_MAX)
  for (let slot = 0; slot < used; slot++) {
    if (visible[slot] === 0) continue
    const words = wordsOf(scores, slot)
    const dot = dots[slot] ?? 0
    if (best.full && words + Math.max(dot, 0) * perDot + 1 < best.lowest) continue
    best.offer(words + likenessOf(dot, most), refs[slot] ?? 0, slot)
  }
}

/**
 * Likeness in score units, an integer: what points the other way counts as nothing. Where no fact
 * has a word of the query, a perfect likeness is worth one and a half units of BM25.
 */
export function likenessOf(dot: number, most: number): number {
  if (dot <= 0) return 0
  return Math.floor((most * LIKENESS.numerator * dot) / (LIKENESS.denominator * DOT_MAX))
}

export function bestWords(scores: WordScores): number {
  let most = 0
  for (let at = 0; at < scores.matched.size; at++) {
    most = Math.max(most, wordsOf(scores, scores.matched.at(at)))
  }
  return most === 0 ? SCORE_UNIT : most
}

function offerMatched(partition: Partition, scores: WordScores, best: TopK): void {
  const { refs } = partition.columns
  for (let at = 0; at < scores.matched.size; at++) {
    const slot = scores.matched.at(at)
    best.offer(wordsOf(scores, slot), refs[slot] ?? 0, slot)
  }
}

function offerUnmatched(partition: Partition, { scores, visible }: Scored, best: TopK): void {
  const { refs, used } = partition.columns
  for (let slot = 0; slot < used; slot++) {
    if (visible[slot] === 0 || wordsOf(scores, slot) > 0) continue
    best.offer(0, refs[slot] ?? 0, slot)
  }
}

/** One flag per slot: 1 where the fact is in its validity and passes the filter. */
export function findVisible(
  partition: Partition,
  request: SearchRequest,
  { seen, passed }: SearchScratch,
): Uint8Array {
  let visible = findValid(partition, request, seen)
  for (const feature of metadataFeatures(request.filter ?? {})) {
    const both = visible === passed ? seen : passed
    both.fill(0, 0, partition.columns.used)
    const postings = partition.findPostings(feature)
    for (let at = 0; postings !== undefined && at < postings.size; at++) {
      const slot = slotIn(postings.array[postings.start + at] ?? 0)
      both[slot] = visible[slot] ?? 0
    }
    visible = both
  }
  return visible
}

function findValid(
  partition: Partition,
  { visible, at_us }: SearchRequest,
  seen: Uint8Array,
): Uint8Array {
  if (visible === null) return partition.visibility.at(at_us)
  seen.fill(0, 0, partition.columns.used)
  for (const [ref, { valid_from_us, valid_until_us }] of visible) {
    const slot = partition.slotOf(ref)
    if (slot === undefined) continue
    if (valid_from_us <= at_us && at_us < (valid_until_us ?? Number.POSITIVE_INFINITY)) {
      seen[slot] = 1
    }
  }
  return seen
}

function wordsOf(scores: WordScores, slot: number): number {
  return (scores.lexical[slot] ?? 0) + (scores.neighbour[slot] ?? 0)
}

/** The n-th newest of m facts scores m - n + 1 steps: later refs are newer. */
function rankByRecency(
  partition: Partition,
  request: SearchRequest,
  visible: Uint8Array,
): Ranked[] {
  const { refs, used } = partition.columns
  const best = new TopK(request.limit)
  let facts = 0
  for (let slot = 0; slot < used; slot++) {
    if (visible[slot] === 0 || refs[slot] === NO_REF) continue
    facts++
    best.offer(refs[slot] ?? 0, 0, slot)
  }
  return best
    .drain()
    .map(({ slot }, at) => {
      const recency = (facts - at) / (SCORE_UNIT * RECENCY_STEPS)
      return toRanked(partition, slot, { lexical: 0, neighbour: 0, dense: 0, recency })
    })
    .filter(({ score }) => request.min_score === null || score >= request.min_score)
}

function partsOf(scores: WordScores, slot: number, score: number): Ranked['parts'] {
  return {
    lexical: (scores.lexical[slot] ?? 0) / SCORE_UNIT,
    neighbour: (scores.neighbour[slot] ?? 0) / SCORE_UNIT,
    dense: (score - wordsOf(scores, slot)) / SCORE_UNIT,
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
