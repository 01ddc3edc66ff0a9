// Counts over a store's current facts: made from its index behind requests, kept while they hold.

import { type Kernel, perKernel } from '../../../platform/kernel.ts'
import { makePacer } from '../../../platform/pacer.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { listRetrievedFacts } from '../facts/retrieved-facts.sql.ts'
import type { StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { retrievedFacts } from './retrieved-facts.ts'

/** Other requests wait for so long. */
const STRETCH_MS = 4
/** How long a request waits for a count; it goes on after that. */
const WAIT_MS = 1_000
const REFS_A_PAGE = 500
/** Counted at once: each holds an index, also one that has been dropped, and 25 bytes a memory. */
const AT_ONCE = 2
/** Stores that wait for their turn; one that comes then is not counted, and may ask again. */
const WAITING_MAX = 1_000
/** Beyond it the counts kept longest are made again when they are asked for. */
const STORES_MAX = 10_000

export interface StoreCounts {
  readonly near_duplicates: number | null
  readonly never_retrieved: number | null
}

export interface CountedStore {
  readonly tenant_id: string
  readonly store_id: string
  readonly head_seq: number
}

interface NearDuplicateEntry {
  /** Log position of the index, before and after the count. */
  readonly head_seq: number
  /** Facts the index held then: what is erased goes before its log position comes. */
  readonly size: number
  readonly facts: number
  readonly near_duplicates: number
  /** They hold for times from the one to the other, exclusive. */
  readonly from_us: number
  readonly until_us: number
}

interface UnderWay {
  readonly head_seq: number
  readonly done: Promise<StoreCounts>
  /** The one that follows it, and what that one has to see. */
  next: { head_seq: number; readonly done: Promise<StoreCounts> } | null
}

const UNKNOWN: StoreCounts = { near_duplicates: null, never_retrieved: null }
const EMPTY: StoreCounts = { near_duplicates: 0, never_retrieved: 0 }

/**
 * The counts of a store. Where they take longer than a request waits, those made last, or nulls.
 * @param store null: it has no row yet, and no fact
 * @param options.build whether an index is built where this process has none
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
  return wait_ms === 0 ? Promise.resolve(last()) : atMost(counting, wait_ms, last)
}

const counter = perKernel((kernel) => new Counter(kernel))

class Counter {
  readonly #kernel: Kernel
  readonly #alike = new Map<string, NearDuplicateEntry>()
  readonly #last = new Map<string, StoreCounts>()
  /** Counts under way: whoever asks meanwhile waits for the same. */
  readonly #under_way = new Map<string, UnderWay>()
  readonly #turns = new Turns()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  count(store: CountedStore): Promise<StoreCounts> {
    const key = keyOf(store)
    const { head_seq } = store
    const known = this.#under_way.get(key)
    if (known) return known.head_seq < head_seq ? this.#after(known, store) : known.done
    if (this.#turns.waiting >= WAITING_MAX) return Promise.resolve(this.last(store))
    const done = this.#turns
      .take(() => this.#count(key, store))
      .catch((error: unknown) => this.#failed(store, error))
      .finally(() => this.#under_way.delete(key))
    this.#under_way.set(key, { head_seq, done, next: null })
    return done
  }

  // One that began before a write this caller knows of may not have seen it: another follows, one
  // for all who come meanwhile.
  #after(known: UnderWay, store: CountedStore): Promise<StoreCounts> {
    const { next } = known
    if (next) {
      next.head_seq = Math.max(next.head_seq, store.head_seq)
      return next.done
    }
    const wanted = { head_seq: store.head_seq }
    const done = known.done.then(() => this.count({ ...store, ...wanted }))
    known.next = Object.assign(wanted, { done })
    return done
  }

  /** Those made last, however much has changed since. */
  last(store: CountedStore): StoreCounts {
    return this.#last.get(keyOf(store)) ?? UNKNOWN
  }

  // An index that takes long is built further: the next one who asks finds more of it.
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
    const { facts, near_duplicates } = await this.#alikeAt(key, index, at_us)
    const retrieved = await this.#countRetrieved(store, index, at_us)
    const counts = { near_duplicates, never_retrieved: Math.max(0, facts - retrieved) }
    keep(this.#last, key, counts)
    return counts
  }

  async #alikeAt(key: string, index: StoreIndex, at_us: number): Promise<NearDuplicateEntry> {
    const { head_seq, size } = index
    const known = this.#alike.get(key)
    const holds = known && known.from_us <= at_us && at_us < known.until_us
    if (holds && known.head_seq === head_seq && known.size === size) return known
    const alike = {
      head_seq,
      size,
      ...(await index.countNearDuplicates(at_us, makePacer(STRETCH_MS))),
    }
    this.#alike.delete(key)
    if (index.head_seq !== head_seq || index.size !== size) return alike
    keep(this.#alike, key, alike)
    return alike
  }

  /** Current facts among those retrieved: recorded by any process, or waiting in this one. */
  async #countRetrieved(
    { tenant_id, store_id }: CountedStore,
    index: StoreIndex,
    at_us: number,
  ): Promise<number> {
    const pace = makePacer(STRETCH_MS)
    const isCurrent = (ref: number) => {
      const { valid_from_us = at_us + 1, valid_until_us = null } = index.findValidity(ref) ?? {}
      return valid_from_us <= at_us && (valid_until_us === null || at_us < valid_until_us)
    }
    // Taken first: what is recorded meanwhile is found in either, and counted once.
    const waiting = retrievedFacts(this.#kernel).pending({ tenant_id, store_id })
    let count = 0
    for (const ref of waiting) if (isCurrent(ref)) count += 1
    for (let after = -1; ; ) {
      const page = { after, limit: REFS_A_PAGE }
      const refs = await this.#kernel.db.read(tenant_id, (db) =>
        listRetrievedFacts(db, store_id, page),
      )
      for (const ref of refs) if (!waiting.has(ref) && isCurrent(ref)) count += 1
      const last = refs.at(-1)
      if (last === undefined || refs.length < REFS_A_PAGE) return count
      after = last
      await pace()
    }
  }
}

/** So many at once; the others wait in the order they came. */
class Turns {
  #free = AT_ONCE
  readonly #waiting = new Set<() => void>()

  get waiting(): number {
    return this.#waiting.size
  }

  async take<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.add(resolve))
    try {
      return await act()
    } finally {
      const [next] = this.#waiting
      if (next) {
        this.#waiting.delete(next)
        next()
      } else this.#free += 1
    }
  }
}

const keyOf = ({ tenant_id, store_id }: CountedStore): string => `${tenant_id}\n${store_id}`

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.delete(key)
  const [longest] = kept.keys()
  if (longest !== undefined && kept.size >= STORES_MAX) kept.delete(longest)
  kept.set(key, value)
}

async function atMost(
  counting: Promise<StoreCounts>,
  ms: number,
  otherwise: () => StoreCounts,
): Promise<StoreCounts> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<StoreCounts>((resolve) => {
    timer = setTimeout(() => resolve(otherwise()), ms)
  })
  try {
    return await Promise.race([counting, late])
  } finally {
    clearTimeout(timer)
  }
}
