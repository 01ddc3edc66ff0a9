// items.get, items.search and items.namespaces.

import {
  type GetItem,
  type Item,
  type items,
  type ListNamespaces,
  limits,
  type SearchItems,
} from '@custos/contract'
import { parseTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { type Loc, validationDetail } from '../../platform/validation.ts'
import { seqAt } from '../gcrumbs/index.ts'
import { admitItems } from '../governance/index.ts'
import { loadReadableStore, requireCapability } from '../memory/index.ts'
import { compareNamespaces, explainFilter, fitsEnd } from './item-filter.ts'
import { findItems, findVersion, type ItemSearch, listNamespaces, showItem } from './item-search.ts'

type Items = typeof items
/** A read of items, as an operation of its own or within a batch. */
export type ItemRead =
  | ({ readonly op: 'get' } & GetItem)
  | ({ readonly op: 'search' } & SearchItems)
  | ({ readonly op: 'namespaces' } & ListNamespaces)

export const get: Handler<Items['get']> = async (call, { params, body }) => {
  await admitReads(call, params.store_id, [{ op: 'get', ...body }])
  return call.read((db) => getOne(call, db, params.store_id, body))
}

export const search: Handler<Items['search']> = async (call, { params, body }) => {
  const wanted = parseSearch(params.store_id, body, ['body'])
  await admitReads(call, params.store_id, [{ op: 'search', ...body }])
  return call.read((db) => searchOne(call, db, wanted))
}

export const namespaces: Handler<Items['namespaces']> = async (call, { params, body }) => {
  await admitReads(call, params.store_id, [{ op: 'namespaces', ...body }])
  return call.read((db) => listSome(call.kernel, db, params.store_id, body))
}

/** Asks the policies once for all reads of a request. Refuses `store_not_found` before. */
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

/** What the request searches for, the names in it included. */
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

/** Refuses `validation`: a filter that cannot be applied, or a query over its limit. */
function parseSearch(store_id: string, body: SearchItems, loc: Loc): ItemSearch {
  const problem = body.filter ? explainFilter(body.filter) : null
  if (problem !== null) throw validationDetail([...loc, 'filter'], problem, 'value_error')
  if (Buffer.byteLength(body.query ?? '') > limits.query_bytes)
    throw validationDetail(
      [...loc, 'query'],
      `query has ${limits.query_bytes} bytes at most`,
      'too_long',
    )
  return {
    store_id,
    prefix: body.namespace_prefix,
    query: body.query || null,
    filter: body.filter ?? null,
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
