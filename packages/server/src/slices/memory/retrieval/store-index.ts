// The in-memory index of one store: its namespaces apart, kept current by whoever owns it.
import assert from 'node:assert/strict'
import { type ExplainedScores, explainScores } from './explain.ts'
import { countNearDuplicates, type NearDuplicates, type Pace } from './near-duplicates.ts'
import { Partition } from './partition.ts'
import { rank } from './ranking.ts'
import { RefTable } from './ref-table.ts'
import type { IndexedFact, Ranked, SearchRequest, Validity } from './search-request.ts'

/**
 * An index holds no content: words, numbers, vectors and keyed fingerprints, and of a removed fact
 * nothing at all. Results depend on the set of facts alone: an index fed write by write and one
 * rebuilt from the rows answer alike, bit for bit.
 */
export class StoreIndex {
  /** The store's log position that this index reflects; set by the owner. */
  head_seq = 0
  /** The space its vectors are in; null: it takes none. Set by the owner through `enterSpace`. */
  #space: string | null = null
  readonly #fingerprintKey: Uint8Array
  readonly #partitions = new Map<string | null, Partition>()
  /** By number; a number is given again once its partition is empty. */
  readonly #numbered: (Partition | undefined)[] = []
  readonly #freeNumbers: number[] = []
  /** The number of the partition that holds a ref. */
  readonly #places = new RefTable()

  /** `fingerprintKey`: at least 16 random bytes, best new in each process; never stored. */
  constructor(fingerprintKey: Uint8Array) {
    assert(fingerprintKey.length >= 16, 'a fingerprint key has at least 128 bits')
    this.#fingerprintKey = fingerprintKey
  }

  /** Facts held, superseded ones included. */
  get size(): number {
    return this.#places.size
  }

  has(ref: number): boolean {
    return this.#places.get(ref) !== undefined
  }

  /** Adds a fact; one held under the same ref is replaced. */
  put(fact: IndexedFact): void {
    this.remove(fact.ref)
    const partition = this.#partitions.get(fact.namespace) ?? this.#add(fact.namespace)
    partition.put(fact)
    this.#places.set(fact.ref, partition.number)
  }

  get space(): string | null {
    return this.#space
  }

  /** From here on vectors are of another space: those held are forgotten. */
  enterSpace(space: string | null): void {
    this.#space = space
    for (const partition of this.#partitions.values()) partition.vectors.clearAll()
  }

  /** Gives a fact its vector; a ref that is not held is left alone. */
  setVector(ref: number, vector: Int8Array): void {
    this.#partitionOf(ref)?.setVector(ref, vector)
  }

  /** Changes when a fact holds (`null`: open again); a ref that is not held is left alone. */
  close(ref: number, valid_until_us: number | null, valid_from_us?: number): void {
    const partition = this.#partitionOf(ref)
    const validity = partition?.validityOf(ref)
    if (partition === undefined || validity === undefined) return
    const from = valid_from_us ?? validity.valid_from_us
    partition.close(ref, { valid_from_us: from, valid_until_us })
  }

  /** Forgets a fact and every word only it had; a ref that is not held is left alone. */
  remove(ref: number): void {
    const partition = this.#partitionOf(ref)
    if (partition === undefined) return
    partition.remove(ref)
    this.#places.delete(ref)
    if (partition.size > 0) return
    this.#partitions.delete(partition.namespace)
    this.#numbered[partition.number] = undefined
    this.#freeNumbers.push(partition.number)
  }

  /** The visible facts of one namespace, by score descending, then ref ascending. */
  search(request: SearchRequest): Ranked[] {
    const { limit } = request
    assert(Number.isSafeInteger(limit) && limit >= 0, 'a limit is a whole number')
    const partition = this.#partitions.get(request.namespace)
    return partition === undefined ? [] : rank(partition, request)
  }

  /** How a search came to the scores of these refs; see `explainScores`. */
  explain(request: SearchRequest, refs: readonly number[]): ExplainedScores | null {
    const partition = this.#partitions.get(request.namespace)
    return partition === undefined ? null : explainScores(partition, request, refs)
  }

  /** When a held fact holds. */
  validityOf(ref: number): Validity | undefined {
    return this.#partitionOf(ref)?.validityOf(ref)
  }

  /** Facts valid at a time that are nearly alike; see `countNearDuplicates`. */
  nearDuplicates(at_us: number, pace: Pace): Promise<NearDuplicates> {
    return countNearDuplicates([...this.#partitions.values()], at_us, pace)
  }

  /** The smallest ref of a fact current at `at_us` with exactly this content, or null. */
  duplicateOf(content: string, namespace: string | null, at_us: number): number | null {
    return this.#partitions.get(namespace)?.findDuplicate(content, at_us) ?? null
  }

  /** Every term and metadata feature that a search could match, for checking what is left. */
  terms(): Set<string> {
    const terms = new Set<string>()
    for (const partition of this.#partitions.values()) {
      partition.analysePending()
      for (const term of partition.terms()) terms.add(term)
    }
    return terms
  }

  /** An estimate of the memory held, in bytes. */
  bytes(): number {
    let bytes = this.#places.bytes()
    for (const partition of this.#partitions.values()) bytes += partition.bytes()
    return bytes
  }

  #partitionOf(ref: number): Partition | undefined {
    const number = this.#places.get(ref)
    return number === undefined ? undefined : this.#numbered[number]
  }

  #add(namespace: string | null): Partition {
    const number = this.#freeNumbers.pop() ?? this.#numbered.length
    const partition = new Partition(this.#fingerprintKey, { namespace, number })
    this.#partitions.set(namespace, partition)
    this.#numbered[number] = partition
    return partition
  }
}
