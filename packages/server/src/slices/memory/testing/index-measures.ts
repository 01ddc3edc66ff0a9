// Time and memory of a store's index, measured inside the service's process: for the benchmarks.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { embedQuery } from '../facts/embeddings.ts'
import { listFactsSince, placeAfter } from '../facts/facts.sql.ts'
import { openFactRows } from '../facts/opened-fact.ts'
import { StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findSimilarTerms } from '../read/similar-terms.ts'
import { findStore } from '../stores/stores.sql.ts'
import { analyse } from '../text/analysis.ts'

const TENANT = 'local'
const PAGE = 500
const CANDIDATES = 64
/** Each search is run this often and the fastest counts: the others measure the machine's load. */
const REPEATS = 3

export interface MemoryUse {
  readonly rss: number
  /** Of the heap and of arrays outside it. */
  readonly held: number
  /** The index's own estimate. */
  readonly estimate: number
}

export interface BuildCosts {
  readonly read_us: number
  readonly open_us: number
  readonly analyse_us: number
  readonly insert_us: number
}

export interface SearchTimes {
  readonly kind: string
  readonly p50_ms: number
  readonly p99_ms: number
}

/** Microseconds of processor time a fact of each part of a build, measured apart. */
export async function measureBuildCosts(
  kernel: Kernel,
  store_id: string,
  count: number,
): Promise<BuildCosts> {
  const index = new StoreIndex(new Uint8Array(32).fill(1))
  const spent = { read: 0, open: 0, analyse: 0, put: 0 }
  let facts = 0
  for (let after = placeAfter(-1); facts < count; ) {
    const place = after
    const marks = [spentMs()]
    const rows = await kernel.db.read(TENANT, (db) => listFactsSince(db, store_id, place, PAGE))
    marks.push(spentMs())
    const opened = await openFactRows(kernel, TENANT, rows)
    marks.push(spentMs())
    for (const { content } of opened) analyse(content)
    marks.push(spentMs())
    for (const fact of opened) index.put(fact)
    marks.push(spentMs())
    const [start = 0, read = 0, open = 0, analysed = 0, put = 0] = marks
    spent.read += read - start
    spent.open += open - read
    spent.analyse += analysed - open
    spent.put += put - analysed
    facts += rows.length
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) break
    after = last
  }
  const each = (ms: number) => (ms * 1_000) / Math.max(1, facts)
  const analyse_us = each(spent.analyse)
  const insert_us = Math.max(0, each(spent.put) - analyse_us)
  return { read_us: each(spent.read), open_us: each(spent.open), analyse_us, insert_us }
}

function spentMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

export interface BuildTime {
  readonly build_ms: number
  readonly build_cpu_ms: number
}

/** Brings the index up to the store's head. */
export async function buildIndex(kernel: Kernel, store_id: string): Promise<BuildTime> {
  const [startedAt, spentBefore] = [performance.now(), spentMs()]
  for (;;) {
    try {
      const { head_seq } = await rowOf(kernel, store_id)
      await storeIndexes(kernel).loadCurrent(TENANT, store_id, head_seq)
      return {
        build_ms: performance.now() - startedAt,
        build_cpu_ms: spentMs() - spentBefore,
      }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'index_building'))
        throw error
    }
  }
}

let delays: ReturnType<typeof monitorEventLoopDelay> | null = null

/** How long requests have waited for the event loop at most since the last call, in ms. */
export function longestBlock(): number {
  const longest = (delays?.max ?? 0) / 1e6
  delays ??= monitorEventLoopDelay({ resolution: 1 })
  delays.reset()
  delays.enable()
  return longest
}

/** Writes the snapshots that are due, as in service. */
export async function measureSave(kernel: Kernel) {
  longestBlock()
  const startedAt = performance.now()
  await storeIndexes(kernel).saveDue()
  return { save_ms: performance.now() - startedAt, blocked_ms: longestBlock() }
}

async function rowOf(kernel: Kernel, store_id: string) {
  const row = await kernel.db.read(TENANT, (db) => findStore(db, store_id))
  if (!row) throw new Error(`there is no store ${store_id}`)
  return row
}

export function measureMemory(kernel: Kernel, store_id: string): MemoryUse {
  // Twice: the second run collects what finalisers have released.
  for (let round = 0; round < 2; round += 1) globalThis.gc?.()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  const estimate = storeIndexes(kernel).describe(TENANT, store_id).bytes
  return { rss, held: heapUsed + arrayBuffers, estimate }
}

export interface SearchWorkload {
  readonly kind: string
  readonly queries: readonly string[]
  /** How long before now the search is as of. */
  readonly back_us?: number
  readonly filter?: Readonly<Record<string, unknown>>
}

/** Searching alone, without reading rows; queries are embedded before. */
export async function measureSearches(
  kernel: Kernel,
  store_id: string,
  { kind, queries, back_us = 0, filter }: SearchWorkload,
): Promise<SearchTimes> {
  const { head_seq, embedder } = await rowOf(kernel, store_id)
  const index = await storeIndexes(kernel).loadCurrent(TENANT, store_id, head_seq)
  const now_us = kernel.clock.now()
  const at_us = now_us - back_us
  const times: number[] = []
  for (const query of queries) {
    const vector = await embedQuery(kernel, embedder, query)
    const similar = vector === null ? null : await findSimilarTerms(query)
    const words = { query, vector, similar, namespace: null, visible: null, filter: filter ?? null }
    const request = {
      ...words,
      at_us,
      now_us,
      limit: CANDIDATES,
      min_score: null,
      min_confidence: 0,
    }
    times.push(shortest(() => index.search(request)))
  }
  return { kind, ...percentiles(times) }
}

function shortest(act: () => unknown): number {
  const runs = Array.from({ length: REPEATS }, () => {
    const startedAt = performance.now()
    act()
    return performance.now() - startedAt
  })
  return Math.min(...runs)
}

/** The middle and the 99th of a hundred. */
export function percentiles(times: readonly number[]): { p50_ms: number; p99_ms: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}
