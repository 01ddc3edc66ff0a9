// The history of a conversation and a retriever of memories for LangChain.

import { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import { Document } from '@langchain/core/documents'
import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from '@langchain/core/messages'
import { BaseRetriever } from '@langchain/core/retrievers'
import { ItemList } from '../item-list.ts'
import { type MemoryScope, namespaceOf, requireClient, storeOf } from '../scope.ts'

export interface ChatHistoryOptions extends Pick<MemoryScope, 'client' | 'store'> {
  /** Id of the conversation. Each conversation has its own messages. */
  readonly sessionId: string
}

/** Messages of one conversation. `clear` erases them with certificates. */
export class CustosChatHistory extends BaseListChatMessageHistory {
  override lc_namespace = ['custos', 'chat_history']
  readonly #list: ItemList

  constructor(options: ChatHistoryOptions) {
    super()
    requireClient('CustosChatHistory', options)
    if (!options.sessionId)
      throw new TypeError('CustosChatHistory needs a sessionId: the name of the conversation')
    const namespace = ['langchain', 'history', options.sessionId]
    this.#list = new ItemList({ client: options.client, store: storeOf(options), namespace })
  }

  override async getMessages(): Promise<BaseMessage[]> {
    const stored = (await this.#list.read()).map(({ value }) => value)
    // `addMessages` has written these values.
    return mapStoredMessagesToChatMessages(stored as unknown as StoredMessage[])
  }

  override async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message])
  }

  override async addMessages(messages: BaseMessage[]): Promise<void> {
    await this.#list.add(mapChatMessagesToStoredMessages(messages).map((one) => ({ ...one })))
  }

  override async clear(): Promise<void> {
    await this.#list.clear()
  }
}

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
