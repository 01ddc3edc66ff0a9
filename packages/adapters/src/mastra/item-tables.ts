// The tables of Mastra's memory as namespaces of keyed items. What is deleted is erased.

import { type Custos, isRefusal } from '@custos/client'
import type { MastraDBMessage } from '@mastra/core/agent/message-list'
import { ItemList, type Json } from '../item-list.ts'
import { messageJson } from './rows.ts'

type Operation = Parameters<Custos['items']['batch']>[1]['operations'][number]

/** `places` maps the id of a message to the id of its thread. */
type Table = 'threads' | 'resources' | 'places'

/** Maximum operations in one request. */
const BATCH_MAX = 100
const ATTEMPTS_MAX = 20
const PAGE = 1_000

const ROOT = 'mastra'
const PLACES = 'places'
const namespaceOf = (table: Table): string[] => [ROOT, table]
const ofThread = (threadId: string): string[] => [ROOT, 'messages', threadId]

export class ItemTables {
  readonly #client: Custos
  readonly #store: string

  constructor(client: Custos, store: string) {
    this.#client = client
    this.#store = store
  }

  /** The row and the ref of its current version, or null. */
  async get(table: Table, key: string): Promise<{ value: Json; ref: number } | null> {
    if (key === '') return null
    const { item } = await this.#client.items.get(this.#store, {
      namespace: namespaceOf(table),
      key,
    })
    return item
  }

  /** The rows of several keys, by key. */
  async getMany(table: Table, keys: Iterable<string>) {
    const wanted = [...new Set(keys)].filter((key) => key !== '')
    const found = new Map<string, { value: Json; ref: number }>()
    for (let at = 0; at < wanted.length; at += BATCH_MAX) {
      const operations = wanted
        .slice(at, at + BATCH_MAX)
        .map((key): Operation => ({ op: 'get', namespace: namespaceOf(table), key }))
      const { results } = await this.#client.items.batch(this.#store, { operations })
      for (const result of results)
        if ('item' in result && result.item) found.set(result.item.key, result.item)
    }
    return found
  }

  /** Thread ids by the ids of messages. */
  async threadsOf(messageIds: Iterable<string>): Promise<Map<string, string>> {
    const rows = await this.getMany(PLACES, messageIds)
    return new Map([...rows].map(([id, { value }]) => [id, String(value['threadId'])]))
  }

  /** Every row, in order of creation. */
  async list(table: Table, filter?: Json): Promise<Json[]> {
    return await this.#values(namespaceOf(table), filter)
  }

  async messagesOf(threadId: string): Promise<Json[]> {
    return await this.#values(ofThread(threadId))
  }

  async messagesOfResource(resourceId: string): Promise<Json[]> {
    return await this.#values([ROOT, 'messages'], { resourceId })
  }

  async #values(namespace: string[], filter?: Json): Promise<Json[]> {
    const list = new ItemList({ client: this.#client, store: this.#store, namespace })
    return (await list.read(filter)).map(({ value }) => value)
  }

  /** With `ref`, the put fails unless that is still the current version. */
  put(table: Table, key: string, value: Json, ref?: number): Operation {
    const condition = ref === undefined ? {} : { if_ref: ref }
    return { op: 'put', namespace: namespaceOf(table), key, value, index: false, ...condition }
  }

  delete(table: Table, key: string): Operation {
    return { op: 'delete', namespace: namespaceOf(table), key }
  }

  /** Puts a message into a thread and deletes it from its previous thread, if that is another. */
  putMessage(
    message: MastraDBMessage,
    threadId: string,
    previousThreadId: string | undefined,
  ): Operation[] {
    const { id } = message
    const value = messageJson(message)
    return [
      ...(previousThreadId === undefined || previousThreadId === threadId
        ? []
        : [{ op: 'delete' as const, namespace: ofThread(previousThreadId), key: id }]),
      { op: 'put', namespace: ofThread(threadId), key: id, value, index: false },
      ...(previousThreadId === threadId ? [] : [this.put(PLACES, id, { threadId })]),
    ]
  }

  deleteMessage(id: string, threadId: string): Operation[] {
    return [{ op: 'delete', namespace: ofThread(threadId), key: id }, this.delete(PLACES, id)]
  }

  /**
   * Runs up to 100 operations atomically. Returns the certificate ids of each operation; a put has
   * none.
   */
  async change(operations: readonly Operation[]): Promise<readonly string[][]> {
    if (operations.length === 0) return []
    const body = { operations: [...operations] }
    const { results } = await this.#client.items.batch(this.#store, body)
    return results.map((result) => ('certificate_ids' in result ? result.certificate_ids : []))
  }

  /** Retries `act` while another writer changes an item between its read and its put. */
  async retryOnConflict<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await act()
      } catch (error) {
        if (attempt >= ATTEMPTS_MAX || !isRefusal(error, 'item_changed')) throw error
      }
  }

  async clear(): Promise<void> {
    for (;;) {
      const page = { namespace_prefix: [ROOT], limit: PAGE }
      const { items } = await this.#client.items.search(this.#store, page)
      if (items.length === 0) return
      for (let at = 0; at < items.length; at += BATCH_MAX)
        await this.change(
          items
            .slice(at, at + BATCH_MAX)
            .map(({ namespace, key }): Operation => ({ op: 'delete', namespace, key })),
        )
    }
  }
}
