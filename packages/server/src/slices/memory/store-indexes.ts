// The search indexes of this process: built from sealed rows, kept current by log position.

import { randomBytes } from 'node:crypto'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { makePacer } from '../../platform/pacer.ts'
import { Refusal } from '../../platform/refusal.ts'
import { ERASING, type FactRow, LIVE, listErasedSince, listFactsSince } from './facts.sql.ts'
import { type OpenedFact, openRows } from './opened-fact.ts'
import { enqueueReembed } from './reembed-queue.ts'
import { StoreIndex } from './retrieval/store-index.ts'
import { findStore, type StoreRow } from './stores.sql.ts'
import { listKnown, type ValidityRow } from './validity.sql.ts'
import { listFactsOfSpace } from './vectors.sql.ts'

/** Rows read and opened at once: contents that wait long for their turn make the heap grow. */
const CHUNK = 64
/** Other requests wait for so long, and for one chunk. */
const STRETCH_MS = 4
/** A store that takes more than a chunk of writes during each pass is written faster than read. */
const PASSES_MAX = 8
const RETRY_AFTER_S = 1
const CATCH_UPS_MAX = 3
const EVICT_EVERY = 1_024
/** Before the first entry of any log: everything is newer. */
const NEVER = -1

interface Entry {
  index: StoreIndex
  /** The catch-up under way, if any. */
  building: Promise<void> | null
  /** Refs erased while rows read earlier may still be on their way into the index. */
  readonly forgotten: Set<number>
  used: number
}

/** A fact that has just been committed, as the index takes it. */
export interface FreshFact
  extends Pick<
    OpenedFact,
    | 'ref'
    | 'namespace'
    | 'content'
    | 'metadata'
    | 'valid_from_us'
    | 'valid_until_us'
    | 'token_count'
  > {
  readonly vector: Int8Array | null
}

/** What one committed unit changed in a store. */
export interface StoreChange {
  readonly tenant_id: string
  readonly store_id: string
  /** The store's log position before and after. */
  readonly from_seq: number
  readonly to_seq: number
  readonly facts: readonly FreshFact[]
  /** Vectors of facts that were there before. */
  readonly vectors?: readonly { readonly ref: number; readonly vector: Int8Array }[]
  readonly closed: readonly { readonly ref: number; readonly valid_until_us: number }[]
}

export const storeIndexes = perKernel((kernel) => new StoreIndexes(kernel))

export class StoreIndexes {
  readonly #kernel: Kernel
  readonly #entries = new Map<string, Entry>()
  readonly #fingerprintKey = randomBytes(32)
  #uses = 0
  #fed = 0

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /**
   * The index at log position `head_seq` or later. Waits for a build for a bounded time, then
   * refuses `index_building`; the build goes on.
   */
  async current(tenant_id: string, store_id: string, head_seq: number): Promise<StoreIndex> {
    const entry = this.#entry(tenant_id, store_id)
    const deadline = performance.now() + this.#kernel.settings.index_wait_ms
    for (let attempt = 0; entry.index.head_seq < head_seq; attempt += 1) {
      // Positions only grow, so a second look is enough unless the store is going away.
      if (attempt === CATCH_UPS_MAX) throw building()
      entry.building ??= this.#catchUp(tenant_id, store_id, entry).finally(() => {
        entry.building = null
        this.#evict(entry)
      })
      await within(entry.building, deadline - performance.now())
    }
    return entry.index
  }

  /** The index if it stands exactly at `head_seq`: what a snapshot with that head may use. */
  at(tenant_id: string, store_id: string, head_seq: number): StoreIndex | undefined {
    const entry = this.#entries.get(keyOf(tenant_id, store_id))
    return entry && !entry.building && entry.index.head_seq === head_seq ? entry.index : undefined
  }

  /** Takes over a committed change without reading it back, when nothing lies between. */
  feed(change: StoreChange): void {
    const entry = this.#entries.get(keyOf(change.tenant_id, change.store_id))
    if (!entry || entry.building || entry.index.head_seq !== change.from_seq) return
    for (const fact of change.facts) entry.index.put(fact)
    for (const { ref, vector } of change.vectors ?? []) entry.index.setVector(ref, vector)
    for (const { ref, valid_until_us } of change.closed) entry.index.close(ref, valid_until_us)
    entry.index.head_seq = change.to_seq
    // What grows by writes alone is held to the limit too.
    this.#fed += change.facts.length
    if (this.#fed < EVICT_EVERY) return
    this.#fed = 0
    this.#evict(entry)
  }

  /** Drops facts at once, also from a build that has already read them. */
  forget(tenant_id: string, store_id: string, refs: readonly number[]): void {
    const entry = this.#entries.get(keyOf(tenant_id, store_id))
    if (!entry) return
    for (const ref of refs) {
      entry.index.remove(ref)
      if (entry.building) entry.forgotten.add(ref)
    }
  }

  /** Drops the whole index; the next read builds it again. */
  drop(tenant_id: string, store_id: string): void {
    this.#entries.delete(keyOf(tenant_id, store_id))
  }

  /** What is held of a store, without building anything. */
  peek(tenant_id: string, store_id: string) {
    const entry = this.#entries.get(keyOf(tenant_id, store_id))
    if (!entry) return { state: 'absent' as const, facts: 0, bytes: 0 }
    const state = entry.building ? ('building' as const) : ('ready' as const)
    return { state, facts: entry.index.size, bytes: Math.round(entry.index.bytes()) }
  }

  /** Tenant and store of every index. */
  held(): [string, string][] {
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

  #entry(tenant_id: string, store_id: string): Entry {
    const key = keyOf(tenant_id, store_id)
    let entry = this.#entries.get(key)
    if (!entry) {
      const index = new StoreIndex(this.#fingerprintKey)
      index.head_seq = NEVER
      entry = { index, building: null, forgotten: new Set(), used: 0 }
      this.#entries.set(key, entry)
    }
    this.#uses += 1
    entry.used = this.#uses
    return entry
  }

  // A pass of several pages sees several snapshots, and more than it says of some facts. Another
  // follows it from where it began, until one page of one snapshot holds all that is new.
  async #catchUp(tenant_id: string, store_id: string, entry: Entry): Promise<void> {
    const first = entry.index.head_seq === NEVER
    let missing = 0
    for (let passes = 1; ; passes += 1) {
      const pass = await this.#pass(tenant_id, store_id, entry)
      missing += pass.missing
      if (pass.pages > 1 && passes < PASSES_MAX) continue
      if (first && missing > 0 && pass.store) this.#requestVectors(tenant_id, pass.store)
      return
    }
  }

  async #pass(tenant_id: string, store_id: string, entry: Entry) {
    const { index, forgotten } = entry
    const seq = index.head_seq
    const pace = makePacer(STRETCH_MS)
    const read = (after: number) =>
      this.#kernel.db.read(tenant_id, (r) => readPage(r, store_id, { seq, after }))
    let coming = read(NEVER)
    let store: StoreRow | undefined
    let missing = 0
    for (let pages = 1; ; pages += 1) {
      const page = await coming
      if (page.next !== null) {
        // A database across a network works on the next page while this one is opened.
        coming = read(page.next)
        coming.catch(() => {})
      }
      if (pages === 1) {
        store = page.store
        await this.#enterSpace(tenant_id, entry, store)
      }
      for (const fact of await this.#open(tenant_id, page.rows, index.space)) {
        if (fact.state === LIVE && fact.vector === null) missing += 1
        if (!forgotten.has(fact.ref)) take(index, fact, seq)
      }
      await pace()
      if (page.next !== null) continue
      for (const { ref, valid_until_us, valid_from_us } of page.changed)
        index.close(ref, valid_until_us, valid_from_us)
      for (const ref of [...page.erased, ...forgotten]) index.remove(ref)
      forgotten.clear()
      index.head_seq = store?.head_seq ?? seq
      return { pages, missing, store }
    }
  }

  // Facts in the present space of the store's embedder are all the vectors there are: after a
  // change of the embedder few or none, until they are made.
  async #enterSpace(tenant_id: string, entry: Entry, store: StoreRow | undefined): Promise<void> {
    const { index, forgotten } = entry
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
        if (vector !== null && !forgotten.has(ref)) index.setVector(ref, vector)
      const last = rows.at(-1)
      if (!last || rows.length < CHUNK) return
      after = last.ref
    }
  }

  // Made by a job, once for each build: what the build found is answered from meanwhile.
  #requestVectors(tenant_id: string, { store_id, embedder, state }: StoreRow): void {
    if (state !== 'active' || this.#kernel.embedders.spaceOf(embedder) === null) return
    this.#kernel.db
      .transact(tenant_id, (tx) => enqueueReembed(this.#kernel, tx, store_id))
      .catch(() => this.#kernel.logger.warn('memory.reembed_not_queued', { tenant_id, store_id }))
  }

  // Facts being erased are indexed too: reads look at the row's state, and an erasure that is
  // given up leaves the index complete. Vectors of another space are left out.
  async #open(
    tenant_id: string,
    rows: readonly FactRow[],
    space: string | null,
  ): Promise<OpenedFact[]> {
    const states = [LIVE, ERASING]
    const opened = await openRows(this.#kernel, tenant_id, rows, {
      states,
      onBroken: (ref) => this.#kernel.logger.error('memory.seal_broken', { tenant_id, ref }),
    })
    return opened.map((fact) => {
      return fact.document.space === space ? fact : { ...fact, vector: null }
    })
  }

  #evict(keep: Entry): void {
    let bytes = 0
    for (const { index } of this.#entries.values()) bytes += index.bytes()
    const byUse = [...this.#entries].sort(([, a], [, b]) => a.used - b.used)
    for (const [key, entry] of byUse) {
      if (bytes <= this.#kernel.settings.index_bytes_max) return
      if (entry === keep || entry.building) continue
      bytes -= entry.index.bytes()
      this.#entries.delete(key)
    }
  }
}

/** What is new in a store after log position `seq`, in the order of refs; `next`: there is more. */
interface Page {
  readonly store: StoreRow | undefined
  readonly rows: readonly FactRow[]
  readonly next: number | null
  /** Of the last page only: intervals that changed, and refs that were erased. */
  readonly changed: readonly ValidityRow[]
  readonly erased: readonly number[]
}

async function readPage(
  db: TenantDb,
  store_id: string,
  { seq, after }: { seq: number; after: number },
): Promise<Page> {
  // Sent together: on a database across a network they share the way there and back.
  const [store, rows] = await Promise.all([
    findStore(db, store_id),
    listFactsSince(db, store_id, { seq, after, limit: CHUNK }),
  ])
  const page = { store, rows, next: null, changed: [], erased: [] }
  const last = rows.at(-1)
  if (last && rows.length === CHUNK) return { ...page, next: last.ref }
  // Rows hold the interval of their own snapshot: before any of them there was nothing to change.
  if (seq === NEVER) return page
  const [changed, erased] = await Promise.all([
    listChanged(db, store_id, seq),
    listErasedSince(db, store_id, seq),
  ])
  return { ...page, changed, erased: erased.map(({ ref }) => ref) }
}

/** The versions on record now that came after log position `seq`. */
async function listChanged(db: TenantDb, store_id: string, seq: number): Promise<ValidityRow[]> {
  const changed: ValidityRow[] = []
  const pace = makePacer(STRETCH_MS)
  for (let after = { from_seq: seq, ref: Number.MAX_SAFE_INTEGER }; ; ) {
    const page = { seq: Number.MAX_SAFE_INTEGER, after, limit: CHUNK }
    const rows = await listKnown(db, store_id, page)
    changed.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK) return changed
    after = { from_seq: last.from_seq, ref: last.ref }
    await pace()
  }
}

/** A fact that is only embedded again since `seq` keeps its words. */
function take(index: StoreIndex, fact: OpenedFact, seq: number): void {
  if (fact.written_seq > seq || !index.has(fact.ref)) index.put(fact)
  else if (fact.vector !== null) index.setVector(fact.ref, fact.vector)
}

const keyOf = (tenant_id: string, store_id: string): string => `${tenant_id}\n${store_id}`

const building = () => new Refusal('index_building', undefined, { retry_after_s: RETRY_AFTER_S })

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(building()), Math.max(0, ms))
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
