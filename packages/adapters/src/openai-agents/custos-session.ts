// A session of the OpenAI Agents SDK whose history is stored in Custos.

import type {
  AgentInputItem,
  Session,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'
import { newId } from '../ambient.ts'
import { ItemList, type Json } from '../item-list.ts'
import { type MemoryScope, requireClient, storeOf } from '../scope.ts'

export interface SessionOptions extends Pick<MemoryScope, 'client' | 'store'> {
  /** Id of the session; default: a new random id. */
  readonly sessionId?: string
}

/**
 * Pass `new CustosSession({ client, sessionId })` wherever a run takes a `session`. Items that are
 * removed from the history are erased, with certificates. Only one run at a time may change a
 * session.
 */
export class CustosSession implements Session, SessionHistoryTransactionAwareSession {
  readonly #sessionId: string
  readonly #items: ItemList
  readonly #operations: ItemList

  constructor(options: SessionOptions) {
    requireClient('CustosSession', options)
    const { client, sessionId = newId() } = options
    this.#sessionId = sessionId
    const listOf = (kind: string) =>
      new ItemList({ client, store: storeOf(options), namespace: ['agents', kind, sessionId] })
    this.#items = listOf('items')
    this.#operations = listOf('operations')
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return []
    const found = await this.#items.read()
    return found.slice(limit === undefined ? 0 : -limit).map(({ value }) => itemOf(value))
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    await this.#items.add(items.map((item) => ({ ...item })))
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const last = (await this.#items.read()).at(-1)
    if (last === undefined) return undefined
    await this.#items.change([this.#items.delete(last.key)])
    return itemOf(last.value)
  }

  async clearSession(): Promise<void> {
    await this.#items.clear()
    await this.#operations.clear()
  }

  /** Removes and adds at most 99 items in one transaction. */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = args
    if (operationId.trim() === '') throw new TypeError('operationId must not be empty')
    const digest = await digestOf(JSON.stringify(transaction))
    const id = await digestOf(operationId)
    const earlier = (await this.#operations.read()).find(({ key }) => key === id)
    if (earlier) {
      if (earlier.value['digest'] === digest) return
      throw new TypeError('this operationId was applied with a different transaction')
    }
    const isAppend = transaction.type === 'append_items'
    const removed = isAppend ? [] : await this.#suffix(transaction.expectedSuffix)
    const added = isAppend ? transaction.items : transaction.replacement
    if (removed.length + added.length >= TRANSACTION_MAX)
      throw new TypeError(`a transaction changes at most ${TRANSACTION_MAX - 1} items`)
    await this.#items.change([
      ...removed.map((key) => this.#items.delete(key)),
      ...added.map((item, i) => this.#items.put(`${id}-${i}`, { ...item })),
      this.#operations.put(id, { digest }),
    ])
  }

  /** Keys of the last items. Throws if they are not the expected items. */
  async #suffix(expected: readonly AgentInputItem[]): Promise<string[]> {
    const found = await this.#items.read()
    const suffix = found.slice(Math.max(0, found.length - expected.length))
    const same =
      suffix.length === expected.length &&
      suffix.every(({ value }, i) => canonical(value) === canonical(expected[i]))
    if (!same) throw new TypeError('the end of the history is not the expected one')
    return suffix.map(({ key }) => key)
  }
}

/** Maximum operations in one request; one of them records the transaction's id. */
const TRANSACTION_MAX = 100

// `addItems` has written these values.
const itemOf = (value: Json): AgentInputItem => value as AgentInputItem

/** JSON with the members of every object sorted. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

async function digestOf(text: string): Promise<string> {
  const bytes = await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
