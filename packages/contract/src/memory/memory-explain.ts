// The reply of a retrieval with `explain`: how the query was parsed and each memory was ranked.

import Type, { type Static } from 'typebox'
import { Count, count, integer, Nullable, number, Ref, text } from '../core/common.ts'

/** The most omitted candidates that are listed. */
export const EXPLAIN_DROPPED_MAX = 50
/** The most returned memories that are explained: the first ones. */
export const EXPLAIN_PACKED_MAX = 200
/** The most terms and dates of the query that are listed: the first ones. */
export const EXPLAIN_TERMS_MAX = 256
export const EXPLAIN_DATES_MAX = 50

export const Ranking = Type.Enum(['fused', 'lexical'], {
  title: 'Ranking',
  description:
    '`fused`: by words and vectors. `lexical`: by words alone, because the store has no embedder ' +
    'or it did not answer in time',
})

const TermScore = Type.Object(
  { term: text('The term'), score: number('Its contribution to the score') },
  { title: 'TermScore', description: 'What one term adds to a score' },
)

const QueryTerm = Type.Object({
  term: text('The term as it is searched for: case-folded and stemmed'),
  memories: count(
    'Memories of the namespace that contain it, superseded ones included, expired ones not',
  ),
  weight: number('Its weight: higher the fewer memories contain it'),
  similar: Type.Array(Type.String(), {
    description: 'Terms that count as it, at half weight: of similar meaning, or another name',
  }),
})

/**
 * Why a memory was returned. The scores of `own` and `lent`, `further`, the score of `likeness`,
 * and `speaker` to `recency` add up to `score` exactly.
 */
const PackedReason = Type.Object({
  ref: Ref,
  rank: integer('Rank among the candidates, from 1', { minimum: 1 }),
  score: Type.Number(),
  own: Type.Array(TermScore, { description: 'Terms of the query that the memory contains' }),
  lent: Type.Array(TermScore, {
    description: 'Terms of the query that only neighbouring memories of its session contain',
  }),
  further: number('Contribution of the terms that are not listed'),
  likeness: Nullable(
    Type.Object(
      {
        dot: integer('Dot product of the two vectors, in units of 1/127'),
        cosine: number('The dot product over 127 x 127: from -1 to 1, but for rounding'),
        neighbour_dot: integer('Dot product of the more similar neighbour in the session, or 0'),
        score: number('Contribution of both to the score'),
      },
      { description: 'Similarity of the vectors; null where none were compared' },
    ),
  ),
  speaker: number('Contribution of a speaker whom the query names'),
  date: number('Contribution of a day that the query names'),
  question: number('What a short question loses'),
  message: number('What a piece of a message loses where a better one is nearby'),
  session: number('Share of the best score in its session'),
  recency: number('Contribution of the age of the memory'),
})

/**
 * `over_budget`: longer than the rest of the budget. `below_min_score`, `beyond_top_k`: options of
 * the request. `below_min_confidence`: an option of the request, or no memory is about the query.
 * `duplicate`: a better ranked memory has exactly its content. `budget_filled`: the rest of the
 * budget was too small to consider later candidates. `hidden`: it is being erased, so it is not
 * shown.
 */
export const DROP_REASONS = [
  'over_budget',
  'below_min_score',
  'below_min_confidence',
  'beyond_top_k',
  'duplicate',
  'budget_filled',
  'hidden',
] as const
export type DropReason = (typeof DROP_REASONS)[number]

const DroppedReason = Type.Object({
  ref: Nullable(Ref),
  rank: Nullable(integer('Rank among the candidates, from 1', { minimum: 1 })),
  score: Nullable(Type.Number()),
  token_count: Nullable(Count),
  reason: Type.Enum(DROP_REASONS, {
    description:
      '`over_budget`: longer than the rest of the budget. `below_min_score`, `beyond_top_k`: ' +
      'excluded by the request. `below_min_confidence`: by the request, or because no memory is ' +
      'about the query. `duplicate`: a better ranked memory has exactly its content. ' +
      '`budget_filled`: the budget was spent before it was considered. ' +
      '`hidden`: being erased, so nothing of it is shown.',
  }),
})

const QueryDate = Type.Object({
  date: text('The date'),
  terms: Type.Array(Type.String(), { description: 'Terms searched for because of it' }),
})

export const Explanation = Type.Object({
  query: Type.Object(
    {
      terms: Type.Array(QueryTerm, {
        maxItems: EXPLAIN_TERMS_MAX,
        description: 'The first terms, by name',
      }),
      further_terms: count('Number of terms that are not listed'),
      dates: Type.Array(QueryDate, {
        maxItems: EXPLAIN_DATES_MAX,
        description: 'The first dates recognised in the query',
      }),
      days: Type.Array(
        Type.Object({
          expression: text('The words of the query'),
          from: text('The first day that it means, as an ISO 8601 date'),
          to: text('The last day that it means'),
        }),
        { description: 'Days that the query names: memories of these days get `date`' },
      ),
    },
    { description: 'How the query was read' },
  ),
  ranking: Ranking,
  space: Nullable(text('Vector space of the compared vectors; null where none were compared')),
  best_words: number('Best lexical score: a similarity of 1 adds one and a half times as much'),
  candidates: Type.Object(
    {
      visible: count('Memories that were valid at the time and pass the filter'),
      matched: count('Of those, memories with a term of the query, own or lent'),
      ranked: count('Of those, memories considered for the budget'),
    },
    { description: 'How many memories each step kept' },
  ),
  packed: Type.Array(PackedReason, {
    maxItems: EXPLAIN_PACKED_MAX,
    description: 'The first memories of the reply, in its order',
  }),
  dropped: Type.Array(DroppedReason, {
    maxItems: EXPLAIN_DROPPED_MAX,
    description: 'The best memories that were left out, by rank; hidden ones last',
  }),
})
export type Explanation = Static<typeof Explanation>
