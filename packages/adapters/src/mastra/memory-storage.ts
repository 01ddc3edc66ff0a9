// Mastra's storage of threads, messages and resources, kept in the service.

import { type MastraDBMessage, MessageList } from '@mastra/core/agent/message-list'
import type { StorageThreadType } from '@mastra/core/memory'
import {
  jsonValueEquals,
  MemoryStorage,
  normalizePerPage,
  type StorageCloneThreadInput,
  type StorageCopyThreadOutput,
  type StorageListMessagesByResourceIdInput,
  type StorageListMessagesInput,
  type StorageListMessagesOutput,
  type StorageListThreadsInput,
  type StorageListThreadsOutput,
  type StorageResourceType,
} from '@mastra/core/storage'
import { dateOf, laterThan, newId, now } from '../ambient.ts'
import { type MemoryScope, requireClient, storeOf } from '../scope.ts'
import { ItemTables } from './item-tables.ts'
import {
  contextOf,
  filterMessages,
  jsonOf,
  mergeContent,
  messageOf,
  messagePage,
  pageBounds,
  resourceOf,
  sortByDate,
  threadOf,
} from './rows.ts'

export type CustosStorageOptions = Pick<MemoryScope, 'client' | 'store'>

/** A message takes up to three operations and its thread one; a request has at most 100. */
const BATCH_MESSAGES_MAX = 25
const THREADS_PER_PAGE = 100
const CERTIFICATES_KEPT_MAX = 10_000

/**
 * For `domains: { memory: new CustosMemoryStorage({ client }) }` of a `MastraCompositeStore`. A
 * deletion erases every version, with certificates. Refusals of the service are thrown unchanged
 * (`ApiError`).
 */
export class CustosMemoryStorage extends MemoryStorage {
  override readonly supportsPartialThreadUpdate = true
  readonly #tables: ItemTables
  readonly #certificates = new Map<string, readonly string[]>()

  constructor(options: CustosStorageOptions) {
    super()
    requireClient('CustosMemoryStorage', options)
    this.#tables = new ItemTables(options.client, storeOf(options))
  }

  /** Ids of the erasure certificates of a thread or message that this instance deleted. */
  certificates(id: string): readonly string[] {
    return this.#certificates.get(id) ?? []
  }

  override async dangerouslyClearAll(): Promise<void> {
    await this.#tables.clear()
  }

  override async getThreadById({
    threadId,
    resourceId,
  }: Parameters<MemoryStorage['getThreadById']>[0]): Promise<StorageThreadType | null> {
    const row = await this.#tables.get('threads', threadId)
    if (!row) return null
    const thread = threadOf(row.value)
    return resourceId === undefined || thread.resourceId === resourceId ? thread : null
  }

  override async saveThread({
    thread,
  }: Parameters<MemoryStorage['saveThread']>[0]): Promise<StorageThreadType> {
    await this.#tables.change([this.#tables.put('threads', thread.id, jsonOf(thread))])
    return thread
  }

  override async updateThread({
    id,
    title,
    metadata,
  }: Parameters<MemoryStorage['updateThread']>[0]): Promise<StorageThreadType> {
    return await this.#tables.retryOnConflict(async () => {
      const row = await this.#tables.get('threads', id)
      if (!row) throw new Error(`Thread with id ${id} not found`)
      const before = threadOf(row.value)
      const thread = {
        ...before,
        ...(title !== undefined && { title }),
        metadata: { ...before.metadata, ...metadata },
        updatedAt: now(),
      }
      await this.#tables.change([this.#tables.put('threads', id, jsonOf(thread), row.ref)])
      return thread
    })
  }

  /**
   * Deletes the messages before the thread, so that calling it again finishes an interrupted
   * deletion, and once more after the thread: another writer may have added messages meanwhile.
   */
  override async deleteThread({
    threadId,
  }: Parameters<MemoryStorage['deleteThread']>[0]): Promise<void> {
    const certificates = await this.#eraseMessages(threadId)
    if (await this.#tables.get('threads', threadId)) {
      const [ids = []] = await this.#tables.change([this.#tables.delete('threads', threadId)])
      certificates.push(...ids, ...(await this.#eraseMessages(threadId)))
    }
    this.#rememberCertificates(threadId, certificates)
  }

  async #eraseMessages(threadId: string): Promise<string[]> {
    const certificates: string[] = []
    for (const batch of batchesOf(await this.#messagesOf(threadId))) {
      const operations = batch.flatMap(({ id }) => this.#tables.deleteMessage(id, threadId))
      certificates.push(...(await this.#tables.change(operations)).flat())
    }
    return certificates
  }

  override async listThreads(args: StorageListThreadsInput): Promise<StorageListThreadsOutput> {
    const { page = 0, perPage: input, filter } = args
    const { field, direction } = this.parseOrderBy(args.orderBy)
    this.validatePaginationInput(page, input ?? THREADS_PER_PAGE)
    this.validateMetadataKeys(filter?.metadata)
    const size = normalizePerPage(input, THREADS_PER_PAGE)
    const { resourceId, metadata = {} } = filter ?? {}
    const rows = await this.#tables.list('threads', resourceId ? { resourceId } : undefined)
    const wanted = Object.entries(metadata)
    const found = rows.map(threadOf).filter(({ metadata: own }) => {
      if (wanted.length === 0) return true
      return own !== undefined && wanted.every(([key, value]) => jsonValueEquals(own[key], value))
    })
    const offset = input === false ? 0 : page * size
    const threads = sortByDate(found, field, direction).slice(offset, offset + size)
    const perPage = input === false ? false : size
    return { threads, total: found.length, page, perPage, hasMore: offset + size < found.length }
  }

  override async listMessages(args: StorageListMessagesInput): Promise<StorageListMessagesOutput> {
    const threadIds = [args.threadId].flat()
    if (threadIds.length === 0 || threadIds.some((id) => !id.trim()))
      throw new Error('threadId must be a non-empty string or array of non-empty strings')
    const { direction } = this.parseOrderBy(args.orderBy, 'ASC')
    pageBounds(args)
    const resourceId = args.resourceId || undefined
    const threads = await Promise.all([...new Set(threadIds)].map((id) => this.#messagesOf(id)))
    const all = threads.flat().filter((one) => !resourceId || one.resourceId === resourceId)
    const found = sortByDate(filterMessages(all, args.filter), 'createdAt', direction)
    const included = await this.#included(args.include, resourceId)
    return messagePage({ found, included, direction }, args)
  }

  /** Reads the messages of all threads. */
  override async listMessagesByResourceId(
    args: StorageListMessagesByResourceIdInput,
  ): Promise<StorageListMessagesOutput> {
    const { direction } = this.parseOrderBy(args.orderBy, 'ASC')
    pageBounds(args)
    const all = (await this.#tables.messagesOfResource(args.resourceId)).map(messageOf)
    const found = sortByDate(filterMessages(all, args.filter), 'createdAt', direction)
    const included = await this.#included(args.include, args.resourceId)
    return messagePage({ found, included, direction }, args)
  }

  async #included(
    include: StorageListMessagesInput['include'] = [],
    resourceId: string | undefined,
  ): Promise<MastraDBMessage[]> {
    const places = await this.#tables.threadsOf(include.map(({ id }) => id))
    const found = new Map<string, MastraDBMessage>()
    for (const wanted of include) {
      const threadId = places.get(wanted.id)
      if (threadId === undefined) continue
      const own = await this.#messagesOf(threadId)
      const visible = own.filter((one) => resourceId === undefined || one.resourceId === resourceId)
      for (const message of contextOf(sortByDate(visible, 'createdAt', 'ASC'), wanted))
        found.set(message.id, message)
    }
    return [...found.values()]
  }

  override async listMessagesById({
    messageIds,
  }: Parameters<MemoryStorage['listMessagesById']>[0]): Promise<{ messages: MastraDBMessage[] }> {
    const places = await this.#tables.threadsOf(messageIds)
    const threads = new Map<string, MastraDBMessage[]>()
    for (const threadId of new Set(places.values()))
      threads.set(threadId, await this.#messagesOf(threadId))
    const found = messageIds.flatMap((id) => {
      const message = threads.get(places.get(id) ?? '')?.find((one) => one.id === id)
      return message ? [message] : []
    })
    return { messages: deduplicateMessages(found) }
  }

  /**
   * A message whose id exists replaces it. If another writer deletes a thread meanwhile, messages
   * of that thread are deleted rather than saved.
   */
  override async saveMessages({
    messages,
  }: Parameters<MemoryStorage['saveMessages']>[0]): Promise<{ messages: MastraDBMessage[] }> {
    const last = [...new Map(messages.map((message) => [message.id, message])).values()]
    for (const { id, threadId } of last)
      if (!threadId) throw new TypeError(`the message ${id} has no threadId`)
    const seen = new Set<string>()
    for (const batch of batchesOf(last))
      await this.#tables.retryOnConflict(async () => {
        const places = await this.#tables.threadsOf(batch.map(({ id }) => id))
        const touchedThreads = await this.#touchThreads(batch.map(({ threadId = '' }) => threadId))
        for (const id of touchedThreads.keys()) seen.add(id)
        await this.#tables.change([
          ...batch.flatMap((message) => {
            const { id, threadId = '' } = message
            const place = places.get(id)
            if (touchedThreads.has(threadId) || !seen.has(threadId))
              return this.#tables.putMessage(message, threadId, place)
            return place === undefined ? [] : this.#tables.deleteMessage(id, place)
          }),
          ...touchedThreads.values(),
        ])
      })
    return { messages: deduplicateMessages(messages) }
  }

  override async updateMessages({
    messages,
  }: Parameters<MemoryStorage['updateMessages']>[0]): Promise<MastraDBMessage[]> {
    const updated: MastraDBMessage[] = []
    for (const update of messages) {
      const message = await this.#tables.retryOnConflict(() => this.#updateMessage(update))
      if (message) updated.push(message)
    }
    return updated
  }

  /** Returns null if no message has this id. */
  async #updateMessage({
    content,
    ...update
  }: Parameters<MemoryStorage['updateMessages']>[0]['messages'][number]) {
    const place = (await this.#tables.threadsOf([update.id])).get(update.id)
    if (place === undefined) return null
    const before = (await this.#messagesOf(place)).find(({ id }) => id === update.id)
    if (!before) return null
    const given = Object.entries(update).filter(([, value]) => value !== undefined)
    const threadId = update.threadId || place
    const message: MastraDBMessage = {
      ...before,
      ...Object.fromEntries(given),
      threadId,
      content: content === undefined ? before.content : mergeContent(before.content, content),
    }
    await this.#tables.change([
      ...this.#tables.putMessage(message, threadId, place),
      ...(await this.#touchThreads([place, threadId])).values(),
    ])
    const isKnown = message.role === 'user' || message.role === 'assistant'
    return { ...message, role: isKnown ? message.role : 'user' }
  }

  override async deleteMessages(messageIds: string[]): Promise<void> {
    const places = [...(await this.#tables.threadsOf(messageIds ?? []))]
    for (const batch of batchesOf(places))
      await this.#tables.retryOnConflict(async () => {
        const touchedThreads = await this.#touchThreads(batch.map(([, threadId]) => threadId))
        const operations = batch.map(([id, place]) => this.#tables.deleteMessage(id, place))
        const certificates = await this.#tables.change([
          ...operations.flat(),
          ...touchedThreads.values(),
        ])
        for (const [i, [id]] of batch.entries())
          this.#rememberCertificates(id, certificates.slice(2 * i, 2 * i + 2).flat())
      })
  }

  /** Copies the messages before it creates the thread, so that no incomplete copy is visible. */
  override async copyThread(args: StorageCloneThreadInput): Promise<StorageCopyThreadOutput> {
    const { sourceThreadId, newThreadId = newId(), title, metadata, options } = args
    const source = await this.getThreadById({ threadId: sourceThreadId })
    if (!source) throw new Error(`Source thread with id ${sourceThreadId} not found`)
    if (await this.getThreadById({ threadId: newThreadId }))
      throw new Error(`Thread with id ${newThreadId} already exists`)
    const chosen = chooseMessages(await this.#messagesOf(sourceThreadId), options)
    const resourceId = args.resourceId || source.resourceId
    const copies = chosen.map((message) => ({
      ...message,
      id: newId(),
      threadId: newThreadId,
      ...(args.resourceId && { resourceId }),
    }))
    for (const batch of batchesOf(copies))
      await this.#tables.change(
        batch.flatMap((message) => this.#tables.putMessage(message, newThreadId, undefined)),
      )
    const time = now()
    const last = chosen.at(-1)
    const clone = { sourceThreadId, clonedAt: time, ...(last && { lastMessageId: last.id }) }
    const name = title || (source.title ? `Clone of ${source.title}` : undefined)
    const thread = {
      id: newThreadId,
      resourceId,
      ...(name !== undefined && { title: name }),
      metadata: { ...metadata, clone },
      createdAt: time,
      updatedAt: time,
    }
    await this.saveThread({ thread })
    const messageIdMap = Object.fromEntries(chosen.map(({ id }, i) => [id, copies[i]?.id ?? '']))
    return { thread, messageIdMap }
  }

  override async getResourceById({
    resourceId,
  }: Parameters<MemoryStorage['getResourceById']>[0]): Promise<StorageResourceType | null> {
    const row = await this.#tables.get('resources', resourceId)
    return row && resourceOf(row.value)
  }

  override async saveResource({
    resource,
  }: Parameters<MemoryStorage['saveResource']>[0]): Promise<StorageResourceType> {
    await this.#tables.change([this.#tables.put('resources', resource.id, jsonOf(resource))])
    return resource
  }

  override async updateResource({
    resourceId,
    workingMemory,
    metadata,
  }: Parameters<MemoryStorage['updateResource']>[0]): Promise<StorageResourceType> {
    return await this.#tables.retryOnConflict(async () => {
      const row = await this.#tables.get('resources', resourceId)
      const time = now()
      const before = row ? resourceOf(row.value) : { id: resourceId, createdAt: time }
      const resource = {
        ...before,
        ...(workingMemory !== undefined && { workingMemory }),
        metadata: { ...(row && resourceOf(row.value).metadata), ...metadata },
        updatedAt: time,
      }
      const value = jsonOf(resource)
      await this.#tables.change([this.#tables.put('resources', resourceId, value, row?.ref)])
      return resource
    })
  }

  async #messagesOf(threadId: string): Promise<MastraDBMessage[]> {
    return (await this.#tables.messagesOf(threadId)).map(messageOf)
  }

  /**
   * Puts that set `updatedAt` of threads, by thread id; they fail if a thread has changed since.
   */
  async #touchThreads(threadIds: readonly string[]) {
    const rows = await this.#tables.getMany('threads', threadIds)
    return new Map(
      [...rows].map(([id, { value, ref }]) => {
        const thread = threadOf(value)
        const changed = { ...thread, updatedAt: laterThan(thread.updatedAt) }
        return [id, this.#tables.put('threads', id, jsonOf(changed), ref)] as const
      }),
    )
  }

  #rememberCertificates(id: string, certificates: readonly string[]): void {
    if (certificates.length === 0) return
    this.#certificates.delete(id)
    this.#certificates.set(id, certificates)
    const [first] = this.#certificates.keys()
    if (first !== undefined && this.#certificates.size > CERTIFICATES_KEPT_MAX)
      this.#certificates.delete(first)
  }
}

/** Batches of a list, each small enough for one request. */
function* batchesOf<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < list.length; at += BATCH_MESSAGES_MAX)
    yield list.slice(at, at + BATCH_MESSAGES_MAX)
}

/** Keeps the last of several messages with the same id, as Mastra's own storage does. */
const deduplicateMessages = (messages: readonly MastraDBMessage[]): MastraDBMessage[] =>
  new MessageList().add([...messages], 'memory').get.all.db()

function chooseMessages(
  messages: readonly MastraDBMessage[],
  options: StorageCloneThreadInput['options'] = {},
): MastraDBMessage[] {
  const { messageLimit = 0, messageFilter = {} } = options
  const { startDate, endDate, messageIds = [] } = messageFilter
  const found = sortByDate(messages, 'createdAt', 'ASC').filter(
    ({ id, createdAt }) =>
      (messageIds.length === 0 || messageIds.includes(id)) &&
      (!startDate || createdAt >= dateOf(startDate)) &&
      (!endDate || createdAt <= dateOf(endDate)),
  )
  return messageLimit > 0 ? found.slice(-messageLimit) : found
}
