// Reads of stores: lists, one store, capabilities, statistics; and the flush barrier. Counts of
// current facts that take long are computed from the index of the store and kept while they are
// valid.

import type { memory, Store } from '@custos/contract'
import { semaphore, waitAtMost } from '../../../platform/concurrency.ts'
import { countRows } from '../../../platform/db/database.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import { type Page, pageOf } from '../../../platform/page.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { listRetrievedFacts } from '../facts/retrieved-facts.sql.ts'
import type { NearDuplicateCount } from '../index/near-duplicates.ts'
import type { StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { getIngestionCounts } from '../stores/ingestion.ts'
import { openDescriptions, showStore } from '../stores/store-description.ts'
import {
  DEFAULT_STORE,
  loadReadableStore,
  makeDefaultSettings,
  type ReadableStore,
  type StoreSettings,
} from '../stores/store-settings.ts'
import {
  countErased,
  countFacts,
  findStore,
  listStores as findStores,
  type StoreRow,
  sumFactBytes,
  sumFacts,
  sumVersions,
} from '../stores/stores.sql.ts'
import { retrievedFacts } from './retrieved-facts.ts'

/** How long counting runs before it yields to other requests. */
const STRETCH_MS = 4
/** How long a request waits for a count; counting continues after that. */
const WAIT_MS = 1_000
const REFS_A_PAGE = 500
/** Stores counted at once. Each keeps its index, even a dropped one, and 25 bytes per fact. */
const AT_ONCE = 2
/** Maximum queue of stores to count; further ones are skipped until requested again. */
const WAITING_MAX = 1_000
/** Maximum number of stores whose counts are cached. */
const STORES_MAX = 10_000

interface StoreCounts {
  readonly near_duplicates: number | null
  readonly never_retrieved: number | null
}

interface CountedStore {
  readonly tenant_id: string
  readonly store_id: string
  readonly head_seq: number
}

interface NearDuplicateEntry extends NearDuplicateCount {
  /** Log position of the index before and after the count. */
  readonly head_seq: number
  /** Facts in the index: an erased fact is removed before the log position changes. */
  readonly size: number
}

interface RunningCount {
  readonly head_seq: number
  readonly done: Promise<StoreCounts>
  /** The count that runs next, and the log position that it must include. */
  next: { head_seq: number; readonly done: Promise<StoreCounts> } | null
}

const UNKNOWN: StoreCounts = { near_duplicates: null, never_retrieved: null }
const EMPTY: StoreCounts = { near_duplicates: 0, never_retrieved: 0 }

/**
 * Returns the counts of a store. If counting takes longer than a request waits, returns the last
 * counts, or nulls.
 * @param store `null` if the store has no row yet, and thus no facts
 * @param options.build whether to build an index if this process has none
 */
export function loadStoreCounts(
  kernel: Kernel,
  store: CountedStore | null,
  { build, wait_ms = WAIT_MS }: { build: boolean; wait_ms?: number },
): Promise<StoreCounts> {
  if (store === null) return Promise.resolve(EMPTY)
  const { tenant_id, store_id } = store
  const { state } = storeIndexes(kernel).describe(tenant_id, store_id)
  if (!build && state !== 'ready') return Promise.resolve(UNKNOWN)
  const counting = counter(kernel).count(store)
  const last = () => counter(kernel).last(store)
  return wait_ms === 0 ? Promise.resolve(last()) : waitAtMost(counting, wait_ms, last)
}

const counter = perKernel((kernel) => new Counter(kernel))

class Counter {
  readonly #kernel: Kernel
  readonly #near_duplicates = new LruCache<string, NearDuplicateEntry>({ max: STORES_MAX })
  readonly #last = new LruCache<string, StoreCounts>({ max: STORES_MAX })
  /** Running and waiting counts; later requests wait for the same count. */
  readonly #running = new Map<string, RunningCount>()
  readonly #permits = semaphore(AT_ONCE)

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  count(store: CountedStore): Promise<StoreCounts> {
    const key = keyOf(store)
    const { head_seq } = store
    const known = this.#running.get(key)
    if (known) return known.head_seq < head_seq ? this.#countAfter(known, store) : known.done
    if (this.#running.size >= AT_ONCE + WAITING_MAX) return Promise.resolve(this.last(store))
    const done = this.#permits
      .run(() => this.#count(key, store))
      .catch((error: unknown) => this.#failed(store, error))
      .finally(() => this.#running.delete(key))
    this.#running.set(key, { head_seq, done, next: null })
    return done
  }

  // A count that began before a write of this caller may miss that write. One more count follows,
  // shared by all callers that arrive meanwhile.
  #countAfter(known: RunningCount, store: CountedStore): Promise<StoreCounts> {
    const { next } = known
    if (next) {
      next.head_seq = Math.max(next.head_seq, store.head_seq)
      return next.done
    }
    const position = { head_seq: store.head_seq }
    const done = known.done.then(() => this.count({ ...store, ...position }))
    known.next = Object.assign(position, { done })
    return done
  }

  /** Returns the last counts, however outdated. */
  last(store: CountedStore): StoreCounts {
    return this.#last.get(keyOf(store)) ?? UNKNOWN
  }

  // A slow index build continues, so the next request finds it further along.
  #failed(store: CountedStore, error: unknown): StoreCounts {
    const { tenant_id } = store
    const reason = error instanceof Error ? error.name : 'unknown'
    if (!(error instanceof Refusal))
      this.#kernel.logger.warn('memory.count_failed', { tenant_id, reason })
    return this.last(store)
  }

  async #count(key: string, store: CountedStore): Promise<StoreCounts> {
    const { tenant_id, store_id, head_seq } = store
    const index = await storeIndexes(this.#kernel).loadCurrent(tenant_id, store_id, head_seq)
    const at_us = this.#kernel.clock.now()
    const { facts, near_duplicates } = await this.#countNearDuplicates(key, index, at_us)
    const retrieved = await this.#countRetrieved(store, index, at_us)
    const counts = { near_duplicates, never_retrieved: Math.max(0, facts - retrieved) }
    return this.#last.set(key, counts)
  }

  async #countNearDuplicates(
    key: string,
    index: StoreIndex,
    at_us: number,
  ): Promise<NearDuplicateEntry> {
    const { head_seq, size } = index
    const known = this.#near_duplicates.get(key)
    const isValid = known && known.from_us <= at_us && at_us < known.until_us
    if (isValid && known.head_seq === head_seq && known.size === size) return known
    const count = await index.countNearDuplicates(at_us, yieldBetweenChunks(STRETCH_MS))
    const entry = { head_seq, size, ...count }
    this.#near_duplicates.delete(key)
    if (index.head_seq !== head_seq || index.size !== size) return entry
    return this.#near_duplicates.set(key, entry)
  }

  /** Counts current facts that were retrieved: recorded by any process, or pending in this one. */
  async #countRetrieved(
    { tenant_id, store_id }: CountedStore,
    index: StoreIndex,
    at_us: number,
  ): Promise<number> {
    const pace = yieldBetweenChunks(STRETCH_MS)
    const isCurrent = (ref: number) => {
      const { valid_from_us = at_us + 1, valid_until_us = null } = index.findValidity(ref) ?? {}
      return valid_from_us <= at_us && (valid_until_us === null || at_us < valid_until_us)
    }
    // Reads pending refs first: a ref recorded meanwhile is then in one of both, and counted once.
    const pending = retrievedFacts(this.#kernel).pending({ tenant_id, store_id })
    let count = 0
    for (const ref of pending) if (isCurrent(ref)) count += 1
    for (let after = -1; ; ) {
      const page = { after, limit: REFS_A_PAGE }
      const refs = await this.#kernel.db.read(tenant_id, (db) =>
        listRetrievedFacts(db, store_id, page),
      )
      for (const ref of refs) if (!pending.has(ref) && isCurrent(ref)) count += 1
      const last = refs.at(-1)
      if (last === undefined || refs.length < REFS_A_PAGE) return count
      after = last
      await pace()
    }
  }
}

const keyOf = ({ tenant_id, store_id }: CountedStore): string => `${tenant_id}\n${store_id}`

/** Above this number of facts, the sum over every row would make the list slow. */
const BYTES_COUNTED_MAX = 20_000

/** Shows `default` before its first write: an empty store with the default settings. */
const showDefaultStore = (kernel: Kernel): Store => ({
  ...makeDefaultSettings(kernel),
  capabilities: [...makeDefaultSettings(kernel).capabilities],
  languages: [...makeDefaultSettings(kernel).languages],
  name: DEFAULT_STORE,
  backend: 'custos',
  labels: {},
  created_at: null,
  state: 'active',
})

export const listStores: Handler<typeof memory.list_stores> = async (call, { query }) => {
  const allowed = call.principal.allowed_stores
  const page = pageOf(query, 100, call.operation.id)
  const { stores, end } = await call.read(async (db) => {
    const rows = await findStores(db, { ...page, allowed })
    const isLastPage = rows.length < page.limit
    const default_added = isLastPage && (await isDefaultListedHere(db, { allowed, rows, page }))
    const descriptions = await openDescriptions(call.kernel, db.tenant_id, rows)
    const stores = rows.flatMap((row, i) => {
      const description = descriptions[i]
      return description ? [showStore(row, description)] : []
    })
    if (default_added) stores.push(showDefaultStore(call.kernel))
    // `default` comes last: no further page follows it.
    const last = default_added ? undefined : rows.at(-1)
    return { stores, end: last ? { at: last.created_us, id: last.store_id } : null }
  })
  const fact_count = await countFactsOf(call, allowed)
  const few = fact_count <= BYTES_COUNTED_MAX
  const total_bytes = few ? await call.read((db) => sumFactBytes(db, allowed)) : null
  return { ...page.envelope('stores', stores, end), tenant_stats: { fact_count, total_bytes } }
}

const countFactsOf = ({ kernel, tenant_id }: Call, stores: readonly string[]): Promise<number> =>
  countRows(kernel.db, tenant_id, (db) => countFacts(db, stores))

/**
 * Whether `default`, before its first write, is listed after these last rows. It is listed after
 * all other stores, so that it keeps its position once it has a row.
 */
async function isDefaultListedHere(
  db: TenantDb,
  {
    allowed,
    rows,
    page: { offset, after },
  }: {
    readonly allowed: readonly string[]
    readonly rows: readonly StoreRow[]
    readonly page: Pick<Page, 'offset' | 'after'>
  },
): Promise<boolean> {
  if (allowed.length > 0 && !allowed.includes(DEFAULT_STORE)) return false
  if ((await findStore(db, DEFAULT_STORE)) !== undefined) return false
  if (rows.length > 0 || offset === 0 || after !== null) return true
  const before = { limit: 1, offset: offset - 1, after: null, allowed }
  return (await findStores(db, before)).length > 0
}

export const getStore: Handler<typeof memory.get_store> = async (call, { params }) => {
  const { row, description } = await call.read(async (db) => {
    const row = await findStore(db, params.store_id)
    const [description] = row ? await openDescriptions(call.kernel, db.tenant_id, [row]) : []
    return { row, description }
  })
  if (!row) {
    if (params.store_id !== DEFAULT_STORE) return call.refuse('store_not_found')
    return { ...showDefaultStore(call.kernel), state: 'active' as const, facts: 0 }
  }
  if (!description) return call.refuse('store_not_found')
  const facts = await countFactsOf(call, [row.store_id])
  const shown = { ...showStore(row, description), facts }
  if (row.state === 'active') return { ...shown, state: 'active' as const }
  return { ...shown, state: 'deleting' as const, deletion: { facts_left: facts } }
}

export const capabilities: Handler<typeof memory.capabilities> = (call, { params }) =>
  call.read(async (db) => {
    const store = await loadReadableStore(call.kernel, db, params.store_id)
    return { capabilities: [...store.capabilities] }
  })

// An answered write is durable and visible. An empty unit of work waits for the writes that are
// accepted but not yet answered.
export const flush: Handler<typeof memory.flush> = async (call, { params }) => {
  const row = await call.read((db) => findStore(db, params.store_id))
  if (row?.state === 'deleting') return call.refuse('store_deleting')
  if (!row && params.store_id !== DEFAULT_STORE) return call.refuse('store_not_found')
  await call.kernel.db.transact(call.tenant_id, async () => {})
  return {}
}

function showIngestion({ kernel, tenant_id }: Call, store_id: string) {
  const { pending, committed, batches } = getIngestionCounts(kernel, tenant_id, store_id)
  return {
    batching_enabled: true as const,
    pending,
    total_submitted: committed + pending,
    total_committed: committed,
    total_batches: batches,
    avg_batch_size: batches === 0 ? 0 : Math.round((committed / batches) * 100) / 100,
  }
}

export const ingestionStats: Handler<typeof memory.ingestion_stats> = async (call, { params }) => {
  const store = await call.read((db) => loadReadableStore(call.kernel, db, params.store_id))
  const counts = await loadStoreCounts(call.kernel, toCountedStore(call, store), { build: true })
  return { ...showIngestion(call, params.store_id), ...counts }
}

// Builds no index: statistics of many stores would evict the indexes in use.
export const stats: Handler<typeof memory.stats> = async (call, { params }) => {
  const store = await call.read((db) => loadReadableStore(call.kernel, db, params.store_id))
  const { store_id } = store
  const seen = await loadStoreNumbers(call, store)
  const counts = await loadStoreCounts(call.kernel, toCountedStore(call, store), { build: false })
  return { store_id, ...seen, ...showIngestion(call, store_id), ...counts }
}

const toCountedStore = ({ tenant_id }: Call, { row }: ReadableStore): CountedStore | null =>
  row ? { tenant_id, store_id: row.store_id, head_seq: row.head_seq } : null

async function loadStoreNumbers(
  { kernel, tenant_id }: Call,
  { store_id, embedder }: StoreSettings,
) {
  const space = kernel.embedders.spaceOf(embedder)
  const at = { at_us: kernel.clock.now(), space_mark: space?.mark ?? null }
  const [[facts], [versions], erased] = await Promise.all([
    kernel.db.sums(tenant_id, (db) => sumFacts(db, store_id, at)),
    kernel.db.sums(tenant_id, (db) => sumVersions(db, store_id, at.at_us)),
    countRows(kernel.db, tenant_id, (db) => countErased(db, store_id)),
  ])
  const [live, embedded] = [Number(facts?.facts ?? 0), Number(facts?.embedded ?? 0)]
  const missing = space === null ? 0 : live - embedded
  return {
    facts: live,
    tokens: Number(facts?.tokens ?? 0),
    current: Number(versions?.current ?? 0),
    superseded: Number(versions?.superseded ?? 0),
    erased,
    vectors: { space: space?.name ?? null, embedded, missing },
    index: storeIndexes(kernel).describe(tenant_id, store_id),
  }
}
