// How a ranking came about: what each term of the query and the likeness gave to a few facts.
import { EXPLAIN_DATES_MAX, EXPLAIN_TERMS_MAX } from '@custos/contract'
import { analyse, analyseQuery, datesIn } from './analysis.ts'
import { inverseFrequency, SCORE_UNIT } from './bm25.ts'
import type { Partition } from './partition.ts'
import { bestWords, DOT_MAX, findVisible, likenessOf } from './ranking.ts'
import type { SearchRequest } from './search-request.ts'
import { takeScratch } from './search-scratch.ts'
import { type Gains, scoreWords } from './word-scores.ts'

export interface TermScore {
  readonly term: string
  readonly score: number
}

/** Scores in BM25 units. The parts of `own` are `lexical` of the ranking, of `lent` `neighbour`. */
export interface ExplainedScore {
  readonly own: TermScore[]
  readonly lent: TermScore[]
  /** Of the terms that are not named, own and lent. */
  readonly further: number
  /** null where no vectors were compared. */
  readonly likeness: {
    readonly dot: number
    readonly cosine: number
    readonly score: number
  } | null
}

export interface ExplainedTerms {
  /** `memories`: facts of the namespace that have the term, superseded ones too. */
  readonly terms: { readonly term: string; readonly memories: number; readonly weight: number }[]
  readonly further_terms: number
}

export interface ExplainedScores extends ExplainedTerms {
  readonly best_words: number
  readonly visible: number
  readonly matched: number
  readonly scores: ReadonlyMap<number, ExplainedScore>
}

/** The same for a query that no fact was searched for. */
export function readTerms(query: string): ExplainedTerms {
  const terms = analyseQuery(query)
  const named = terms.slice(0, EXPLAIN_TERMS_MAX)
  return {
    terms: named.map((term) => ({ term, memories: 0, weight: 0 })),
    further_terms: terms.length - named.length,
  }
}

export const readDates = (query: string) =>
  datesIn(query)
    .slice(0, EXPLAIN_DATES_MAX)
    .map((date) => ({ date, terms: analyse(date) }))

/**
 * A second search, which writes down for the few facts in `refs` what each term adds: the sums are
 * those of the ranking, to the bit. It costs what a search costs, however many terms there are.
 */
export function explainScores(
  partition: Partition,
  request: SearchRequest,
  refs: readonly number[],
): ExplainedScores {
  partition.analysePending()
  const terms = analyseQuery(request.query)
  const named = terms.slice(0, EXPLAIN_TERMS_MAX)
  const vector = request.vector?.some((value) => value !== 0) ? request.vector : null
  const scratch = takeScratch(partition.columns.used)
  try {
    const visible = findVisible(partition, request, scratch)
    const gained = new NotedGains(partition, { refs, named })
    const words = scoreWords(partition, terms, { visible, scratch, gained })
    const most = bestWords(words)
    const likeness = (slot: number) =>
      vector ? likenessTo(partition, slot, { vector, most }) : null
    return {
      terms: named.map((term) => weigh(partition, term)),
      further_terms: terms.length - named.length,
      best_words: most / SCORE_UNIT,
      visible: countFlags(visible, partition.columns.used),
      matched: words.matched.size,
      scores: new Map(
        [...gained.facts].map(([slot, { ref, own, lent, further }]) => [
          ref,
          { own, lent, further: further / SCORE_UNIT, likeness: likeness(slot) },
        ]),
      ),
    }
  } finally {
    scratch.reset()
  }
}

interface NotedFact {
  readonly ref: number
  readonly own: TermScore[]
  readonly lent: TermScore[]
  /** In score units. */
  further: number
}

/** What each term gives to a few facts, by name for those that are named. */
class NotedGains implements Gains {
  readonly watched: Uint8Array
  /** By slot. */
  readonly facts = new Map<number, NotedFact>()
  readonly #named: ReadonlySet<string>

  constructor(
    partition: Partition,
    { refs, named }: { refs: readonly number[]; named: readonly string[] },
  ) {
    this.watched = new Uint8Array(partition.columns.used)
    this.#named = new Set(named)
    for (const ref of refs) {
      const slot = partition.slotOf(ref)
      if (slot === undefined) continue
      this.watched[slot] = 1
      this.facts.set(slot, { ref, own: [], lent: [], further: 0 })
    }
  }

  tell(term: string, slot: number, { own, lent }: { own: number; lent: number }): void {
    const fact = this.facts.get(slot)
    if (fact === undefined) return
    if (!this.#named.has(term)) fact.further += own + lent
    else if (own > 0) fact.own.push({ term, score: own / SCORE_UNIT })
    else fact.lent.push({ term, score: lent / SCORE_UNIT })
  }
}

function weigh(partition: Partition, term: string) {
  const memories = partition.findPostings(term)?.size ?? 0
  const weight = memories === 0 ? 0 : inverseFrequency(partition.size, memories) / SCORE_UNIT
  return { term, memories, weight }
}

function likenessTo(
  partition: Partition,
  slot: number,
  { vector, most }: { vector: Int8Array; most: number },
) {
  const dot = partition.vectors.dot(slot, vector)
  return { dot, cosine: dot / DOT_MAX, score: likenessOf(dot, most) / SCORE_UNIT }
}

function countFlags(flags: Uint8Array, used: number): number {
  let count = 0
  for (let slot = 0; slot < used; slot++) count += flags[slot] ?? 0
  return count
}
