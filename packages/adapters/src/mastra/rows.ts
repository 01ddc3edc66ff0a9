// Threads, messages and resources of Mastra as JSON values, and back.

import type { MastraDBMessage } from '@mastra/core/agent/message-list'
import type { StorageThreadType } from '@mastra/core/memory'
import type { StorageResourceType } from '@mastra/core/storage'
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
