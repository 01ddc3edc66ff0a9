// Ranking and packing of a retrieval without service and database: for evaluations.

import { loadTokenizer } from '../../../platform/tokens/tokenizer.ts'
import { StoreIndex } from '../index/store-index.ts'
import { packWithinBudget, splitDuplicates } from '../read/pack.ts'

export interface PlainFact {
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface PlainRequest {
  readonly query: string
  readonly budget_tokens: number
  readonly top_k: number | null
  readonly min_score: number | null
}

interface InProcessStore {
  /** Positions of the packed facts, best first, and their tokens. */
  retrieve(request: PlainRequest): { packed: number[]; tokens_used: number }
}

/** A store of these facts, ranked by terms alone. */
export async function openInProcess(facts: readonly PlainFact[]): Promise<InProcessStore> {
  const tokenizer = await loadTokenizer('o200k_base')
  const index = new StoreIndex(new Uint8Array(32))
  for (const [ref, { content, metadata }] of facts.entries())
    index.put({
      ref,
      content,
      metadata,
      namespace: null,
      vector: null,
      valid_from_us: 0,
      valid_until_us: null,
      token_count: tokenizer.count(content),
    })
  return {
    retrieve({ query, budget_tokens, top_k, min_score }) {
      const ranked = index.search({
        query,
        min_score,
        min_confidence: 0,
        limit: facts.length,
        vector: null,
        similar: null,
        namespace: null,
        at_us: 1,
        now_us: 1,
        filter: null,
        visible: null,
      })
      const { unique } = splitDuplicates(ranked, top_k ?? facts.length)
      const { packed } = packWithinBudget(unique, budget_tokens)
      return {
        packed: packed.map(({ ref }) => ref),
        tokens_used: packed.reduce((sum, { token_count }) => sum + token_count, 0),
      }
    },
  }
}
