// Which facts retrievals have returned: noted in memory, recorded every few seconds.

import { findDestruction } from '../../../platform/db/destructions.sql.ts'
import { type Kernel, perKernel } from '../../../platform/kernel.ts'
import { insertRetrievedFacts } from '../facts/retrieved-facts.sql.ts'

/** Refs known to be recorded; beyond it they are forgotten, and cost an insert again. */
const RECORDED_MAX = 200_000
/** Refs waiting; what comes while the database does not answer for so long is not counted. */
const WAITING_MAX = 200_000
/** Refs in a unit of work: other units of the tenant wait for it. */
const UNIT_REFS = 500

interface Store {
  readonly tenant_id: string
  readonly store_id: string
}

/**
 * Off the way of every answer: a retrieval looks each ref up once. What a killed process has noted
 * since the last flush is lost; another process counts a ref once it is recorded.
 */
export class RetrievedFacts {
  readonly #kernel: Kernel
  readonly #recorded = new RefsByStore()
  readonly #waiting = new RefsByStore()
  #flushing: Promise<void> | null = null

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** These have been returned by a retrieval. */
  add(store: Store, memories: readonly { readonly ref: number }[]): void {
    if (memories.length === 0 || this.#waiting.size >= WAITING_MAX) return
    const recorded = this.#recorded.of(store)
    for (const { ref } of memories) if (!recorded?.has(ref)) this.#waiting.add(store, ref)
  }

  /** Refs returned here and perhaps not recorded yet. */
  pending(store: Store): Set<number> {
    return new Set(this.#waiting.of(store))
  }

  /** Records what was noted; what cannot be recorded waits for the next time. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null
    })
    return this.#flushing
  }

  async #flush(): Promise<void> {
    for (const [store, waiting] of this.#waiting.stores()) {
      const refs = [...waiting].sort((a, b) => a - b)
      try {
        for (let at = 0; at < refs.length; at += UNIT_REFS)
          await this.#record(store, refs.slice(at, at + UNIT_REFS))
      } catch {
        this.#kernel.logger.warn('retrieved.flush_failed', { tenant_id: store.tenant_id })
      }
    }
  }

  async #record(store: Store, refs: readonly number[]): Promise<void> {
    await this.#kernel.db.transact(store.tenant_id, async (tx) => {
      // Of a tenant that was off-boarded meanwhile nothing is to come back.
      if (await findDestruction(tx, tx.tenant_id)) return
      await insertRetrievedFacts(tx, store.store_id, refs)
    })
    if (this.#recorded.size + refs.length > RECORDED_MAX) this.#recorded.clear()
    for (const ref of refs) {
      this.#recorded.add(store, ref)
      this.#waiting.delete(store, ref)
    }
  }
}

class RefsByStore {
  readonly #stores = new Map<string, { readonly store: Store; readonly refs: Set<number> }>()
  size = 0

  of(store: Store): ReadonlySet<number> | undefined {
    return this.#stores.get(keyOf(store))?.refs
  }

  stores(): [Store, ReadonlySet<number>][] {
    return [...this.#stores.values()].map(({ store, refs }) => [store, refs])
  }

  add({ tenant_id, store_id }: Store, ref: number): void {
    const store = { tenant_id, store_id }
    const key = keyOf(store)
    const { refs } = this.#stores.get(key) ?? { refs: new Set<number>() }
    if (refs.size === 0) this.#stores.set(key, { store, refs })
    if (!refs.has(ref)) this.size += 1
    refs.add(ref)
  }

  delete(store: Store, ref: number): void {
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

const keyOf = ({ tenant_id, store_id }: Store): string => `${tenant_id}\n${store_id}`

export const retrievedFacts = perKernel((kernel) => new RetrievedFacts(kernel))

/** For a timer, and for the end: records which facts retrievals have returned. */
export const flushRetrievedFacts = (kernel: Kernel): Promise<void> => retrievedFacts(kernel).flush()
