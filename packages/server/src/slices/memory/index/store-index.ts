// The in-memory index of one store, a partition for each namespace. Its owner keeps it current.

import assert from 'node:assert/strict'
import { ENGLISH, type TextAnalyser } from './analysis.ts'
import { RefTable } from './columns/typed-arrays.ts'
import { type ExplainedScores, explainScores } from './explain-scores.ts'
import { countNearDuplicates, type NearDuplicateCount, type Pace } from './near-duplicates.ts'
import { type IndexedFact, Partition, type Validity } from './partition.ts'
import { type RankedFact, rankFacts, type SearchOptions } from './ranking.ts'

/**
 * An index holds no content, only terms, numbers, vectors and keyed fingerprints, and nothing of a
 * removed fact. Results depend on the set of facts alone: an index updated write by write and one
 * rebuilt from the rows give the same answers, bit for bit.
 */
export class StoreIndex {
  /** The store's log position that this index reflects; set by the owner. */
  head_seq = 0
  /** Embedding space of its vectors; null: it has none. Set by the owner through `enterSpace`. */
  #space: string | null = null
  readonly #fingerprintKey: Uint8Array
  readonly #analyser: TextAnalyser
  readonly #partitions = new Map<string | null, Partition>()
  /** Partitions by number; the number of an emptied partition is reused. */
  readonly #numbered: (Partition | undefined)[] = []
  readonly #freeNumbers: number[] = []
  /** The number of the partition that holds a ref. */
  readonly #partitionNumbers = new RefTable()

  /** `fingerprintKey`: at least 16 random bytes, new in each process and never stored. */
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

  /** Switches to vectors of another embedding space: drops those of the last one. */
  enterSpace(space: string | null): void {
    this.#space = space
    for (const partition of this.#partitions.values()) partition.vectors.clearAll()
  }

  /** Sets the vector of a fact; does nothing for an unknown ref. */
  setVector(ref: number, vector: Int8Array): void {
    this.#partitionOf(ref)?.setVector(ref, vector)
  }

  /** Changes when a fact is valid (null: no end); does nothing for an unknown ref. */
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
    partition.remove(ref)
    this.#partitionNumbers.delete(ref)
    if (partition.size > 0) return
    this.#partitions.delete(partition.namespace)
    this.#numbered[partition.number] = undefined
    this.#freeNumbers.push(partition.number)
  }

  /** The visible facts of one namespace, by score descending, then ref ascending. */
  search(options: SearchOptions): RankedFact[] {
    const { limit } = options
    assert(Number.isSafeInteger(limit) && limit >= 0, 'a limit is a whole number')
    const partition = this.#partitions.get(options.namespace)
    return partition === undefined ? [] : rankFacts(partition, options)
  }

  /** Explains the scores of these refs in a search; null: there are no facts to search. */
  explain(options: SearchOptions, refs: readonly number[]): ExplainedScores | null {
    const partition = this.#partitions.get(options.namespace)
    if (partition === undefined || partition.statisticsAt(options.now_us).facts === 0) return null
    return explainScores(partition, options, refs)
  }

  /** When a fact is valid; undefined for an unknown ref. */
  findValidity(ref: number): Validity | undefined {
    return this.#partitionOf(ref)?.findValidity(ref)
  }

  /** Counts the facts valid at a time that are nearly alike; see `countNearDuplicates`. */
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
   * Every term and metadata feature that a search can match: tests check what an erasure leaves.
   */
  terms(): Set<string> {
    const terms = new Set<string>()
    for (const partition of this.#partitions.values()) {
      partition.analysePending()
      for (const term of partition.terms()) terms.add(term)
    }
    return terms
  }

  /** Estimated memory in bytes. */
  bytes(): number {
    let bytes = this.#partitionNumbers.bytes()
    for (const partition of this.#partitions.values()) bytes += partition.bytes()
    return bytes
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
