// What an answer says of itself when it is asked to explain: each score, and what was left out.

import { type DropReason, EXPLAIN_DROPPED_MAX, type Explanation } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { findStates, LIVE } from './facts.sql.ts'
import { type ExplainedScores, readQuery } from './retrieval/explain.ts'
import type { Ranked, SearchRequest } from './retrieval/search-request.ts'
import type { StoreIndex } from './retrieval/store-index.ts'

/** How far below the last candidate it is looked for what was left out. */
const FURTHER = EXPLAIN_DROPPED_MAX

/** What was ranked for an answer, and the bounds it was asked for with. */
export interface RankedFor {
  readonly ranked: readonly Ranked[]
  /** As many candidates were asked for. */
  readonly limit: number
  readonly top_k: number
}

/** All that the index knows of an answer, taken before anything is awaited. */
export interface ExplainedRanking {
  readonly ranked: readonly Ranked[]
  readonly top_k: number
  readonly min_score: number | null
  /** The ranking without the least score, and a little further down. */
  readonly all: readonly Ranked[]
  readonly scores: ExplainedScores | null
}

export function beginExplanation(
  index: StoreIndex,
  request: Omit<SearchRequest, 'limit'>,
  { ranked, limit, top_k }: RankedFor,
): ExplainedRanking {
  const open = { ...request, min_score: null, limit: limit + FURTHER }
  // All of them: which are packed is known once it is known which are hidden.
  const refs = ranked.map(({ ref }) => ref)
  const { min_score } = request
  return { ranked, top_k, min_score, all: index.search(open), scores: index.explain(open, refs) }
}

export interface Answered {
  readonly query: string
  /** Of the vectors compared; null: none were. */
  readonly space: string | null
  readonly memories: readonly { readonly ref: number }[]
  readonly hidden: ReadonlySet<number>
}

/** @param explained null where the store has nothing to search */
export async function endExplanation(
  db: TenantDb,
  explained: ExplainedRanking | null,
  answered: Answered,
): Promise<Explanation> {
  const { terms, dates } = readQuery(answered.query)
  const { scores, ranked = [] } = explained ?? {}
  return {
    query: {
      terms: scores?.terms ?? terms.map((term) => ({ term, memories: 0, weight: 0 })),
      dates,
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

function explainPacked({ all, scores }: ExplainedRanking, { memories }: Answered) {
  const places = new Map(all.map((one, at) => [one.ref, { one, rank: at + 1 }]))
  return memories.flatMap(({ ref }): Explanation['packed'] => {
    const place = places.get(ref)
    const made = scores?.scores.get(ref)
    if (!place || !made) return []
    const { score, parts } = place.one
    return [{ ref, rank: place.rank, score, ...made, recency: parts.recency }]
  })
}

// What is being erased stands in the index until it is gone: nothing of it is shown but that
// something was left out.
async function explainDropped(
  db: TenantDb,
  explained: ExplainedRanking,
  { memories, hidden }: Answered,
): Promise<Explanation['dropped']> {
  const packed = new Set(memories.map(({ ref }) => ref))
  const ranked = new Set(explained.ranked.map(({ ref }) => ref))
  const listed = explained.all
    .flatMap((one, at) => (packed.has(one.ref) ? [] : [{ one, at }]))
    .slice(0, EXPLAIN_DROPPED_MAX)
  const refs = listed.map(({ one }) => one.ref)
  const states = new Map((await findStates(db, refs)).map(({ ref, state }) => [ref, state]))
  const isHidden = (ref: number) => hidden.has(ref) || states.get(ref) !== LIVE
  const shown = listed.filter(({ one }) => !isHidden(one.ref))
  const { min_score, top_k } = explained
  const reasonOf = ({ ref, score }: Ranked, at: number): DropReason => {
    if (ranked.has(ref)) return 'over_budget'
    if (min_score !== null && score < min_score) return 'below_min_score'
    return at >= top_k ? 'beyond_top_k' : 'budget_filled'
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
