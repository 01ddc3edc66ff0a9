// Reads of stores: lists, single stores, capabilities and statistics; also the flush barrier.

import type { memory, Store } from '@custos/contract'
import { countRows } from '../../../platform/db/database.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { type Page, pageOf } from '../../../platform/page.ts'
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
import { type CountedStore, loadStoreCounts } from './store-counts.ts'

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
