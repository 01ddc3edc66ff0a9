// How a ranking came about: what each term of the query and the likeness gave to a few facts.
import { analyse, analyseQuery, datesIn } from './analysis.ts'
import { inverseFrequency, SCORE_UNIT } from './bm25.ts'
import type { Partition } from './partition.ts'
import { bestWords, DOT_MAX, findVisible, likenessOf } from './ranking.ts'
import type { SearchRequest } from './search-request.ts'
import { takeScratch } from './search-scratch.ts'
import { scoreWords, type WordScores } from './word-scores.ts'

export interface TermScore {
  readonly term: string
  readonly score: number
}

/** Scores in BM25 units. The parts of `own` are `lexical` of the ranking, of `lent` `neighbour`. */
export interface ExplainedScore {
  readonly own: TermScore[]
  readonly lent: TermScore[]
  /** null where no vectors were compared. */
  readonly likeness: {
    readonly dot: number
    readonly cosine: number
    readonly score: number
  } | null
}

export interface ExplainedScores {
  /** `memories`: facts of the namespace that have the term, superseded ones too. */
  readonly terms: { readonly term: string; readonly memories: number; readonly weight: number }[]
  readonly best_words: number
  readonly visible: number
  readonly matched: number
  readonly scores: ReadonlyMap<number, ExplainedScore>
}

/** The same for a query that no fact was searched for. */
export const readQuery = (query: string) => ({
  terms: analyseQuery(query),
  dates: datesIn(query).map((date) => ({ date, terms: analyse(date) })),
})

/**
 * A second search, which writes down for the few facts in `refs` what each term adds: the sums are
 * those of the ranking, to the bit.
 */
export function explainScores(
  partition: Partition,
  request: SearchRequest,
  refs: readonly number[],
): ExplainedScores {
  partition.analysePending()
  const terms = analyseQuery(request.query)
  const vector = request.vector?.some((value) => value !== 0) ? request.vector : null
  const scratch = takeScratch(partition.columns.used)
  try {
    const visible = findVisible(partition, request, scratch)
    const noted = new NotedTerms(partition, refs)
    const added = (term: string, scores: WordScores) => noted.add(term, scores)
    const words = scoreWords(partition, terms, { visible, scratch, added })
    const most = bestWords(words)
    const likeness = (slot: number) =>
      vector ? likenessTo(partition, slot, { vector, most }) : null
    return {
      terms: terms.map((term) => weigh(partition, term)),
      best_words: most / SCORE_UNIT,
      visible: countFlags(visible, partition.columns.used),
      matched: words.matched.size,
      scores: new Map(
        noted.facts.map(({ ref, slot, own, lent }) => [
          ref,
          { own, lent, likeness: likeness(slot) },
        ]),
      ),
    }
  } finally {
    scratch.reset()
  }
}

/** What each term adds to a few slots: the sums after it, less the sums before. */
class NotedTerms {
  readonly facts: {
    readonly ref: number
    readonly slot: number
    readonly own: TermScore[]
    readonly lent: TermScore[]
    lexical: number
    neighbour: number
  }[]

  constructor(partition: Partition, refs: readonly number[]) {
    this.facts = refs.flatMap((ref) => {
      const slot = partition.slotOf(ref)
      if (slot === undefined) return []
      return [{ ref, slot, own: [], lent: [], lexical: 0, neighbour: 0 }]
    })
  }

  add(term: string, { lexical, neighbour }: WordScores): void {
    for (const fact of this.facts) {
      const [own, lent] = [lexical[fact.slot] ?? 0, neighbour[fact.slot] ?? 0]
      if (own > fact.lexical) fact.own.push({ term, score: (own - fact.lexical) / SCORE_UNIT })
      if (lent > fact.neighbour)
        fact.lent.push({ term, score: (lent - fact.neighbour) / SCORE_UNIT })
      fact.lexical = own
      fact.neighbour = lent
    }
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
