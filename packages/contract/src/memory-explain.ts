// What a retrieval with `explain` says: how it read the query, and why each memory is where it is.

import Type, { type Static } from 'typebox'
import { Nullable, Ref } from './common.ts'

/** Candidates that were left out and are listed, at most. */
export const EXPLAIN_DROPPED_MAX = 50
/** Memories of the answer that are explained, at most: the first. */
export const EXPLAIN_PACKED_MAX = 200
/** Terms and dates of the query that are named, at most: the first. */
export const EXPLAIN_TERMS_MAX = 256
export const EXPLAIN_DATES_MAX = 50

const Count = Type.Integer({ minimum: 0 })

const TermScore = Type.Object({ term: Type.String(), score: Type.Number() })

const QueryTerm = Type.Object({
  term: Type.String({ description: 'As it is looked for: folded and stemmed' }),
  memories: Type.Integer({
    minimum: 0,
    description: 'Memories of the namespace that have it, superseded ones too',
  }),
  weight: Type.Number({ description: 'What it is worth by how few have it' }),
})

/**
 * The scores of `own` and `lent`, `further`, that of `likeness` and `recency` add up to `score`
 * exactly.
 */
const PackedReason = Type.Object({
  ref: Ref,
  rank: Type.Integer({ minimum: 1 }),
  score: Type.Number(),
  own: Type.Array(TermScore, { description: 'Terms of the query that the memory has' }),
  lent: Type.Array(TermScore, {
    description: 'Terms it lacks and that memories beside it in its session have',
  }),
  further: Type.Number({
    description: 'What terms of the query that are not named gave, own and lent together',
  }),
  likeness: Nullable(
    Type.Object({
      dot: Type.Integer({ description: 'Dot product of the two vectors, in units of 1/127' }),
      cosine: Type.Number({
        description: 'The same over 127 x 127, from -1 to 1 but for rounding',
      }),
      score: Type.Number(),
    }),
  ),
  recency: Type.Number(),
})

/**
 * `over_budget`: longer than what was left. `below_min_score`, `beyond_top_k`: by the request.
 * `budget_filled`: so little was left that nothing further down was looked at. `hidden`: being
 * erased, so nothing of it is shown.
 */
export const DROP_REASONS = [
  'over_budget',
  'below_min_score',
  'beyond_top_k',
  'budget_filled',
  'hidden',
] as const
export type DropReason = (typeof DROP_REASONS)[number]

const DroppedReason = Type.Object({
  ref: Nullable(Ref),
  rank: Nullable(Type.Integer({ minimum: 1 })),
  score: Nullable(Type.Number()),
  token_count: Nullable(Count),
  reason: Type.Enum(DROP_REASONS),
})

export const Explanation = Type.Object({
  query: Type.Object({
    terms: Type.Array(QueryTerm, {
      maxItems: EXPLAIN_TERMS_MAX,
      description: 'The first of them, by name',
    }),
    further_terms: Type.Integer({ minimum: 0, description: 'Terms that are not named' }),
    dates: Type.Array(Type.Object({ date: Type.String(), terms: Type.Array(Type.String()) }), {
      maxItems: EXPLAIN_DATES_MAX,
      description: 'The first dates recognised in the query, and the terms each gave',
    }),
  }),
  ranking: Type.Enum(['fused', 'lexical']),
  space: Nullable(Type.String({ description: 'Of the vectors compared; null: none were' })),
  best_words: Type.Number({
    description: 'The best sum of words: a likeness of 1 is worth one and a half times as much',
  }),
  candidates: Type.Object({
    visible: Type.Integer({ minimum: 0, description: 'Valid then, and passing the filter' }),
    matched: Type.Integer({ minimum: 0, description: 'Of those, with a term, own or lent' }),
    ranked: Type.Integer({ minimum: 0, description: 'Of those, offered to the budget' }),
  }),
  packed: Type.Array(PackedReason, {
    maxItems: EXPLAIN_PACKED_MAX,
    description: 'The first memories of the answer, in its order',
  }),
  dropped: Type.Array(DroppedReason, {
    maxItems: EXPLAIN_DROPPED_MAX,
    description: 'The best of what was left out, by rank; hidden ones last',
  }),
})
export type Explanation = Static<typeof Explanation>
