// Reads and writes the items in which a knowledge graph is stored.

import type { ItemsBatchBody, ItemsBatchReply } from '@custos/client/types'
import { assembleGraph, type Graph } from './graph.ts'
import { type GraphItem, KINDS, labelsOf } from './graph-records.ts'
import type { Session } from './session.ts'

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
