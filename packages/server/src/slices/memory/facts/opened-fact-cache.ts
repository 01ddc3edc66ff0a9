// Opened documents of facts kept in memory, so that a fact that is read often is decrypted once.

import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import type { FactDocument } from './fact-document.ts'

/** Counted as UTF-16; with more the documents unused for longest are dropped. */
const BYTES_MAX = 32 * 1024 * 1024
/** The size of an entry in addition to its text: signature, ids, the map. */
const ENTRY_BYTES = 1_024

interface CachedFact {
  readonly tenant_id: string
  readonly ref: number
  readonly store_id: string
  readonly document: FactDocument
}

const keyOf = (tenant_id: string, ref: number): string => `${ref}\n${tenant_id}`

function weighDocument({ document: { content, metadata } }: CachedFact): number {
  return ENTRY_BYTES + 2 * (content.length + JSON.stringify(metadata).length)
}

/**
 * Documents by ref. The cache says what a fact holds, never whether it may still be shown: a caller
 * that finds a document here has read the fact's row as live in the same snapshot.
 */
class OpenedFactCache {
  readonly #entries = new LruCache<string, CachedFact>({ max: BYTES_MAX, weigh: weighDocument })
  #removals = 0

  /** To be read before the secrets are; see `add`. */
  get removals(): number {
    return this.#removals
  }

  find(tenant_id: string, ref: number): FactDocument | undefined {
    return this.#entries.get(keyOf(tenant_id, ref))?.document
  }

  /** Does nothing when a fact was removed since `removals` was read: it may have been this one. */
  add(
    removals: number,
    tenant_id: string,
    { ref, store_id, document }: Omit<CachedFact, 'tenant_id'>,
  ): void {
    const key = keyOf(tenant_id, ref)
    if (removals !== this.#removals || this.#entries.has(key)) return
    this.#entries.set(key, { tenant_id, ref, store_id, document })
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

  /** Tenant and store of every entry, with repetitions. */
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
