// Threads, messages and resources of Mastra as JSON values, and back; their filtering, sorting and
// paging, with the results of Mastra's own storage.

import type { MastraDBMessage } from '@mastra/core/agent/message-list'
import type { StorageThreadType } from '@mastra/core/memory'
import {
  calculatePagination,
  filterByDateRange,
  normalizePerPage,
  type StorageListMessagesInput,
  type StorageListMessagesOutput,
  type StorageResourceType,
  storageMessageMatchesMetadataFilter,
  type ThreadSortDirection,
  validateStorageMetadataFilter,
} from '@mastra/core/storage'
import { dateOf } from '../ambient.ts'
import type { Json } from '../item-list.ts'

/** The JSON value of a row: times as texts, without undefined members. */
export const jsonOf = (row: object): Json => JSON.parse(JSON.stringify(row))

/** The row of a value that `jsonOf` wrote. The caller converts its times to dates. */
const rowOf = <Row extends { createdAt: Date }>(value: Json) =>
  value as Omit<Row, 'createdAt' | 'updatedAt'> & { createdAt: string; updatedAt: string }

const datesOf = ({ createdAt, updatedAt }: { createdAt: string; updatedAt: string }) => ({
  createdAt: dateOf(createdAt),
  updatedAt: dateOf(updatedAt),
})

export function threadOf(value: Json): StorageThreadType {
  const row = rowOf<StorageThreadType>(value)
  return { ...row, ...datesOf(row) }
}

export function resourceOf(value: Json): StorageResourceType {
  const row = rowOf<StorageResourceType>(value)
  return { ...row, ...datesOf(row) }
}

/** The value of a message. Mastra treats one without role or type as a text of the user. */
export function messageJson(message: MastraDBMessage): Json {
  const { id, threadId, resourceId, role, type, createdAt, content } = message
  return jsonOf({
    id,
    threadId,
    ...(resourceId && { resourceId }),
    role: role || 'user',
    type: type || 'text',
    createdAt,
    content,
  })
}

export function messageOf(value: Json): MastraDBMessage {
  const { updatedAt: _, createdAt, content, ...row } = rowOf<MastraDBMessage>(value)
  const text: unknown = content
  const parts =
    typeof text === 'string'
      ? { format: 2 as const, content: text, parts: [{ type: 'text' as const, text }] }
      : content
  return { ...row, createdAt: dateOf(createdAt), content: parts }
}

/** Merges contents. Members of the update take precedence; its metadata are added. */
export function mergeContent(
  content: MastraDBMessage['content'],
  update: Partial<MastraDBMessage['content']>,
): MastraDBMessage['content'] {
  const merged = { ...content, ...update }
  if (content.metadata && update.metadata)
    merged.metadata = { ...content.metadata, ...update.metadata }
  return merged
}

/** Default page size for messages. */
const MESSAGES_PER_PAGE = 40
const OFFSET_MAX = Number.MAX_SAFE_INTEGER / 2

type PageOptions = Pick<StorageListMessagesInput, 'filter' | 'page' | 'perPage'>

/** Offset and size of a page. Throws for a negative or too large page number. */
export function pageBounds({ page = 0, perPage: input }: PageOptions) {
  const size = normalizePerPage(input, MESSAGES_PER_PAGE)
  if (page < 0) throw new Error('page must be >= 0')
  if (page * size > OFFSET_MAX) throw new Error('page value too large')
  return { page, size, ...calculatePagination(page, input, size) }
}

/** Sorts by a date; the sort is stable. */
export function sortByDate<Field extends string, Row extends Record<Field, Date>>(
  rows: readonly Row[],
  field: Field,
  direction: ThreadSortDirection,
): Row[] {
  const sign = direction === 'ASC' ? 1 : -1
  return rows.toSorted((a, b) => sign * (a[field].getTime() - b[field].getTime()))
}

/** The messages that match the filter. Throws for an invalid metadata filter. */
export function filterMessages(
  messages: readonly MastraDBMessage[],
  filter: PageOptions['filter'],
): MastraDBMessage[] {
  const metadata = validateStorageMetadataFilter(filter?.metadata)
  const inRange = filterByDateRange([...messages], (one) => one.createdAt, filter?.dateRange)
  return inRange.filter(({ content }) => storageMessageMatchesMetadataFilter(content, metadata))
}

/**
 * One page of `found`, plus the `included` messages that are not on it.
 * @param found every message that matches the filter, sorted
 */
export function messagePage(
  {
    found,
    included,
    direction,
  }: Record<'found' | 'included', readonly MastraDBMessage[]> & {
    readonly direction: ThreadSortDirection
  },
  options: PageOptions,
): StorageListMessagesOutput {
  const { page, size, offset, perPage } = pageBounds(options)
  const total = size === 0 ? 0 : found.length
  const paged = size === 0 ? [] : found.slice(offset, offset + size)
  const ids = new Set(paged.map(({ id }) => id))
  const all = [...paged, ...included.filter(({ id }) => !ids.has(id))]
  const messages = sortByDate(all, 'createdAt', direction)
  return { messages, total, page, perPage, hasMore: hasMore() }

  function hasMore(): boolean {
    if (size === 0) return false
    if (options.filter?.metadata) return offset + paged.length < total
    if (included.length === 0) return offset + size < total
    const shown = new Set(messages.map(({ id }) => id))
    return found.some(({ id }) => !shown.has(id))
  }
}

/** A message with the requested number of messages before and after it. */
export function contextOf(
  thread: readonly MastraDBMessage[],
  wanted: NonNullable<StorageListMessagesInput['include']>[number],
): MastraDBMessage[] {
  const { id, withPreviousMessages = 0, withNextMessages = 0 } = wanted
  const at = thread.findIndex((message) => message.id === id)
  if (at < 0) return []
  return thread.slice(Math.max(0, at - withPreviousMessages), at + withNextMessages + 1)
}
