// A retriever of LangChain over memories.

import { Document } from '@langchain/core/documents'
import { BaseRetriever } from '@langchain/core/retrievers'
import { type MemoryScope, namespaceOf, requireClient, storeOf } from '../scope.ts'

export interface RetrieverOptions extends MemoryScope {
  /** The most tokens of one retrieval; default: 1,024. */
  readonly budgetTokens?: number
}

/** Memories as documents, within a token budget: `ref` and `score` are in their metadata. */
export class CustosRetriever extends BaseRetriever {
  override lc_namespace = ['custos', 'retrievers']
  readonly #options: RetrieverOptions

  constructor(options: RetrieverOptions) {
    super()
    requireClient('CustosRetriever', options)
    this.#options = options
  }

  override async _getRelevantDocuments(query: string): Promise<Document[]> {
    const { client, budgetTokens = 1_024 } = this.#options
    const body = { query, budget_tokens: budgetTokens, ...namespaceOf(this.#options) }
    const { memories } = await client.memory.retrieve(storeOf(this.#options), body)
    return memories.map(({ ref, content, ...rest }) => {
      const score = 'score' in rest ? rest.score : undefined
      return new Document({ pageContent: content, id: String(ref), metadata: { ref, score } })
    })
  }
}
