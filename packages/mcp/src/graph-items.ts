// Reads and writes the items that a knowledge graph is stored as, and takes over the file of the
// official memory server into an empty graph, once.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { ItemsBatchBody, ItemsBatchReply } from '@custos/client/types'
import { assembleGraph, type Graph } from './graph.ts'
import { type GraphItem, graphLines, KINDS, labelsOf } from './graph-records.ts'
import { Session, type SessionOptions } from './session.ts'

const PAGE = 1_000
const OPERATIONS = 100
/** Size of one request, well below the limit of the service. */
const REQUEST_CHARACTERS = 1_000_000
/** How often a graph that changes between its pages is read again. */
const READINGS = 5

/** The graph of the session, in the order of creation. */
export async function loadGraph(session: Session): Promise<Graph> {
  for (let reading = 1; ; reading += 1) {
    const items = await readItems(session, reading < READINGS)
    if (items !== null) return assembleGraph(items)
  }
}

/**
 * Reads all items. Each page begins with the last item of the previous page. If it differs, the
 * graph has changed between them, and a `strict` reading returns null.
 */
async function readItems(session: Session, strict: boolean): Promise<GraphItem[] | null> {
  const found = new Map<string, GraphItem>()
  let last = ''
  for (let offset = 0; ; offset += PAGE - 1) {
    const page = await searchItems(session, { offset })
    const [first] = page
    if (strict && offset > 0 && (first === undefined || nameOf(first) !== last)) return null
    for (const item of page) {
      const kind = KINDS.find((one) => one === item.namespace.at(-1))
      last = nameOf(item)
      if (kind !== undefined) found.set(last, { kind, key: item.key, value: item.value })
    }
    if (page.length < PAGE) return [...found.values()]
  }
}

const nameOf = ({ namespace, key }: { namespace: readonly string[]; key: string }): string =>
  `${namespace.at(-1)}/${key}`

async function searchItems(
  { custos, store, options }: Session,
  search: { readonly offset?: number; readonly query?: string },
) {
  const namespace_prefix = labelsOf(options.namespace)
  const { items } = await custos.items.search(store, { namespace_prefix, limit: PAGE, ...search })
  return items
}

/** Names of the entities that match the query, best first. */
export async function rankEntities(session: Session, query: string): Promise<string[]> {
  const found = await searchItems(session, { query })
  const names = found.flatMap(({ value }) => String(value['name'] ?? value['entity'] ?? ''))
  return [...new Set(names)]
}

/** Stores items in the given order, at most a hundred in one transaction. */
export async function putItems(session: Session, items: readonly GraphItem[]): Promise<void> {
  await runBatches(
    session,
    items.map((item) => ({ op: 'put' as const, ...itemName(session, item), value: item.value })),
  )
}

/** Erases items. Returns the ids of the erasure certificates. */
export async function eraseItems(
  session: Session,
  items: readonly GraphItem[],
): Promise<readonly string[]> {
  const results = await runBatches(
    session,
    items.map((item) => ({ op: 'delete' as const, ...itemName(session, item) })),
  )
  return results.flatMap((one) => ('certificate_ids' in one ? one.certificate_ids : []))
}

const itemName = ({ options }: Session, { kind, key }: GraphItem) => ({
  namespace: labelsOf(options.namespace, kind),
  key,
})

async function runBatches({ custos, store }: Session, operations: ItemsBatchBody['operations']) {
  const results: ItemsBatchReply['results'] = []
  let batch: ItemsBatchBody['operations'][number][] = []
  let characters = 0
  const send = async () => {
    if (batch.length > 0)
      results.push(...(await custos.items.batch(store, { operations: batch })).results)
    batch = []
    characters = 0
  }
  for (const operation of operations) {
    const size = JSON.stringify(operation).length
    if (batch.length === OPERATIONS || characters + size > REQUEST_CHARACTERS) await send()
    batch.push(operation)
    characters += size
  }
  await send()
  return results
}

/** Number of memories in one request. */
const BLOCK = 500

/** The file is not what the official memory server writes. */
export class MemoryFileError extends Error {}

/**
 * Imports the file if the graph is empty and the file, by its SHA-256, was never fully imported.
 * The file is not changed; a missing file is an empty graph. Returns the number of memories. Throws
 * MemoryFileError before anything is stored.
 */
export async function importMemoryFile(options: SessionOptions, path: string): Promise<number> {
  const session = new Session(options)
  const { custos, store } = session
  if (options.read_only === true || !session.may('memory:write')) return 0
  const file = await readMemoryFile(path, options.namespace)
  if (file === null) return 0
  const name = { namespace: labelsOf(options.namespace, 'imports'), key: file.sha256 }
  const { item } = await custos.items.get(store, name)
  if (item?.value['complete'] === true) return 0
  if (item === null && !isEmpty(await loadGraph(session))) return 0
  const { lines, sha256 } = file
  await custos.items.put(store, { ...name, value: { sha256, complete: false } })
  let imported = 0
  for (let at = 0; at < lines.length; at += BLOCK) {
    const text = lines.slice(at, at + BLOCK).join('\n')
    imported += (await custos.memory.import(store, `${text}\n`)).imported
  }
  await custos.items.put(store, { ...name, value: { sha256, complete: true, imported } })
  return imported
}

const isEmpty = ({ entities, relations, observations }: Awaited<ReturnType<typeof loadGraph>>) =>
  entities.length + relations.length + observations.length === 0

/** Reads the import lines of the file; null if it does not exist. */
async function readMemoryFile(path: string, namespace: string | undefined) {
  const hash = createHash('sha256')
  const lines: string[] = []
  const source = createReadStream(path)
  try {
    source.on('data', (chunk) => hash.update(chunk))
    let number = 0
    for await (const text of createInterface({ input: source, crlfDelay: Infinity })) {
      number += 1
      if (text.trim() === '') continue
      const found = graphLines(parseLine(text), namespace)
      if (found === null)
        throw new MemoryFileError(`${path}: line ${number} is neither an entity nor a relation`)
      lines.push(...found.map((line) => JSON.stringify(line)))
    }
  } catch (error) {
    const { code } = Object(error)
    if (code === 'ENOENT') return null
    if (typeof code === 'string') throw new MemoryFileError(`${path} cannot be read (${code})`)
    throw error
  } finally {
    source.destroy()
  }
  return { sha256: hash.digest('hex'), lines }
}

function parseLine(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
