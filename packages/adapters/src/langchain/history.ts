// The messages of a conversation of LangChain.

import { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from '@langchain/core/messages'
import { ItemList } from '../item-list.ts'
import { type MemoryScope, requireClient, storeOf } from '../scope.ts'

export interface ChatHistoryOptions extends Pick<MemoryScope, 'client' | 'store'> {
  /** Names the conversation; each has messages of its own. */
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
    // What `addMessages` has written.
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
