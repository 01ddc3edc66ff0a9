// Records which facts retrievals have returned: collects refs in memory and flushes them every few
// seconds.

import { setTimeout as sleep } from 'node:timers/promises'
import { findDestruction } from '../../../platform/db/destructions.sql.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { insertRetrievedFacts } from '../facts/retrieved-facts.sql.ts'

/**
 * Maximum number of recorded refs to remember. Beyond it they are dropped, and recorded again at
 * the next retrieval.
 */
const RECORDED_MAX = 200_000
/** Maximum pending refs. Beyond it, as when the database is down, refs are not counted. */
const PENDING_MAX = 200_000
/** Refs per unit of work; other units of the tenant wait for it. */
const UNIT_REFS = 100
/** The pause after each unit as a multiple of its time, which leaves room for requests. */
const PAUSE_FACTOR = 3
const PAUSE_MS_MAX = 20

interface StoreId {
  readonly tenant_id: string
  readonly store_id: string
}

/**
 * A retrieval costs one look-up per ref and no unit of work. A killed process loses the refs since
 * its last flush. Other processes count a ref once it is recorded.
 */
class RetrievedFacts {
  readonly #kernel: Kernel
  readonly #recorded = new RefsByStore()
  readonly #pending = new RefsByStore()
  #flushing: Promise<void> | null = null

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** Adds memories that a retrieval has returned. */
  add(store: StoreId, memories: readonly { readonly ref: number }[]): void {
    if (memories.length === 0 || this.#pending.size >= PENDING_MAX) return
    const recorded = this.#recorded.of(store)
    for (const { ref } of memories) if (!recorded?.has(ref)) this.#pending.add(store, ref)
  }

  /** Refs that this process has returned and that may not be recorded yet. */
  pending(store: StoreId): Set<number> {
    return new Set(this.#pending.of(store))
  }

  /**
   * Records the pending refs; those that cannot be recorded stay pending. With `stopping`, pauses
   * between units of work until it is aborted. A call during another one waits for that one.
   */
  flush(stopping?: AbortSignal): Promise<void> {
    this.#flushing ??= this.#flush(stopping).finally(() => {
      this.#flushing = null
    })
    return this.#flushing
  }

  async #flush(stopping: AbortSignal | undefined): Promise<void> {
    for (const [store, pending] of this.#pending.stores()) {
      const refs = [...pending].sort((a, b) => a - b)
      try {
        for (let at = 0; at < refs.length; at += UNIT_REFS) {
          const begun_ms = performance.now()
          await this.#record(store, refs.slice(at, at + UNIT_REFS))
          const pause_ms = PAUSE_FACTOR * (performance.now() - begun_ms)
          if (stopping)
            await sleep(Math.min(PAUSE_MS_MAX, pause_ms), null, { signal: stopping }).catch(
              () => {},
            )
        }
      } catch {
        this.#kernel.logger.warn('retrieved.flush_failed', { tenant_id: store.tenant_id })
      }
    }
  }

  async #record(store: StoreId, refs: readonly number[]): Promise<void> {
    await this.#kernel.db.transact(store.tenant_id, async (tx) => {
      // Writes nothing for a tenant that has been off-boarded since.
      if (await findDestruction(tx, tx.tenant_id)) return
      await insertRetrievedFacts(tx, store.store_id, refs)
    })
    if (this.#recorded.size + refs.length > RECORDED_MAX) this.#recorded.clear()
    for (const ref of refs) {
      this.#recorded.add(store, ref)
      this.#pending.delete(store, ref)
    }
  }
}

class RefsByStore {
  readonly #stores = new Map<string, { readonly store: StoreId; readonly refs: Set<number> }>()
  size = 0

  of(store: StoreId): ReadonlySet<number> | undefined {
    return this.#stores.get(keyOf(store))?.refs
  }

  stores(): [StoreId, ReadonlySet<number>][] {
    return [...this.#stores.values()].map(({ store, refs }) => [store, refs])
  }

  add({ tenant_id, store_id }: StoreId, ref: number): void {
    const store = { tenant_id, store_id }
    const key = keyOf(store)
    const { refs } = this.#stores.get(key) ?? { refs: new Set<number>() }
    if (refs.size === 0) this.#stores.set(key, { store, refs })
    if (!refs.has(ref)) this.size += 1
    refs.add(ref)
  }

  delete(store: StoreId, ref: number): void {
    const key = keyOf(store)
    const refs = this.#stores.get(key)?.refs
    if (refs?.delete(ref)) this.size -= 1
    if (refs?.size === 0) this.#stores.delete(key)
  }

  clear(): void {
    this.#stores.clear()
    this.size = 0
  }
}

const keyOf = ({ tenant_id, store_id }: StoreId): string => `${tenant_id}\n${store_id}`

export const retrievedFacts = perKernel((kernel) => new RetrievedFacts(kernel))

/**
 * Records which facts retrievals have returned. The timer passes `stopping`, so that requests run
 * between the units of work; when the process stops, nothing is left to wait for.
 */
export const flushRetrievedFacts = (kernel: Kernel, stopping?: AbortSignal): Promise<void> =>
  retrievedFacts(kernel).flush(stopping)
