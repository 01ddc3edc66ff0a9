// The search indexes of this process: built from sealed rows, kept current by log position.

import { randomBytes } from 'node:crypto'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { ERASING, type FactRow, LIVE, listErasedSince, listFactsSince } from './facts.sql.ts'
import { type OpenedFact, openRows } from './opened-fact.ts'
import { makePacer } from './pacer.ts'
import { StoreIndex } from './retrieval/store-index.ts'
import { spaceOf } from './sealed-fact.ts'
import { findStore } from './stores.sql.ts'
import { listChangedSince } from './validity.sql.ts'

const CHUNK = 500
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

  // Rows newer than the head that was read may come along; they are put again next time.
  async #catchUp(tenant_id: string, store_id: string, entry: Entry): Promise<void> {
    const { db } = this.#kernel
    const { index, forgotten } = entry
    const seq = index.head_seq
    const store = await db.read(tenant_id, (r) => findStore(r, store_id))
    const pace = makePacer()
    for (let after = -1; ; ) {
      const rows = await db.read(tenant_id, (r) =>
        listFactsSince(r, store_id, { seq, after, limit: CHUNK }),
      )
      for (const fact of await this.#open(tenant_id, rows)) {
        if (!forgotten.has(fact.ref)) index.put(fact)
        await pace()
      }
      const last = rows.at(-1)
      if (!last || rows.length < CHUNK) break
      after = last.ref
    }
    const [changed, erased] = await db.read(tenant_id, async (r) => [
      await listChangedSince(r, store_id, seq),
      await listErasedSince(r, store_id, seq),
    ])
    for (const { ref, valid_until_us, valid_from_us } of changed)
      index.close(ref, valid_until_us, valid_from_us)
    for (const ref of [...erased.map((row) => row.ref), ...forgotten]) index.remove(ref)
    forgotten.clear()
    index.head_seq = store?.head_seq ?? seq
  }

  // Facts being erased are indexed too: reads look at the row's state, and an erasure that is
  // given up leaves the index complete. Vectors of another space are left out.
  async #open(tenant_id: string, rows: readonly FactRow[]): Promise<FreshFact[]> {
    const space = spaceOf(this.#kernel.embedder)
    const states = [LIVE, ERASING]
    const opened = await openRows(this.#kernel, tenant_id, rows, {
      states,
      onBroken: (ref) => this.#kernel.logger.error('memory.seal_broken', { tenant_id, ref }),
    })
    return opened.map((fact) => {
      const { document, vector } = fact
      return document.space === space ? { ...fact, vector } : { ...fact, vector: null }
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
