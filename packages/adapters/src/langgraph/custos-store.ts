// A LangGraph store on keyed items: values shared between threads and searched by meaning.

import type { Custos } from '@custos/client'
import {
  BaseStore,
  type Item,
  type Operation,
  type OperationResults,
  type SearchItem,
  validateNamespace,
} from '@langchain/langgraph-checkpoint'
import { dateOf } from '../ambient.ts'
import { fence, requireClient } from '../scope.ts'

export interface CustosStoreOptions {
  readonly client: Custos
  /** Id of the store; default: `default`. */
  readonly store?: string
  /** The most tokens of the values that one search returns together; default: no limit. */
  readonly budgetTokens?: number
}
type BatchOperation = Parameters<Custos['items']['batch']>[1]['operations'][number]
type Reply = Awaited<ReturnType<Custos['items']['batch']>>['results'][number]
type FoundItem = Extract<Reply, { items: unknown }>['items'][number]

/** Maximum operations in one request. */
const BATCH_MAX = 100
const CERTIFICATES_KEPT_MAX = 10_000

/**
 * Pass `new CustosStore({ client })` wherever a graph takes a `store`. A put on an existing key
 * supersedes the item; a deletion erases every version, each with a certificate. Refusals of the
 * service are thrown unchanged (`ApiError`); a namespace that LangGraph does not allow throws
 * `InvalidNamespaceError`.
 */
export class CustosStore extends BaseStore {
  readonly #options: CustosStoreOptions
  readonly #certificates = new Map<string, readonly string[]>()

  constructor(options: CustosStoreOptions) {
    super()
    requireClient('CustosStore', options)
    if ('index' in options)
      throw new TypeError(
        'CustosStore takes no `index`: the service embeds what it stores; choose the embedder ' +
          'when the store is created',
      )
    this.#options = options
  }

  /** Reads see the items before the batch; of several puts on one key the last one wins. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const sent = operations.map((operation) => this.#operationOf(operation))
    const isChange = ({ op }: BatchOperation): boolean => op === 'put' || op === 'delete'
    const order = [...sent.keys()]
    const reads = order.filter((i) => !isChange(sentAt(sent, i)))
    const changes = order.filter((i) => isChange(sentAt(sent, i)))
    const results: unknown[] = []
    for (const part of sent.length <= BATCH_MAX ? [order] : [...parts(reads), ...parts(changes)]) {
      if (part.length === 0) continue
      const body = { operations: part.map((i) => sentAt(sent, i)) }
      const { results: replies } = await this.#options.client.items.batch(this.#store, body)
      for (const [at, i] of part.entries())
        results[i] = this.#resultOf(sentAt(sent, i), replies[at])
    }
    // results[i] is the result of operations[i], so it has the type that belongs to it.
    return results as OperationResults<Op>
  }

  /**
   * Ids of the erasure certificates of an item that this instance deleted, oldest version first;
   * empty if it deleted no such item.
   */
  certificates(namespace: readonly string[], key: string): readonly string[] {
    return this.#certificates.get(nameOf(namespace, key)) ?? []
  }

  /** Reads items as the service knew them at a time (transaction time). */
  asOf(time: Date | string): Pick<BaseStore, 'get'> {
    const known_at = typeof time === 'string' ? time : time.toISOString()
    return {
      get: async (namespace, key) => {
        const body = { namespace, key, known_at }
        const { item } = await this.#options.client.items.get(this.#store, body)
        return item && itemOf(item)
      },
    }
  }

  get #store(): string {
    return this.#options.store ?? 'default'
  }

  #operationOf(operation: Operation): BatchOperation {
    if ('namespacePrefix' in operation) {
      const { namespacePrefix, filter, limit, offset, query } = operation
      validateNamespace(namespacePrefix, { allowEmpty: true, allowReservedRoot: true })
      return {
        op: 'search',
        namespace_prefix: namespacePrefix,
        ...defined({ filter, limit, offset, query }),
        ...defined({ budget_tokens: this.#options.budgetTokens }),
      }
    }
    if (!('namespace' in operation)) return namespacesOperation(operation)
    const { namespace, key } = operation
    validateNamespace(namespace, { allowReservedRoot: true })
    if (!('value' in operation)) return { op: 'get', namespace, key }
    const { value, index } = operation
    if (value === null) return { op: 'delete', namespace, key }
    return { op: 'put', namespace, key, value, ...defined({ index }) }
  }

  #resultOf(sent: BatchOperation, reply: Reply | undefined): unknown {
    if (reply === undefined) throw new Error('the service returned no result for an operation')
    if ('items' in reply) return reply.items.map(searchItemOf)
    if ('item' in reply) return reply.item && itemOf(reply.item)
    if ('namespaces' in reply) return reply.namespaces
    if ('certificate_ids' in reply && sent.op === 'delete' && reply.deleted)
      this.#rememberCertificates(nameOf(sent.namespace, sent.key), reply.certificate_ids)
    return undefined
  }

  #rememberCertificates(name: string, ids: readonly string[]): void {
    this.#certificates.delete(name)
    this.#certificates.set(name, ids)
    const [first] = this.#certificates.keys()
    if (first !== undefined && this.#certificates.size > CERTIFICATES_KEPT_MAX)
      this.#certificates.delete(first)
  }
}

/** Items as one text for a model, inside a data fence that no item's content can close. */
export const itemsAsData = (items: readonly Pick<Item, 'namespace' | 'key' | 'value'>[]): string =>
  fence(items.map(({ namespace, key, value }) => ({ namespace, key, value })))

function sentAt(sent: readonly BatchOperation[], i: number): BatchOperation {
  const operation = sent[i]
  if (operation === undefined) throw new Error('an index beyond the batch')
  return operation
}

function* parts(indexes: readonly number[]): Generator<number[]> {
  for (let at = 0; at < indexes.length; at += BATCH_MAX) yield indexes.slice(at, at + BATCH_MAX)
}

function namespacesOperation(
  operation: Extract<Operation, { matchConditions?: unknown; limit: number; offset: number }>,
): BatchOperation {
  const conditions = 'matchConditions' in operation ? (operation.matchConditions ?? []) : []
  const pathOf = (type: 'prefix' | 'suffix'): string[] | undefined => {
    const [one, another] = conditions.filter(({ matchType }) => matchType === type)
    if (another) throw new TypeError(`CustosStore takes one ${type} of namespaces at a time`)
    return one?.path
  }
  const { limit, offset } = operation
  const max_depth = 'maxDepth' in operation ? operation.maxDepth : undefined
  const paths = { prefix: pathOf('prefix'), suffix: pathOf('suffix') }
  return { op: 'namespaces', limit, offset, ...defined({ ...paths, max_depth }) }
}

const nameOf = (namespace: readonly string[], key: string): string =>
  JSON.stringify([namespace, key])

const itemOf = ({ namespace, key, value, created_at, updated_at }: FoundItem): Item => ({
  namespace,
  key,
  value,
  createdAt: dateOf(created_at),
  updatedAt: dateOf(updated_at),
})

const searchItemOf = (found: FoundItem): SearchItem => ({
  ...itemOf(found),
  ...defined({ score: found.score }),
})

type PresentMembers<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Omits members that are undefined; the service refuses null in their place. */
function defined<T extends object>(members: T): PresentMembers<T> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as PresentMembers<T>
}
