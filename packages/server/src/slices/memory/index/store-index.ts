// The in-memory index of one store, with a partition for each namespace. Its owner keeps it
// current.

import assert from 'node:assert/strict'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { ENGLISH, type TextAnalyser } from '../text/analysis.ts'
import { PIECE, PieceReader, type PieceWriter } from './columns/pieces.ts'
import { RefTable } from './columns/typed-arrays.ts'
import { type ExplainedScores, explainScores } from './explain-scores.ts'
import type { SearchScratch } from './lexical-scores.ts'
import { countNearDuplicates, type NearDuplicateCount, type Pace } from './near-duplicates.ts'
import { type IndexedFact, Partition, type Validity } from './partition.ts'
import {
  hasRoom,
  makeHeldScratch,
  type RankedFact,
  rankFacts,
  rankInSteps,
  type SearchOptions,
} from './ranking.ts'

/**
 * Searches of at least `slots_min` slots yield to other requests every `ms`; tests set less. Kept
 * short because each turn of the event loop accepts one connection: the last of many waits for as
 * many turns.
 */
export const searchSteps = { slots_min: 50_000, ms: 1 }
/**
 * `max` is the most snapshots that a search reads while the store keeps changing as its index
 * catches up. From attempt number `yielding` on it does not yield, so nothing can be erased while
 * it runs.
 */
export const SEARCH_ATTEMPTS = { max: 16, yielding: 4 } as const

/** After this many interruptions by removals a search runs without yielding. */
const ATTEMPTS_MAX = 3

/** Working memory of the last search in steps; reused because it is large. */
let freeScratch: SearchScratch | null = null

function takeHeldScratch(partition: Partition): SearchScratch {
  const free = freeScratch
  freeScratch = null
  return free !== null && hasRoom(free, partition) ? free : makeHeldScratch(partition)
}

/** Returns `null` if the partition has changed so that the search cannot continue. */
async function runInSteps(
  partition: Partition,
  options: SearchOptions,
): Promise<RankedFact[] | null> {
  // Pending facts are analysed first, as that changes the partition too.
  partition.analysePending()
  const { version } = partition
  const scratch = takeHeldScratch(partition)
  const steps = rankInSteps(partition, options, scratch)
  const pace = yieldBetweenChunks(searchSteps.ms)
  partition.searches++
  try {
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
      await pace()
      if (partition.version !== version) return null
    }
  } finally {
    partition.searches--
    steps.return([])
    freeScratch = scratch
  }
}

/**
 * An index holds no content, only terms, numbers, vectors and keyed fingerprints, and nothing of a
 * removed fact. Results depend only on the set of facts: an index updated write by write and one
 * rebuilt from the rows give the same answers, bit for bit.
 */
export class StoreIndex {
  /** The store's log position that this index reflects; set by the owner. */
  head_seq = 0
  /** Embedding space of its vectors, or `null`. The owner sets it with `enterSpace`. */
  #space: string | null = null
  readonly #fingerprintKey: Uint8Array
  readonly #analyser: TextAnalyser
  readonly #partitions = new Map<string | null, Partition>()
  /** Partitions by number; the number of an emptied partition is reused. */
  readonly #numbered: (Partition | undefined)[] = []
  readonly #freeNumbers: number[] = []
  /** The number of the partition that holds a ref. */
  readonly #partitionNumbers = new RefTable()
  /** Number of removals so far. A removal invalidates a copy in progress. */
  #removals = 0
  /** The partition that is being loaded. */
  #loading: { readonly partition: Partition; readonly size: Partition['savedSize'] } | null = null

  /** `fingerprintKey` has at least 16 random bytes, stored only in a sealed copy of the index. */
  constructor(fingerprintKey: Uint8Array, analyser: TextAnalyser = ENGLISH) {
    assert(fingerprintKey.length >= 16, 'a fingerprint key has at least 128 bits')
    this.#fingerprintKey = fingerprintKey
    this.#analyser = analyser
  }

  /** Number of facts, superseded ones included. */
  get size(): number {
    return this.#partitionNumbers.size
  }

  has(ref: number): boolean {
    return this.#partitionNumbers.get(ref) !== undefined
  }

  /** Adds a fact, or replaces the one with the same ref. */
  put(fact: IndexedFact): void {
    this.remove(fact.ref)
    const partition = this.#partitions.get(fact.namespace) ?? this.#add(fact.namespace)
    partition.put(fact)
    this.#partitionNumbers.set(fact.ref, partition.number)
  }

  get space(): string | null {
    return this.#space
  }

  /** Switches to vectors of another embedding space; drops all existing vectors. */
  enterSpace(space: string | null): void {
    this.#space = space
    this.#removals++
    for (const partition of this.#partitions.values()) partition.clearVectors()
  }

  /** Sets the vector of a fact; does nothing for an unknown ref. */
  setVector(ref: number, vector: Int8Array): void {
    this.#partitionOf(ref)?.setVector(ref, vector)
  }

  /** Changes the valid time of a fact (`null`: no end); does nothing for an unknown ref. */
  changeValidity(ref: number, valid_until_us: number | null, valid_from_us?: number): void {
    const partition = this.#partitionOf(ref)
    const validity = partition?.findValidity(ref)
    if (partition === undefined || validity === undefined) return
    const from = valid_from_us ?? validity.valid_from_us
    partition.changeValidity(ref, { valid_from_us: from, valid_until_us })
  }

  /** Removes a fact and every term that only it had; does nothing for an unknown ref. */
  remove(ref: number): void {
    const partition = this.#partitionOf(ref)
    if (partition === undefined) return
    this.#removals++
    partition.remove(ref)
    this.#partitionNumbers.delete(ref)
    if (partition.size > 0) return
    partition.clearVectors()
    this.#partitions.delete(partition.namespace)
    this.#numbered[partition.number] = undefined
    this.#freeNumbers.push(partition.number)
  }

  /** Frees the memory of the vectors at once. Call it for an index that is no longer used. */
  release(): void {
    for (const partition of this.#partitions.values()) partition.clearVectors()
  }

  /** The visible facts of one namespace, by score descending, then ref ascending. */
  search(options: SearchOptions): RankedFact[] {
    const { limit } = options
    assert(Number.isSafeInteger(limit) && limit >= 0, 'a limit is a whole number')
    const partition = this.#partitions.get(options.namespace)
    return partition === undefined ? [] : rankFacts(partition, options)
  }

  /**
   * Same as `search`, but yields to other requests while it searches many facts. Facts put or
   * changed in validity meanwhile make no difference; removed facts are never returned. Returns
   * `null` if a removal requires a new search but `isCurrent` is false by then.
   */
  async searchInSteps(
    options: SearchOptions,
    isCurrent: () => boolean,
  ): Promise<RankedFact[] | null> {
    for (let attempt = 0; isCurrent(); attempt += 1) {
      const partition = this.#partitions.get(options.namespace)
      const size = partition?.columns.used ?? 0
      if (partition === undefined || size < searchSteps.slots_min || attempt === ATTEMPTS_MAX)
        return this.search(options)
      const found = await runInSteps(partition, options)
      if (found !== null) return found
    }
    return null
  }

  /** Announces a search that waits for its turn. Returns what ends the announcement. */
  expectSearch({ namespace, vector }: Pick<SearchOptions, 'namespace' | 'vector'>): () => void {
    const partition = this.#partitions.get(namespace)
    if (!partition || vector?.length !== partition.vectors.dimensions) return () => {}
    return partition.vectors.expect(vector)
  }

  /** Explains the scores of these refs in a search; `null` if there are no facts to search. */
  explain(options: SearchOptions, refs: readonly number[]): ExplainedScores | null {
    const partition = this.#partitions.get(options.namespace)
    if (partition === undefined || partition.statisticsAt(options.now_us).facts === 0) return null
    return explainScores(partition, options, refs)
  }

  /** The valid time of a fact; undefined for an unknown ref. */
  findValidity(ref: number): Validity | undefined {
    return this.#partitionOf(ref)?.findValidity(ref)
  }

  /** Counts near duplicates among the facts valid at a time; see `countNearDuplicates`. */
  countNearDuplicates(at_us: number, pace: Pace): Promise<NearDuplicateCount> {
    return countNearDuplicates([...this.#partitions.values()], at_us, pace)
  }

  /** The smallest ref of a fact current at `at_us` with exactly this content, or null. */
  findDuplicate(content: string, namespace: string | null, at_us: number): number | null {
    return this.#partitions.get(namespace)?.findDuplicate(content, at_us) ?? null
  }

  /** Refs of all facts with exactly this content, current or not, unordered. */
  listSameContent(content: string, namespace: string | null): number[] {
    return this.#partitions.get(namespace)?.listSameContent(content) ?? []
  }

  /**
   * Every term and metadata feature that a search can match; tests check what an erasure leaves.
   */
  terms(): Set<string> {
    const terms = new Set<string>()
    for (const partition of this.#partitions.values()) {
      partition.analysePending()
      for (const term of partition.terms()) terms.add(term)
    }
    return terms
  }

  get fingerprintKey(): Uint8Array {
    return this.#fingerprintKey
  }

  /**
   * Yields pieces for `load`, each valid until the next one. Facts may be put and changed
   * meanwhile: once the loaded index has caught up from the `head_seq` at the first piece, it
   * equals this one. Returns false, and the pieces are unusable, if a fact was removed since the
   * call.
   */
  save(writer: PieceWriter): Generator<Buffer, boolean> {
    return this.#savePartitions(writer, this.#removals)
  }

  *#savePartitions(writer: PieceWriter, removals: number): Generator<Buffer, boolean> {
    if (this.#removals !== removals) return false
    for (const partition of [...this.#partitions.values()])
      for (const piece of partition.save(writer)) {
        yield piece
        if (this.#removals !== removals) return false
      }
    return true
  }

  /** Loads the next piece into an index without facts. Throws RangeError. */
  load(piece: Buffer): void {
    const reader = new PieceReader(piece)
    const kind = reader.byte()
    if (kind === PIECE.partition) this.#beginPartition(reader)
    else if (this.#loading === null) throw new RangeError('a piece without a partition')
    else {
      const { partition, size } = this.#loading
      const onRef = (ref: number) => this.#partitionNumbers.set(ref, partition.number)
      partition.load(kind, reader, { size, onRef })
    }
  }

  /** Call this after the last piece. Throws RangeError if facts are missing. */
  finishLoad(space: string | null): void {
    this.#finishPartition()
    this.#space = space
  }

  /** Estimated memory in bytes. */
  bytes(): number {
    let bytes = this.#partitionNumbers.bytes()
    for (const partition of this.#partitions.values()) bytes += partition.bytes()
    return bytes
  }

  #beginPartition(reader: PieceReader): void {
    this.#finishPartition()
    const { namespace, ...size }: Pick<Partition, 'namespace'> & Partition['savedSize'] =
      JSON.parse(reader.text())
    const partition = this.#add(namespace)
    partition.reserve(size)
    this.#partitionNumbers.reserve(this.#partitionNumbers.size + size.facts)
    this.#loading = { partition, size }
  }

  #finishPartition(): void {
    this.#loading?.partition.finishLoad(this.#loading.size)
    this.#loading = null
  }

  #partitionOf(ref: number): Partition | undefined {
    const number = this.#partitionNumbers.get(ref)
    return number === undefined ? undefined : this.#numbered[number]
  }

  #add(namespace: string | null): Partition {
    const number = this.#freeNumbers.pop() ?? this.#numbered.length
    const partition = new Partition(this.#fingerprintKey, {
      namespace,
      number,
      analyser: this.#analyser,
    })
    this.#partitions.set(namespace, partition)
    this.#numbered[number] = partition
    return partition
  }
}
