// The explanation of a retrieval: the terms of the query, each score, and the memories left out.

import {
  type DropReason,
  EXPLAIN_DROPPED_MAX,
  EXPLAIN_PACKED_MAX,
  type Explanation,
  type Language,
} from '@custos/contract'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { findFactStates, LIVE } from '../facts/facts.sql.ts'
import {
  type ExplainedScores,
  explainQueryDates,
  explainQueryTerms,
} from '../index/explain-scores.ts'
import type { RankedFact, SearchOptions } from '../index/ranking.ts'
import type { StoreIndex } from '../index/store-index.ts'
import { makeAnalyser } from '../text/analysis.ts'
import { packWithinBudget, splitDuplicates } from './pack.ts'

/** Facts ranked below the last candidate that are added to show what was left out. */
const FURTHER = EXPLAIN_DROPPED_MAX
/** Maximum number of scores explained: those shown, and a reserve for hidden facts. */
const EXPLAINED_MAX = EXPLAIN_PACKED_MAX + EXPLAIN_DROPPED_MAX

/** What an explanation needs from the index, read before the first await. */
export interface ExplainedRanking {
  /** The candidates for the budget, without repeated contents. */
  readonly ranked: readonly RankedFact[]
  readonly top_k: number
  readonly min_score: number | null
  readonly min_confidence: number | null
  /** The ranking without `min_score`, and somewhat longer. */
  readonly all: readonly RankedFact[]
  readonly scores: ExplainedScores | null
}

/** @param bounds a ranking, and what it was requested with; `limit`: candidates */
export function beginExplanation(
  index: StoreIndex,
  search: Omit<SearchOptions, 'limit'>,
  bounds: { ranked: readonly RankedFact[]; limit: number; top_k: number; budget_tokens: number },
): ExplainedRanking {
  const { ranked, limit, top_k, budget_tokens } = bounds
  const wider = { ...search, min_score: null, min_confidence: 0, limit: limit + FURTHER }
  const { unique } = splitDuplicates(ranked, top_k)
  const refs = chooseExplainedRefs(unique, budget_tokens)
  const { min_score, min_confidence } = search
  return {
    ranked: unique,
    top_k,
    min_score,
    min_confidence,
    all: index.search(wider),
    scores: index.explain(wider, refs),
  }
}

// Hidden facts are known only after their rows are read. If many are hidden, a fact that is packed
// in their place from far down the ranking is not explained.
function chooseExplainedRefs(ranked: readonly RankedFact[], budget_tokens: number): number[] {
  const { packed } = packWithinBudget(ranked, budget_tokens)
  const refs = new Set(packed.slice(0, EXPLAIN_PACKED_MAX).map(({ ref }) => ref))
  for (const { ref } of ranked) {
    if (refs.size >= EXPLAINED_MAX) break
    refs.add(ref)
  }
  return [...refs]
}

interface ExplainedAnswer {
  readonly query: string
  /** Languages of the store. */
  readonly languages: readonly Language[]
  /** Embedding space of the compared vectors; `null` if none were compared. */
  readonly space: string | null
  readonly memories: readonly { readonly ref: number }[]
  readonly hidden: ReadonlySet<number>
}

/** @param explained `null` if the store has nothing to search */
export async function endExplanation(
  db: TenantDb,
  explained: ExplainedRanking | null,
  answered: ExplainedAnswer,
): Promise<Explanation> {
  const { scores, ranked = [] } = explained ?? {}
  const { terms, further_terms } =
    scores ?? explainQueryTerms(answered.query, makeAnalyser(answered.languages))
  return {
    query: {
      terms,
      further_terms,
      dates: explainQueryDates(answered.query),
      days: scores?.days ?? [],
    },
    ranking: answered.space === null ? 'lexical' : 'fused',
    space: answered.space,
    best_words: scores?.best_words ?? 0,
    candidates: {
      visible: scores?.visible ?? 0,
      matched: scores?.matched ?? 0,
      ranked: ranked.length,
    },
    packed: explained ? explainPacked(explained, answered) : [],
    dropped: explained ? await explainDropped(db, explained, answered) : [],
  }
}

function explainPacked({ all, scores }: ExplainedRanking, { memories }: ExplainedAnswer) {
  const positions = new Map<number, { one: RankedFact; rank: number }>()
  for (const [at, one] of all.entries())
    if (scores?.scores.has(one.ref)) positions.set(one.ref, { one, rank: at + 1 })
  return memories.slice(0, EXPLAIN_PACKED_MAX).flatMap(({ ref }): Explanation['packed'] => {
    const position = positions.get(ref)
    const explainedScore = scores?.scores.get(ref)
    if (!position || !explainedScore) return []
    const { score, parts } = position.one
    const { speaker, date, question, message, session, recency } = parts
    const { rank } = position
    return [
      { ref, rank, score, ...explainedScore, speaker, date, question, message, session, recency },
    ]
  })
}

// A fact that is being erased stays in the index until the erasure. The explanation shows only that
// something was left out.
async function explainDropped(
  db: TenantDb,
  explained: ExplainedRanking,
  { memories, hidden }: ExplainedAnswer,
): Promise<Explanation['dropped']> {
  const packed = new Set(memories.map(({ ref }) => ref))
  const ranked = new Set(explained.ranked.map(({ ref }) => ref))
  const listed = explained.all
    .flatMap((one, at) => (packed.has(one.ref) ? [] : [{ one, at }]))
    .slice(0, EXPLAIN_DROPPED_MAX)
  const refs = listed.map(({ one }) => one.ref)
  const states = new Map((await findFactStates(db, refs)).map(({ ref, state }) => [ref, state]))
  const isHidden = (ref: number) => hidden.has(ref) || states.get(ref) !== LIVE
  const shown = listed.filter(({ one }) => !isHidden(one.ref))
  const { min_score, min_confidence, top_k, all } = explained
  const visible = all.filter(({ ref }) => packed.has(ref) || !isHidden(ref))
  const repeated = splitDuplicates(visible, all.length).duplicates
  const duplicates = new Set(repeated.map(({ ref }) => ref))
  const areUnrelated = min_confidence === null && ranked.size === 0
  const reasonOf = ({ ref, score, confidence }: RankedFact, at: number): DropReason => {
    if (ranked.has(ref)) return 'over_budget'
    if (min_score !== null && score < min_score) return 'below_min_score'
    if (areUnrelated || confidence < (min_confidence ?? 0)) return 'below_min_confidence'
    if (duplicates.has(ref)) return 'duplicate'
    const position = all.slice(0, at).filter((one) => !duplicates.has(one.ref)).length
    return position >= top_k ? 'beyond_top_k' : 'budget_filled'
  }
  return [
    ...shown.map(({ one, at }) => {
      const { ref, score, token_count } = one
      return { ref, rank: at + 1, score, token_count, reason: reasonOf(one, at) }
    }),
    ...Array.from({ length: listed.length - shown.length }, () => HIDDEN),
  ]
}

const HIDDEN = {
  ref: null,
  rank: null,
  score: null,
  token_count: null,
  reason: 'hidden',
} as const
