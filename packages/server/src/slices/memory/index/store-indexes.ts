// The search indexes of this process, built from sealed rows and kept current by log position.

import { randomBytes } from 'node:crypto'
import type { Language } from '@custos/contract'
import { semaphore, waitAtMost } from '../../../platform/concurrency.ts'
import { indexSnapshotPolicy, type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { startPerIteration, yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { enqueueReembed } from '../facts/embeddings.ts'
import { ERASING, type FactRow, LIVE, placeAfter, type SealPlace } from '../facts/facts.sql.ts'
import { searchedText } from '../facts/item-name.ts'
import { type FactWithVector, openFactRows } from '../facts/opened-fact.ts'
import { openedFactCache } from '../facts/opened-fact-cache.ts'
import { listFactsOfSpace } from '../facts/vectors.sql.ts'
import { parseStoreSettings } from '../stores/store-settings.ts'
import { findStore, type StoreRow } from '../stores/stores.sql.ts'
import { makeAnalyser } from '../text/analysis.ts'
import { CHUNK, NEVER, readPage, STRETCH_MS } from './change-pages.ts'
import { loadSnapshot, saveSnapshot, sweepSnapshots } from './index-snapshots.ts'
import type { IndexedFact } from './partition.ts'
import type { SearchOptions } from './ranking.ts'
import { StoreIndex, searchSteps } from './store-index.ts'

/** A store with over a chunk of writes in each pass is written faster than it is read. */
const PASSES_MAX = 8
/** How long a search waits for a snapshot; one of a million facts takes some seconds. */
const LOADING_WAIT_MS = 20_000
const RETRY_AFTER_S = 1
const CATCH_UPS_MAX = 3
const EVICT_EVERY = 1_024

interface IndexEntry {
  /** Replaced by the first catch-up, which reads the languages of the store. */
  index: StoreIndex
  /** The catch-up in progress, if any, and when it began by `performance.now`. */
  building: Promise<void> | null
  building_ms: number
  /** The first part of the catch-up, which loads a snapshot if there is one. */
  loading: Promise<void> | null
  /** Refs erased during a catch-up, which may already have read their rows. */
  readonly removed: Set<number>
  last_use: number
  /** Whether the index has a snapshot, and how many facts were put or changed since. */
  saved: boolean
  unsaved: number
  /** Time of the last snapshot attempt, in milliseconds of `performance.now`. */
  tried_ms: number
}

/** Changes to a store by one committed unit of work. */
interface StoreChange {
  readonly tenant_id: string
  readonly store_id: string
  /** The store's log position before and after the unit. */
  readonly from_seq: number
  readonly to_seq: number
  readonly facts: readonly IndexedFact[]
  /** New vectors of existing facts. */
  readonly vectors?: readonly { readonly ref: number; readonly vector: Int8Array }[]
  readonly closed: readonly { readonly ref: number; readonly valid_until_us: number }[]
  /** Erased facts that are in no chain or digest. */
  readonly removed?: readonly number[]
}

export const storeIndexes = perKernel((kernel) => new StoreIndexes(kernel))

function updateIndex(index: StoreIndex, change: StoreChange): void {
  const { facts, vectors, closed, removed, to_seq } = change
  for (const ref of removed ?? []) index.remove(ref)
  for (const fact of facts) index.put(fact)
  for (const { ref, vector } of vectors ?? []) index.setVector(ref, vector)
  for (const { ref, valid_until_us } of closed) index.changeValidity(ref, valid_until_us)
  index.head_seq = to_seq
}

/** Starting only one per iteration of the event loop costs a tenth of the rate at 8 connections. */
const SEARCHES_PER_ITERATION = 4

export class StoreIndexes {
  readonly #kernel: Kernel
  readonly #entries = new Map<string, IndexEntry>()
  readonly #turns = semaphore(1)
  readonly #start = startPerIteration(SEARCHES_PER_ITERATION)
  #uses = 0
  #swept: Promise<void> | null = null
  #saving: Promise<void> = Promise.resolve()
  #ending = false
  /** Facts put by changes since memory was last checked. */
  #facts_put = 0

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /**
   * Returns the index at log position `head_seq` or later. Waits a bounded time for it to be built,
   * then refuses `index_building` while building continues. `awaitSnapshot`: also waits for a
   * snapshot that is being loaded; writes do not, as they can go on without the index.
   */
  async loadCurrent(
    tenant_id: string,
    store_id: string,
    head_seq: number,
    { awaitSnapshot = false } = {},
  ): Promise<StoreIndex> {
    const entry = this.#entry(tenant_id, store_id)
    const { index_wait_ms } = this.#kernel.settings
    let deadline = performance.now() + index_wait_ms
    for (let attempt = 0; entry.index.head_seq < head_seq; attempt += 1) {
      // Log positions only grow, so two catch-ups suffice unless the store is being deleted.
      if (attempt === CATCH_UPS_MAX) refuseBuilding()
      if (!entry.building) entry.building_ms = performance.now()
      entry.building ??= this.#catchUp(tenant_id, store_id, entry).finally(() => {
        entry.building = null
        this.#evict(entry)
      })
      const { building, loading } = entry
      if (awaitSnapshot && loading) {
        // If loading fails, the catch-up fails too.
        const loaded = Promise.race([loading, building])
        await waitAtMost(loaded, LOADING_WAIT_MS, refuseBuilding)
        deadline = performance.now() + index_wait_ms
      }
      await waitAtMost(building, deadline - performance.now(), refuseBuilding)
    }
    return entry.index
  }

  /** Returns the index only if it is exactly at `head_seq`, and thus fits such a snapshot. */
  findAt(tenant_id: string, store_id: string, head_seq: number): StoreIndex | undefined {
    const entry = this.#entries.get(keyOf(tenant_id, store_id))
    return entry && !entry.building && entry.index.head_seq === head_seq ? entry.index : undefined
  }

  /**
   * Runs a search of the store. Searches of large indexes run one after another, so that each
   * begins with a current snapshot and few snapshots are held. The others, which have no steps,
   * begin a few at a time.
   * @param announce what the search will compare, so that another can do it too while it waits
   */
  async inTurn<T>(
    tenant_id: string,
    store_id: string,
    search: () => Promise<T>,
    announce: () => Pick<SearchOptions, 'namespace' | 'vector'> | null = () => null,
  ): Promise<T> {
    const index = this.#entries.get(keyOf(tenant_id, store_id))?.index
    if (!index || index.size < searchSteps.slots_min) {
      await this.#start()
      return search()
    }
    const announced = announce()
    const end = announced ? index.expectSearch(announced) : () => {}
    try {
      return await this.#turns.run(search)
    } finally {
      end()
    }
  }

  /** Applies a committed change without reading it back, if it directly follows the index. */
  applyChange(change: StoreChange): void {
    const changed = [...(change.vectors ?? []), ...change.closed].map(({ ref }) => ref)
    openedFactCache(this.#kernel).applyChange(change, change, changed)
    const entry = this.#entries.get(keyOf(change.tenant_id, change.store_id))
    if (entry && change.removed !== undefined) entry.saved = false
    if (!entry || entry.building || entry.index.head_seq !== change.from_seq) return
    try {
      updateIndex(entry.index, change)
    } catch (error) {
      // The change is committed, so it must not fail because memory cannot grow.
      this.drop(change.tenant_id, change.store_id)
      const reason = error instanceof Error ? error.name : 'unknown'
      this.#kernel.logger.error('index.change_failed', { reason })
      return
    }
    entry.unsaved += change.facts.length + (change.vectors?.length ?? 0) + change.closed.length
    // Also limits indexes that grow by writes alone.
    this.#facts_put += change.facts.length
    if (this.#facts_put < EVICT_EVERY) return
    this.#facts_put = 0
    this.#evict(entry)
  }

  /** Removes facts at once, also from a catch-up that has already read them. */
  removeFacts(tenant_id: string, store_id: string, refs: readonly number[]): void {
    const entry = this.#entries.get(keyOf(tenant_id, store_id))
    if (!entry) return
    entry.saved = false
    for (const ref of refs) {
      entry.index.remove(ref)
      if (entry.building) entry.removed.add(ref)
    }
  }

  /** Drops the whole index; the next read rebuilds it. */
  drop(tenant_id: string, store_id: string): void {
    const key = keyOf(tenant_id, store_id)
    this.#entries.get(key)?.index.release()
    this.#entries.delete(key)
  }

  /** State and size of a store's index; never builds one. */
  describe(tenant_id: string, store_id: string) {
    const entry = this.#entries.get(keyOf(tenant_id, store_id))
    if (!entry) return { state: 'absent' as const, facts: 0, bytes: 0 }
    const state = entry.building ? ('building' as const) : ('ready' as const)
    return { state, facts: entry.index.size, bytes: Math.round(entry.index.bytes()) }
  }

  /** Memory of all indexes, and how long the longest catch-up has been running. */
  measure(): { bytes: number; building_s: number } {
    const now_ms = performance.now()
    let [bytes, building_s] = [0, 0]
    for (const { index, building, building_ms } of this.#entries.values()) {
      bytes += index.bytes()
      if (building) building_s = Math.max(building_s, (now_ms - building_ms) / 1_000)
    }
    return { bytes: Math.round(bytes), building_s }
  }

  /** Tenant and store of every index. */
  stores(): [string, string][] {
    return [...this.#entries.keys()].map((key) => {
      const [tenant_id = '', store_id = ''] = key.split('\n')
      return [tenant_id, store_id]
    })
  }

  /** Whether any index of the tenant holds the ref. */
  hasAnywhere(tenant_id: string, ref: number): boolean {
    for (const [key, { index }] of this.#entries)
      if (key.startsWith(`${tenant_id}\n`) && index.has(ref)) return true
    return false
  }

  has(tenant_id: string, store_id: string, ref: number): boolean {
    return this.#entries.get(keyOf(tenant_id, store_id))?.index.has(ref) ?? false
  }

  #entry(tenant_id: string, store_id: string): IndexEntry {
    const key = keyOf(tenant_id, store_id)
    let entry = this.#entries.get(key)
    if (!entry) {
      const unsaved = { saved: false, unsaved: 0, tried_ms: Number.NEGATIVE_INFINITY }
      const index = this.#createIndex(['en'])
      const idle = { building: null, building_ms: 0, loading: null }
      entry = { index, ...idle, removed: new Set(), last_use: 0, ...unsaved }
      this.#entries.set(key, entry)
    }
    this.#uses += 1
    entry.last_use = this.#uses
    return entry
  }

  #createIndex(languages: readonly Language[]): StoreIndex {
    const index = new StoreIndex(randomBytes(32), makeAnalyser(languages))
    index.head_seq = NEVER
    return index
  }

  // A pass of several pages reads several snapshots, so some of its facts may be newer than its log
  // position. Passes are repeated until one page of one snapshot holds everything new.
  async #catchUp(tenant_id: string, store_id: string, entry: IndexEntry): Promise<void> {
    if (entry.index.head_seq === NEVER) {
      entry.loading = this.#loadSnapshot(tenant_id, store_id, entry).finally(() => {
        entry.loading = null
      })
      await entry.loading
    }
    const first = entry.index.head_seq === NEVER
    let missing = 0
    for (let passes = 1; ; passes += 1) {
      const pass = await this.#pass(tenant_id, store_id, entry)
      missing += pass.missing
      if (pass.pages > 1 && passes < PASSES_MAX) continue
      if (first && missing > 0 && pass.store) this.#enqueueReembed(tenant_id, pass.store)
      return
    }
  }

  async #loadSnapshot(tenant_id: string, store_id: string, entry: IndexEntry): Promise<void> {
    const store = await this.#kernel.db.read(tenant_id, (db) => findStore(db, store_id))
    const index = store ? await loadSnapshot(this.#kernel, tenant_id, store) : null
    if (index === null) return
    // Refs erased while the snapshot was read. The next pass clears the list.
    for (const ref of entry.removed) index.remove(ref)
    entry.index = index
    entry.saved = true
    entry.unsaved = 0
  }

  /**
   * Writes snapshots of the indexes that are due, most recently used first, one after another.
   * `within_ms`: the process stops after this time; snapshots incomplete by then are abandoned.
   */
  async saveDue(within_ms?: number): Promise<void> {
    const until = within_ms === undefined ? null : performance.now() + within_ms
    this.#ending ||= until !== null
    await this.sweep()
    this.#saving = this.#saving.then(() => this.#saveDue(until))
    await this.#saving
  }

  /** Removes, once, the files that the last process left. */
  sweep(): Promise<void> {
    this.#swept ??= sweepSnapshots(this.#kernel).catch((error: unknown) => this.#warn(error))
    return this.#swept
  }

  async #saveDue(until: number | null): Promise<void> {
    const byUse = [...this.#entries].sort(([, a], [, b]) => b.last_use - a.last_use)
    const isOver = () => (until === null ? this.#ending : performance.now() > until)
    for (const [key, entry] of byUse) {
      if (isOver()) return
      if (!this.#isDue(entry, until !== null)) continue
      entry.tried_ms = performance.now()
      const isDropped = () => this.#entries.get(key) !== entry
      const options = { isOver: () => isOver() || isDropped(), resting: until === null }
      await this.#save(key, entry, options).catch((error: unknown) => this.#warn(error))
    }
  }

  async #save(
    key: string,
    entry: IndexEntry,
    options: Parameters<typeof saveSnapshot>[2],
  ): Promise<void> {
    const [tenant_id = '', store_id = ''] = key.split('\n')
    // An index that has not applied an erasure must not be saved.
    const store = await this.#kernel.db.read(tenant_id, (db) => findStore(db, store_id))
    if (store) await this.loadCurrent(tenant_id, store_id, store.head_seq)
    const { index, unsaved } = entry
    // An erasure during the save resets it.
    entry.saved = true
    let done = false
    try {
      done = await saveSnapshot(this.#kernel, { tenant_id, store_id, index }, options)
    } finally {
      if (done) entry.unsaved -= unsaved
      else entry.saved = false
    }
  }

  #isDue({ index, building, saved, unsaved, tried_ms }: IndexEntry, isEnding: boolean): boolean {
    const policy = indexSnapshotPolicy(this.#kernel)
    if (building !== null || index.size < policy.facts_min || index.head_seq === NEVER) return false
    if (isEnding) return !saved || unsaved >= policy.changes_min_at_stop
    if (!saved) return performance.now() - tried_ms >= policy.retry_ms
    return unsaved >= Math.max(policy.changes_min, index.size * policy.changes_share)
  }

  /** A failed snapshot is only logged: the index is then built from rows. */
  #warn(error: unknown): void {
    const reason = error instanceof Error ? error.name : 'unknown'
    this.#kernel.logger.warn('index.snapshot_failed', { reason })
  }

  async #pass(tenant_id: string, store_id: string, entry: IndexEntry) {
    const { removed } = entry
    let { index } = entry
    const seq = index.head_seq
    const pace = yieldBetweenChunks(STRETCH_MS)
    const read = (after: SealPlace) =>
      this.#kernel.db.read(tenant_id, (r) => readPage(r, store_id, { seq, after }))
    let upcoming = read(placeAfter(seq))
    let store: StoreRow | undefined
    let missing = 0
    for (let pages = 1; ; pages += 1) {
      const page = await upcoming
      if (page.next !== null) {
        // A remote database reads the next page while this one is opened.
        upcoming = read(page.next)
        upcoming.catch(() => {})
      }
      if (pages === 1) {
        store = page.store
        if (seq === NEVER && store) {
          index = this.#createIndex(parseStoreSettings(store).languages)
          entry.index = index
        }
        await this.#enterSpace(tenant_id, entry, store)
      }
      for (const fact of await this.#open(tenant_id, page.rows, index.space)) {
        if (fact.state === LIVE && fact.vector === null) missing += 1
        entry.unsaved += 1
        if (!removed.has(fact.ref)) putOpenedFact(index, fact, seq)
      }
      await pace()
      if (page.next !== null) continue
      for (const { ref, valid_until_us, valid_from_us } of page.changed)
        index.changeValidity(ref, valid_until_us, valid_from_us)
      entry.unsaved += page.changed.length
      if (page.erased.length > 0) entry.saved = false
      for (const ref of [...page.erased, ...removed]) index.remove(ref)
      removed.clear()
      index.head_seq = store?.head_seq ?? seq
      return { pages, missing, store }
    }
  }

  // Loads vectors of the space of the store's embedder. After a change of embedder there are few or
  // none until a job has made them.
  async #enterSpace(
    tenant_id: string,
    entry: IndexEntry,
    store: StoreRow | undefined,
  ): Promise<void> {
    const { index, removed } = entry
    const space = store ? this.#kernel.embedders.spaceOf(store.embedder) : null
    if (!store || index.space === (space?.name ?? null)) return
    const seq = index.head_seq
    index.enterSpace(space?.name ?? null)
    if (!space || seq === NEVER) return
    for (let after = -1; ; ) {
      const page = { mark: space.mark, after, limit: CHUNK }
      const rows = await this.#kernel.db.read(tenant_id, (r) =>
        listFactsOfSpace(r, store.store_id, page),
      )
      for (const { ref, vector } of await this.#open(tenant_id, rows, index.space))
        if (vector !== null && !removed.has(ref)) index.setVector(ref, vector)
      const last = rows.at(-1)
      if (!last || rows.length < CHUNK) return
      after = last.ref
    }
  }

  // Requests a job for missing vectors, once per build; searches use the existing vectors
  // meanwhile.
  #enqueueReembed(tenant_id: string, { store_id, embedder, state }: StoreRow): void {
    if (state !== 'active' || this.#kernel.embedders.spaceOf(embedder) === null) return
    this.#kernel.db
      .transact(tenant_id, (tx) => enqueueReembed(this.#kernel, tx, store_id))
      .catch(() => this.#kernel.logger.warn('memory.reembed_not_queued', { tenant_id, store_id }))
  }

  // Indexes facts that are being erased too: reads check the row's state, and the index is complete
  // again if an erasure is undone. Vectors of another space are left out.
  async #open(
    tenant_id: string,
    rows: readonly FactRow[],
    space: string | null,
  ): Promise<FactWithVector[]> {
    const states = [LIVE, ERASING]
    const opened = await openFactRows(this.#kernel, tenant_id, rows, {
      states,
      onBroken: (ref) => this.#kernel.logger.error('memory.seal_broken', { tenant_id, ref }),
    })
    return opened.map((fact) => {
      return fact.document.space === space ? fact : { ...fact, vector: null }
    })
  }

  #evict(keep: IndexEntry): void {
    let bytes = 0
    for (const { index } of this.#entries.values()) bytes += index.bytes()
    const byUse = [...this.#entries].sort(([, a], [, b]) => a.last_use - b.last_use)
    for (const [key, entry] of byUse) {
      if (bytes <= this.#kernel.settings.index_bytes_max) return
      if (entry === keep || entry.building) continue
      bytes -= entry.index.bytes()
      entry.index.release()
      this.#entries.delete(key)
    }
  }
}

/** A fact that has only been re-embedded since `seq` keeps its terms. */
function putOpenedFact(index: StoreIndex, fact: FactWithVector, seq: number): void {
  if (fact.written_seq > seq || !index.has(fact.ref))
    index.put({
      ...fact,
      content: searchedText(fact.document),
      expires_us: fact.document.expires_us ?? null,
    })
  else if (fact.vector !== null) index.setVector(fact.ref, fact.vector)
}

const keyOf = (tenant_id: string, store_id: string): string => `${tenant_id}\n${store_id}`

function refuseBuilding(): never {
  throw new Refusal('index_building', undefined, { retry_after_s: RETRY_AFTER_S })
}
