// Maps records of other memory systems to memories: mem0, Zep and Graphiti, ChatGPT, stores of
// LangGraph, and the official memory server of MCP.

import type { MemoryImportBody } from '@custos/client/types'
import { graphLines } from '@custos/mcp/graph-records'
import { formatTime, parseTime } from '@custos/server/clock'

type RecordObject = Readonly<Record<string, unknown>>

/** The lines of one record, and why parts are skipped. `map` returns null for other systems. */
type RecordMapping = {
  readonly lines: readonly MemoryImportBody[]
  readonly skipped: readonly string[]
}

export interface MemorySystem {
  /** A description of the expected file, for the message about a file of another kind. */
  readonly expected: string
  /** Names of the arrays in which a top-level object may have its records. */
  readonly members: readonly string[]
  map(record: RecordObject, options: MapOptions): RecordMapping | null
}

export interface MapOptions {
  /** Replaces the namespaces in the file. */
  readonly namespace: string | undefined
  /** The roles whose messages in a conversation become memories. */
  readonly roles: readonly string[]
}

const mapped = (...lines: readonly MemoryImportBody[]): RecordMapping => ({ lines, skipped: [] })
const skipped = (why: string): RecordMapping => ({ lines: [], skipped: [why] })

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined
const isRecord = (value: unknown): value is RecordObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Removes members that are null, undefined or empty arrays. */
const present = (members: RecordObject): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && !value[0]),
    ),
  )

/** Parses a time of another system. Without an offset it is in UTC. */
function timeOf(value: unknown): string | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  const us = parseTime(text) ?? parseTime(`${text}Z`)
  return us === null ? undefined : formatTime(us)
}

const mem0: MemorySystem = {
  expected:
    'memories of mem0: {"results": [{"id", "memory", …}]}, a list of them, or one a line. An ' +
    'export with a schema of your own has no fixed form: fetch the memories with get_all instead',
  members: ['results', 'memories'],
  map(record, { namespace }) {
    if (typeof record['memory'] !== 'string' || record['id'] === undefined) return null
    const content = textOf(record['memory'])
    if (content === undefined) return skipped('without a text')
    const { id, user_id, agent_id, run_id, app_id, categories, hash } = record
    const [created, updated] = [timeOf(record['created_at']), timeOf(record['updated_at'])]
    const own = isRecord(record['metadata']) ? record['metadata'] : {}
    const origin = present({
      system: 'mem0',
      id,
      user_id,
      agent_id,
      run_id,
      app_id,
      categories,
      hash,
      updated_at: updated === created ? undefined : updated,
    })
    return mapped({
      content,
      namespace: namespace ?? textOf(user_id) ?? null,
      metadata: { ...own, origin },
      ...(created === undefined ? {} : { written_at: created }),
    })
  },
}

const zep: MemorySystem = {
  expected:
    'edges of Zep or Graphiti: {"edges": [{"uuid", "fact", …}]}, a list of them, or one a line',
  members: ['edges', 'facts', 'results'],
  map(record, { namespace }) {
    const { uuid, fact, name, attributes, episodes } = record
    if (typeof fact !== 'string' || uuid === undefined) return null
    const content = textOf(fact)
    if (content === undefined) return skipped('without a text')
    const either = (camel: string, snake: string): unknown => record[camel] ?? record[snake]
    const created_at = timeOf(either('createdAt', 'created_at'))
    const from = timeOf(either('validAt', 'valid_at'))
    const until = timeOf(either('invalidAt', 'invalid_at'))
    const origin = present({
      system: 'zep',
      id: uuid,
      created_at,
      episodes,
      expired_at: either('expiredAt', 'expired_at'),
      source_node_uuid: either('sourceNodeUuid', 'source_node_uuid'),
      target_node_uuid: either('targetNodeUuid', 'target_node_uuid'),
      group_id: either('groupId', 'group_id'),
    })
    const start = from ?? created_at
    // Both times have one format, so they can be compared as texts.
    const ends = until !== undefined && start !== undefined && until > start
    if (until !== undefined && !ends) origin['invalid_at'] = until
    return mapped({
      content,
      namespace: namespace ?? null,
      metadata: present({ name, attributes, origin }),
      ...(created_at === undefined ? {} : { written_at: created_at }),
      ...(from === undefined ? {} : { valid_from: from }),
      ...(ends ? { valid_until: until } : {}),
    })
  },
}

const chatgpt: MemorySystem = {
  expected: 'an export of ChatGPT: the ZIP, or conversations.json from it',
  members: [],
  map(record, options) {
    const { mapping } = record
    if (!isRecord(mapping)) return null
    const lines: MemoryImportBody[] = []
    const reasons: string[] = []
    for (const node of branchOf(record, mapping)) {
      const message = node['message']
      if (!isRecord(message)) continue
      const found = messageLine(record, message, options)
      if (typeof found === 'string') reasons.push(found)
      else lines.push(found)
    }
    return { lines, skipped: reasons }
  },
}

/** The nodes from the first message to the current one, without abandoned branches. */
function branchOf({ current_node }: RecordObject, mapping: RecordObject): RecordObject[] {
  const branch: RecordObject[] = []
  const seen = new Set<unknown>()
  for (let id = current_node; typeof id === 'string' && !seen.has(id); ) {
    seen.add(id)
    const node = Object.hasOwn(mapping, id) ? mapping[id] : undefined
    if (!isRecord(node)) break
    branch.push(node)
    id = node['parent']
  }
  return branch.reverse()
}

/** Maps a message to a memory, or returns the reason why it is skipped. */
function messageLine(
  conversation: RecordObject,
  message: RecordObject,
  { namespace, roles }: MapOptions,
): MemoryImportBody | string {
  const { author, content, weight, id, metadata } = message
  const role = isRecord(author) ? String(author['role']) : 'unknown'
  if (!roles.includes(role)) return `of the role ${role}`
  if (weight === 0) return 'hidden'
  if (!isRecord(content) || content['content_type'] !== 'text') return 'not text'
  const parts = Array.isArray(content['parts']) ? content['parts'] : []
  const text = textOf(parts.filter((part) => typeof part === 'string').join('\n'))
  if (text === undefined) return 'without a text'
  const written_at = secondsTime(message['create_time'] ?? conversation['create_time'])
  const model_slug = isRecord(metadata) ? textOf(metadata['model_slug']) : undefined
  const conversation_id = conversation['id'] ?? conversation['conversation_id']
  return {
    content: text,
    namespace: namespace ?? null,
    metadata: present({
      conversation: textOf(conversation['title']),
      role,
      model_slug,
      origin: present({ system: 'chatgpt', id, conversation_id }),
    }),
    ...(written_at === undefined ? {} : { written_at }),
  }
}

const secondsTime = (value: unknown): string | undefined =>
  typeof value === 'number' && value > 0 ? formatTime(Math.round(value * 1_000_000)) : undefined

const langgraph: MemorySystem = {
  expected:
    'items of a LangGraph store: {"namespace": […], "key", "value": {…}, "created_at", ' +
    '"updated_at"} a line, as the script of custos import --help writes them',
  members: ['items'],
  map(record, { namespace }) {
    const { namespace: labels, key, value } = record
    if (!isLabels(labels) || typeof key !== 'string' || !isRecord(value)) return null
    const created = timeOf(record['created_at'] ?? record['createdAt'])
    const written_at = timeOf(record['updated_at'] ?? record['updatedAt']) ?? created
    return mapped({
      content: JSON.stringify(value),
      item: { namespace: [...(namespace === undefined ? [] : [namespace]), ...labels], key },
      ...(written_at === undefined ? {} : { written_at }),
    })
  },
}

const isLabels = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((label) => typeof label === 'string')

const memoryFile: MemorySystem = {
  expected:
    'a memory file of the official memory server of MCP: {"type": "entity", "name", ' +
    '"entityType", "observations"} or {"type": "relation", "from", "to", "relationType"} a line',
  members: [],
  map(record, { namespace }) {
    const lines = graphLines(record, namespace)
    return lines && mapped(...lines)
  },
}

export const MEMORY_SYSTEMS: Readonly<Record<string, MemorySystem>> = {
  mem0,
  zep,
  chatgpt,
  langgraph,
  'memory-jsonl': memoryFile,
}
