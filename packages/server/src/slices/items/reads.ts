// items.get, items.search and items.namespaces.

import assert from 'node:assert/strict'
import {
  type GetItem,
  type Item,
  type ItemMatch,
  type items,
  type ListNamespaces,
  limits,
  type SearchItems,
} from '@custos/contract'
import { formatTime, parseTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { type Loc, validationDetail } from '../../platform/validation.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { seqAt } from '../gcrumbs/index.ts'
import { admitItems } from '../governance/index.ts'
import {
  answerRanked,
  digestName,
  findItemHead,
  findLatestVersion,
  findValidityAt,
  HEADS_MAX,
  type ItemRow,
  listItemHeads,
  listNamespaceSamples,
  loadReadableStore,
  loadVisibleFacts,
  type OpenedFact,
  packWithinBudget,
  requireCapability,
} from '../memory/index.ts'
import {
  compareNamespaces,
  explainFilter,
  fitsEnd,
  hasPrefix,
  matchesFilter,
} from './item-filter.ts'

/** A read of items, either an operation of its own or a part of a batch. */
export type ItemRead =
  | ({ readonly op: 'get' } & GetItem)
  | ({ readonly op: 'search' } & SearchItems)
  | ({ readonly op: 'namespaces' } & ListNamespaces)

export const get: Handler<typeof items.get> = async (call, { params, body }) => {
  await admitReads(call, params.store_id, [{ op: 'get', ...body }])
  return call.read((db) => getOne(call, db, params.store_id, body))
}

export const search: Handler<typeof items.search> = async (call, { params, body }) => {
  const wanted = parseSearch(params.store_id, body, ['body'])
  await admitReads(call, params.store_id, [{ op: 'search', ...body }])
  return call.read((db) => searchOne(call, db, wanted))
}

export const namespaces: Handler<typeof items.namespaces> = async (call, { params, body }) => {
  await admitReads(call, params.store_id, [{ op: 'namespaces', ...body }])
  return call.read((db) => listSome(call.kernel, db, params.store_id, body))
}

/** Asks the policies once for all reads of a request. First refuses `store_not_found`. */
export async function admitReads(
  call: Call,
  store_id: string,
  reads: readonly ItemRead[],
): Promise<void> {
  if (reads.length === 0) return
  await call.read((db) => loadReadableStore(call.kernel, db, store_id))
  const contexts = reads.map((one) => ({ store_id, query: queryOf(one), tokens: tokensOf(one) }))
  await admitItems(call, 'memory.retrieve', contexts)
}

/** The search text of a read, including the names in it. */
function queryOf(read: ItemRead): string {
  if (read.op === 'get') return [...read.namespace, read.key].join('\n')
  if (read.op === 'search') return [...read.namespace_prefix, read.query ?? ''].join('\n')
  return [...(read.prefix ?? []), ...(read.suffix ?? [])].join('\n')
}

const tokensOf = (read: ItemRead): number =>
  (read.op === 'search' ? read.budget_tokens : null) ?? limits.budget_tokens_default

/** Answers one read of a batch. */
export async function answerRead(
  call: Call,
  db: TenantDb,
  store_id: string,
  { read, loc }: { read: ItemRead; loc: Loc },
) {
  if (read.op === 'get') return getOne(call, db, store_id, read)
  if (read.op === 'search') return searchOne(call, db, parseSearch(store_id, read, loc))
  return listSome(call.kernel, db, store_id, read)
}

async function getOne(
  { kernel, operation }: Call,
  db: TenantDb,
  store_id: string,
  { namespace, key, known_at }: GetItem,
): Promise<{ item: Item | null }> {
  const store = await loadReadableStore(kernel, db, store_id)
  if (known_at) requireCapability(store, 'bi_temporal', operation.id)
  // The schema has checked the timestamp.
  const known_us = known_at ? parseTime(known_at) : null
  const known_seq = known_us === null ? null : await seqAt(db, known_us)
  const found = await findVersion(kernel, db, { store_id, namespace, key }, known_seq)
  return { item: found ? showItem(found) : null }
}

/** Refuses `validation` for a filter that cannot be applied or a query over its limit. */
function parseSearch(store_id: string, body: SearchItems, loc: Loc): ItemSearch {
  const problem = body.filter ? explainFilter(body.filter) : null
  if (problem !== null) throw validationDetail([...loc, 'filter'], problem, 'value_error')
  if (Buffer.byteLength(body.query ?? '') > limits.query_bytes)
    throw validationDetail(
      [...loc, 'query'],
      `query must not exceed ${limits.query_bytes} bytes`,
      'too_long',
    )
  return {
    store_id,
    prefix: body.namespace_prefix,
    query: body.query || null,
    // Serialised like stored values, so that -0 and 0 are equal.
    filter: body.filter ? JSON.parse(JSON.stringify(body.filter)) : null,
    limit: body.limit ?? limits.item_search.default,
    offset: body.offset ?? 0,
    budget_tokens: body.budget_tokens ?? null,
  }
}

async function searchOne({ kernel }: Call, db: TenantDb, wanted: ItemSearch) {
  await loadReadableStore(kernel, db, wanted.store_id)
  return { items: await findItems(kernel, db, wanted) }
}

async function listSome(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
  { prefix, suffix, max_depth, limit, offset = 0 }: ListNamespaces,
): Promise<{ namespaces: string[][] }> {
  await loadReadableStore(kernel, db, store_id)
  const fitting = (await listNamespaces(kernel, db, store_id))
    .map(({ labels }) => labels)
    .filter((labels) => !prefix || fitsEnd(labels, prefix, 'prefix'))
    .filter((labels) => !suffix || fitsEnd(labels, suffix, 'suffix'))
    .map((labels) => labels.slice(0, max_depth ?? labels.length))
  const distinct = new Map(fitting.map((labels) => [JSON.stringify(labels), labels]))
  const sorted = [...distinct.values()].sort(compareNamespaces)
  return { namespaces: sorted.slice(offset, offset + (limit ?? limits.page.default)) }
}

/** Documents opened per step. */
const OPENED = 50
const NAMESPACES_AT_ONCE = 10

interface StoredVersion {
  readonly row: ItemRow
  readonly fact: OpenedFact
}

function showItem({ row, fact }: StoredVersion): Item {
  const { item, expires_us, original_written_us } = fact.document
  assert(item, 'a version of an item has its name')
  return {
    namespace: [...item.namespace],
    key: item.key,
    // `content` is the JSON of an object.
    value: JSON.parse(fact.content),
    ref: row.ref,
    created_at: formatTime(row.created_us),
    updated_at: formatTime(original_written_us ?? fact.written_us),
    expires_at: expires_us === undefined ? null : formatTime(expires_us),
  }
}

/**
 * Returns the version of a name that is current, or was at log position `known_seq`; undefined if
 * there is none or it has been erased since.
 */
async function findVersion(
  kernel: Kernel,
  db: TenantDb,
  {
    store_id,
    namespace,
    key,
  }: { readonly store_id: string; readonly namespace: readonly string[]; readonly key: string },
  known_seq: number | null,
): Promise<StoredVersion | undefined> {
  const keys = await kernel.keyring.tenant(db.tenant_id)
  const { name_mac } = digestName(keys, store_id, { namespace: [...namespace], key })
  const name = { store_id, name_mac }
  const row =
    known_seq === null
      ? await findItemHead(db, name)
      : await findLatestVersion(db, { ...name, seq: known_seq })
  if (!row || (known_seq !== null && !(await wasCurrent(db, row.ref, known_seq)))) return undefined
  const fact = (await loadVisibleFacts(kernel, db, [row.ref])).get(row.ref)
  return fact && { row, fact }
}

/** A version counts as replaced even if its successor has been erased since. */
async function wasCurrent(db: TenantDb, ref: number, seq: number): Promise<boolean> {
  const version = await findValidityAt(db, ref, seq)
  return version?.valid_until_us === null && version.superseded_by === null
}

/** Lists namespaces with a current version, in the order of first puts. */
async function listSamples(
  db: TenantDb,
  store_id: string,
): ReturnType<typeof listNamespaceSamples> {
  const samples: Awaited<ReturnType<typeof listNamespaceSamples>> = []
  const pace = yieldBetweenChunks()
  for (let after: Uint8Array | undefined = new Uint8Array(); after; ) {
    const some: typeof samples = await listNamespaceSamples(db, store_id, after)
    samples.push(...some)
    after = some.at(-1)?.namespace_mac
    await pace()
  }
  return samples.sort((a, b) => a.namespace_no - b.namespace_no)
}

/** Lists namespaces with a visible item, in the order of first puts. */
async function listNamespaces(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<{ namespace_mac: Uint8Array; labels: readonly string[] }[]> {
  const samples = await listSamples(db, store_id)
  const pace = yieldBetweenChunks()
  const found = []
  for (let at = 0; at < samples.length; at += OPENED) {
    const some = samples.slice(at, at + OPENED)
    const facts = await loadVisibleFacts(
      kernel,
      db,
      some.map(({ ref }) => ref),
    )
    for (const { namespace_mac, ref } of some) {
      const fact = facts.get(ref) ?? (await findVisible(kernel, db, { store_id, namespace_mac }))
      const labels = fact?.document.item?.namespace
      if (labels) found.push({ namespace_mac, labels })
    }
    await pace()
  }
  return found
}

/** Finds any visible item of a namespace whose sample is hidden. */
async function findVisible(
  kernel: Kernel,
  db: TenantDb,
  { store_id, namespace_mac }: { store_id: string; namespace_mac: Uint8Array },
): Promise<OpenedFact | undefined> {
  const heads = pagesOfHeads(db, store_id, [namespace_mac])
  for await (const { fact } of openVersions(kernel, db, heads)) return fact
  return undefined
}

/** Opens the visible versions, in order; yields to other requests in between. */
async function* openVersions(
  kernel: Kernel,
  db: TenantDb,
  pages: AsyncIterable<readonly ItemRow[]> | Iterable<readonly ItemRow[]>,
): AsyncGenerator<StoredVersion> {
  const pace = yieldBetweenChunks()
  for await (const rows of pages)
    for (let at = 0; at < rows.length; at += OPENED) {
      const some = rows.slice(at, at + OPENED)
      const facts = await loadVisibleFacts(
        kernel,
        db,
        some.map(({ ref }) => ref),
      )
      for (const row of some) {
        const fact = facts.get(row.ref)
        if (fact) yield { row, fact }
      }
      await pace()
    }
}

/** Yields pages of current versions of these namespaces, ordered by first put within each. */
async function* pagesOfHeads(
  db: TenantDb,
  store_id: string,
  namespaces: readonly Uint8Array[],
): AsyncGenerator<readonly ItemRow[]> {
  const pace = yieldBetweenChunks()
  const read = (namespace_mac: Uint8Array, after: number) =>
    listItemHeads(db, { store_id, namespace_mac }, after)
  for (let at = 0; at < namespaces.length; at += NAMESPACES_AT_ONCE) {
    const some = namespaces.slice(at, at + NAMESPACES_AT_ONCE)
    // Across a network the first pages share one round trip.
    const firsts = await Promise.all(some.map((namespace_mac) => read(namespace_mac, 0)))
    for (const [i, namespace_mac] of some.entries())
      for (let rows = firsts[i] ?? []; rows.length > 0; ) {
        yield rows
        await pace()
        rows = rows.length < HEADS_MAX ? [] : await read(namespace_mac, rows.at(-1)?.item_no ?? 0)
      }
  }
}

/** Lists current versions in the namespaces with a prefix, in the order of first puts. */
async function listHeadsWithin(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
  prefix: readonly string[],
): Promise<AsyncIterable<readonly ItemRow[]>> {
  const within =
    prefix.length === 0
      ? await listSamples(db, store_id)
      : (await listNamespaces(kernel, db, store_id)).filter(({ labels }) =>
          hasPrefix(labels, prefix),
        )
  return pagesOfHeads(
    db,
    store_id,
    within.map(({ namespace_mac }) => namespace_mac),
  )
}

interface ItemSearch {
  readonly store_id: string
  readonly prefix: readonly string[]
  /** `null` to list in the order of first puts. */
  readonly query: string | null
  readonly filter: Readonly<Record<string, unknown>> | null
  readonly limit: number
  readonly offset: number
  readonly budget_tokens: number | null
}

/** Refuses `index_building` if there is a query. */
async function findItems(kernel: Kernel, db: TenantDb, search: ItemSearch): Promise<ItemMatch[]> {
  const { store_id, prefix, query, limit, offset } = search
  if (query === null) {
    const heads = await listHeadsWithin(kernel, db, store_id, prefix)
    return showPage(await takeMatching(kernel, db, { heads, search }), search)
  }
  const byRef = new Map<number, ItemRow>()
  return answerRanked(kernel, db.tenant_id, {
    store_id,
    query,
    // Items being erased are ranked but not shown, so more are requested.
    limit: Math.min(offset + limit + limits.item_search.max, RANKED_MAX),
    async choose(snapshot) {
      byRef.clear()
      const heads = await listHeadsWithin(kernel, snapshot, store_id, prefix)
      if (search.filter === null)
        for await (const rows of heads) for (const row of rows) byRef.set(row.ref, row)
      else {
        const all = { ...search, offset: 0, limit: Number.MAX_SAFE_INTEGER }
        const fits = await takeMatching(kernel, snapshot, { heads, search: all })
        for (const { row } of fits) byRef.set(row.ref, row)
      }
      return [...byRef.keys()]
    },
    async show(snapshot, ranked) {
      const scores = new Map(ranked.map(({ ref, score }) => [ref, score]))
      const heads = ranked.flatMap(({ ref }) => byRef.get(ref) ?? [])
      const page = await takeMatching(kernel, snapshot, { heads: [heads], search })
      return showPage(page, search).map((item) => {
        return { ...item, score: scores.get(item.ref) ?? 0 }
      })
    },
  })
}

const RANKED_MAX = 1_000_000

/** Takes the visible versions that match the filter, from `offset` on and up to `limit`. */
async function takeMatching(
  kernel: Kernel,
  db: TenantDb,
  {
    heads,
    search: { filter, limit, offset },
  }: {
    readonly heads: Parameters<typeof openVersions>[2]
    readonly search: ItemSearch
  },
): Promise<StoredVersion[]> {
  const found: StoredVersion[] = []
  let skipped = 0
  for await (const version of openVersions(kernel, db, heads)) {
    if (filter !== null && !matchesFilter(JSON.parse(version.fact.content), filter)) continue
    if (skipped < offset) skipped += 1
    else found.push(version)
    if (found.length >= limit) break
  }
  return found
}

function showPage(versions: readonly StoredVersion[], { budget_tokens }: ItemSearch): ItemMatch[] {
  if (budget_tokens === null) return versions.map(showItem)
  const counted = versions.map((version) => ({ version, token_count: version.fact.token_count }))
  return packWithinBudget(counted, budget_tokens).packed.map(({ version }) => showItem(version))
}
