// In-memory cache of opened fact documents, so that a frequently read fact is decrypted once.

import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import type { FactDocument, OpenedFact } from './fact-document.ts'

/** Size limit, with text counted as UTF-16; beyond it the least recently used are dropped. */
const BYTES_MAX = 32 * 1024 * 1024
/** The size of an entry in addition to its text: signature, ids, the map. */
const ENTRY_BYTES = 1_024

/** Maximum number of stores to track; beyond it all are dropped, and rows are read again. */
const STORES_MAX = 10_000

/** A live fact with its row, and the text of the memory that replies show. */
export interface FactView {
  readonly fact: OpenedFact
  readonly json: string
}

/** Counts of removals and hidings when a read began; once they differ, it may be stale. */
export interface ReadMark {
  readonly removals: number
  readonly hidings: number
}

interface CachedFact {
  readonly tenant_id: string
  readonly ref: number
  readonly store_id: string
  readonly document: FactDocument
  /** The fact as shown at a log position of its store; `null` if only the document is known. */
  readonly shown: (FactView & { readonly head_seq: number; readonly hidings: number }) | null
}

const keyOf = (tenant_id: string, ref: number): string => `${ref}\n${tenant_id}`

function weighDocument({ document: { content, metadata }, shown }: CachedFact): number {
  const units = content.length + JSON.stringify(metadata).length + (shown?.json.length ?? 0)
  return ENTRY_BYTES + 2 * units
}

/** Number of hidings by tenant, counted across all kernels of the process. */
const hidings = new Map<string, number>()

/** Call this when a unit of work that hides facts of the tenant for an erasure is committed. */
export function noteHiddenFacts(tenant_id: string): void {
  hidings.set(tenant_id, (hidings.get(tenant_id) ?? 0) + 1)
}

/**
 * Documents by ref. A document says what a fact holds, never whether it may still be shown: callers
 * of `find` must have read the fact's row as live in the same snapshot. What `findShown` returns
 * was live at the log position of the snapshot, and this process has hidden nothing since.
 */
class OpenedFactCache {
  readonly #entries = new LruCache<string, CachedFact>({ max: BYTES_MAX, weigh: weighDocument })
  /** By tenant and store: its changes after `since`, up to `until`, have all been applied here. */
  readonly #applied = new Map<string, { since: number; until: number }>()
  #removals = 0

  /** Read this before loading the secrets, and pass it to `add`. */
  get removals(): number {
    return this.#removals
  }

  find(tenant_id: string, ref: number): FactDocument | undefined {
    return this.#entries.get(keyOf(tenant_id, ref))?.document
  }

  /** Does nothing if any fact was removed since `removals` was read: it may have been this one. */
  add(
    removals: number,
    tenant_id: string,
    { ref, store_id, document }: Omit<CachedFact, 'tenant_id' | 'shown'>,
  ): void {
    const key = keyOf(tenant_id, ref)
    if (removals !== this.#removals || this.#entries.has(key)) return
    this.#entries.set(key, { tenant_id, ref, store_id, document, shown: null })
  }

  /** Call this before taking the snapshot, and pass the result to `addShown`. */
  markRead(tenant_id: string): ReadMark {
    return { removals: this.#removals, hidings: hidings.get(tenant_id) ?? 0 }
  }

  /** Returns the fact as a snapshot of its store at `head_seq` shows it. */
  findShown(
    tenant_id: string,
    ref: number,
    { store_id, head_seq }: { readonly store_id: string; readonly head_seq: number },
  ): FactView | undefined {
    const entry = this.#entries.get(keyOf(tenant_id, ref))
    const shown = entry?.shown
    if (!shown || entry.store_id !== store_id) return undefined
    if (shown.hidings !== (hidings.get(tenant_id) ?? 0)) return undefined
    if (shown.head_seq === head_seq) return shown
    const applied = this.#applied.get(`${tenant_id}\n${store_id}`)
    const isUnchanged = applied && applied.since <= shown.head_seq && head_seq <= applied.until
    return isUnchanged && shown.head_seq < head_seq ? shown : undefined
  }

  /**
   * Does nothing if a fact was removed or hidden since the mark, or if the store has changed since
   * the snapshot: it may have been this fact.
   */
  addShown(
    tenant_id: string,
    { fact, json }: FactView,
    { head_seq, read_mark }: { readonly head_seq: number; readonly read_mark: ReadMark },
  ): void {
    const { removals, hidings } = this.markRead(tenant_id)
    if (read_mark.removals !== removals || read_mark.hidings !== hidings) return
    const { ref, store_id, document } = fact
    const store = `${tenant_id}\n${store_id}`
    const { until = Number.NEGATIVE_INFINITY } = this.#applied.get(store) ?? {}
    if (until > head_seq) return
    if (until < head_seq) this.#setApplied(store, { since: head_seq, until: head_seq })
    const shown = { fact, json, head_seq, hidings }
    this.#entries.set(keyOf(tenant_id, ref), { tenant_id, ref, store_id, document, shown })
  }

  /** Records that only the facts in `refs` changed between `from_seq` and `to_seq`. */
  applyChange(
    { tenant_id, store_id }: { readonly tenant_id: string; readonly store_id: string },
    { from_seq, to_seq }: { readonly from_seq: number; readonly to_seq: number },
    refs: readonly number[],
  ): void {
    const store = `${tenant_id}\n${store_id}`
    const known = this.#applied.get(store)
    const since = known?.until === from_seq ? known.since : from_seq
    this.#setApplied(store, { since, until: to_seq })
    for (const ref of refs) {
      const key = keyOf(tenant_id, ref)
      const entry = this.#entries.peek(key)
      if (entry) this.#entries.set(key, { ...entry, shown: null })
    }
  }

  #setApplied(store: string, applied: { since: number; until: number }): void {
    if (this.#applied.size >= STORES_MAX && !this.#applied.has(store)) this.#applied.clear()
    this.#applied.set(store, applied)
  }

  remove(tenant_id: string, refs: readonly number[]): void {
    if (refs.length > 0) this.#removals += 1
    for (const ref of refs) this.#entries.delete(keyOf(tenant_id, ref))
  }

  removeStore(tenant_id: string, store_id: string): void {
    this.#removals += 1
    for (const [key, entry] of this.#entries.entries())
      if (entry.tenant_id === tenant_id && entry.store_id === store_id) this.#entries.delete(key)
  }

  /** Yields tenant and store of every entry, with repetitions. */
  *stores(): Generator<[string, string]> {
    for (const [, { tenant_id, store_id }] of this.#entries.entries()) yield [tenant_id, store_id]
  }

  has(tenant_id: string, ref: number): boolean {
    return this.#entries.has(keyOf(tenant_id, ref))
  }
}

export const openedFactCache: (kernel: Kernel) => OpenedFactCache = perKernel(
  () => new OpenedFactCache(),
)
