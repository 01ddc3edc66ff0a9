// Explains a ranking: what each query term and the vector similarity added to the scores of a few
// facts.

import { EXPLAIN_DATES_MAX, EXPLAIN_TERMS_MAX } from '@custos/contract'
import { DAY_US, formatTime } from '../../../platform/clock.ts'
import { analyse, ENGLISH, findDates, type TextAnalyser } from '../text/analysis.ts'
import { findDateRanges } from '../text/date-expressions.ts'
import { finish } from './columns/steps.ts'
import { DOT_MAX } from './confidence.ts'
import { FusedScores } from './fused-scores.ts'
import {
  computeTermWeight,
  type GainObserver,
  SCORE_UNIT,
  scoreTerms,
  takeScratch,
} from './lexical-scores.ts'
import type { Partition } from './partition.ts'
import { findVisible, type SearchOptions } from './ranking.ts'

interface TermScore {
  readonly term: string
  readonly score: number
}

/** Scores in BM25 units. `own` sums to the score part `lexical`, `lent` to `neighbour`. */
interface ExplainedScore {
  readonly own: TermScore[]
  readonly lent: TermScore[]
  /** Sum of own and lent scores of the terms that are not listed. */
  readonly further: number
  /** `null` if no vectors were compared. */
  readonly likeness: {
    readonly dot: number
    readonly cosine: number
    readonly neighbour_dot: number
    readonly score: number
  } | null
}

interface ExplainedTerms {
  /** `memories` counts unexpired facts of the namespace with the term, superseded ones included. */
  readonly terms: {
    readonly term: string
    readonly memories: number
    readonly weight: number
    readonly similar: string[]
  }[]
  readonly further_terms: number
}

export interface ExplainedScores extends ExplainedTerms {
  readonly days: ReturnType<typeof explainQueryDays>
  readonly best_words: number
  readonly visible: number
  readonly matched: number
  readonly scores: ReadonlyMap<number, ExplainedScore>
}

/** The query terms of a search that had no facts to search. */
export function explainQueryTerms(query: string, analyser: TextAnalyser = ENGLISH): ExplainedTerms {
  const terms = analyser.analyseQuery(query)
  const named = terms.slice(0, EXPLAIN_TERMS_MAX)
  return {
    terms: named.map((term) => ({ term, memories: 0, weight: 0, similar: [] })),
    further_terms: terms.length - named.length,
  }
}

export const explainQueryDates = (query: string) =>
  findDates(query)
    .slice(0, EXPLAIN_DATES_MAX)
    .map((date) => ({ date, terms: analyse(date) }))

const explainQueryDays = (query: string, at_us: number) =>
  findDateRanges(query, at_us).map(({ text, first_day, last_day }) => ({
    expression: text,
    from: formatTime(first_day * DAY_US).slice(0, 10),
    to: formatTime(last_day * DAY_US).slice(0, 10),
  }))

/**
 * Searches again and records what each term adds to the facts in `refs`. The sums equal those of
 * the ranking, bit for bit. Costs as much as a search, for any number of terms.
 */
export function explainScores(
  partition: Partition,
  options: SearchOptions,
  refs: readonly number[],
): ExplainedScores {
  partition.analysePending()
  const terms = partition.analyser.analyseQuery(options.query)
  const named = terms.slice(0, EXPLAIN_TERMS_MAX)
  const vector = options.vector?.some((value) => value !== 0) ? options.vector : null
  const scratch = takeScratch(partition)
  try {
    const visible = finish(findVisible(partition, options, scratch))
    const observer = new ExplainedGains(partition, { refs, named })
    const { similar, now_us } = options
    const input = { visible, now_us, scratch, similar }
    const scores = finish(scoreTerms(partition, terms, { ...input, observer }))
    const dates = findDateRanges(options.query, options.at_us)
    const { uncalibrated = false } = options
    const fused = new FusedScores(partition, {
      ...{ terms, scores, visible, dates, vector, uncalibrated, scratch },
    })
    finish(fused.prepare())
    const likeness = (slot: number) => (vector ? explainLikeness(fused, slot) : null)
    return {
      terms: named.map((term) =>
        explainTerm(partition, now_us, {
          term,
          similar: [...(similar?.get(term) ?? []), ...(scores.aliases.get(term) ?? [])],
        }),
      ),
      further_terms: terms.length - named.length,
      days: explainQueryDays(options.query, options.at_us),
      best_words: fused.bestScore / SCORE_UNIT,
      visible: countFlags(visible, partition.columns.used),
      matched: scores.matched.size,
      scores: new Map(
        [...observer.facts].map(([slot, { ref, own, lent, further }]) => [
          ref,
          { own, lent, further: further / SCORE_UNIT, likeness: likeness(slot) },
        ]),
      ),
    }
  } finally {
    scratch.reset()
  }
}

interface ExplainedGain {
  readonly ref: number
  readonly own: TermScore[]
  readonly lent: TermScore[]
  /** In score units. */
  further: number
}

/** Records score gains of a few facts, itemised for the listed terms. */
class ExplainedGains implements GainObserver {
  readonly watched: Uint8Array
  /** Gains by slot. */
  readonly facts = new Map<number, ExplainedGain>()
  readonly #named: ReadonlySet<string>

  constructor(
    partition: Partition,
    { refs, named }: { refs: readonly number[]; named: readonly string[] },
  ) {
    this.watched = new Uint8Array(partition.columns.used)
    this.#named = new Set(named)
    for (const ref of refs) {
      const slot = partition.findSlot(ref)
      if (slot === undefined) continue
      this.watched[slot] = 1
      this.facts.set(slot, { ref, own: [], lent: [], further: 0 })
    }
  }

  onGain(term: string, slot: number, { own, lent }: { own: number; lent: number }): void {
    const fact = this.facts.get(slot)
    if (fact === undefined) return
    if (!this.#named.has(term)) fact.further += own + lent
    else if (own > 0) fact.own.push({ term, score: own / SCORE_UNIT })
    else fact.lent.push({ term, score: lent / SCORE_UNIT })
  }
}

function explainTerm(
  partition: Partition,
  now_us: number,
  { term, similar }: { term: string; similar: readonly string[] },
) {
  const statistics = partition.statisticsAt(now_us)
  const postings = partition.findPostings(term)
  const memories = postings ? statistics.countWith(postings) : 0
  const weight = memories === 0 ? 0 : computeTermWeight(statistics.facts, memories) / SCORE_UNIT
  const found = similar.filter((other) => {
    const others = partition.findPostings(other)
    return others !== undefined && statistics.countWith(others) > 0
  })
  return { term, memories, weight, similar: found }
}

function explainLikeness(fused: FusedScores, slot: number) {
  const { dot, neighbour, score } = fused.likenessOf(slot)
  return { dot, cosine: dot / DOT_MAX, neighbour_dot: neighbour, score: score / SCORE_UNIT }
}

function countFlags(flags: Uint8Array, used: number): number {
  let count = 0
  for (let slot = 0; slot < used; slot++) count += flags[slot] ?? 0
  return count
}
