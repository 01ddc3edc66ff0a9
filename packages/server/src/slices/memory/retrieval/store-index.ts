// The in-memory index of one store: its namespaces apart, kept current by whoever owns it.
import assert from 'node:assert/strict'
import { Partition } from './partition.ts'
import { rank } from './ranking.ts'
import type { IndexedFact, Ranked, SearchRequest } from './search-request.ts'

/**
 * An index holds no content: words, numbers, vectors and keyed fingerprints, and of a removed fact
 * nothing at all. Results depend on the set of facts alone: an index fed write by write and one
 * rebuilt from the rows answer alike, bit for bit.
 */
export class StoreIndex {
  /** The store's log position that this index reflects; set by the owner. */
  head_seq = 0
  readonly #fingerprintKey: Uint8Array
  readonly #partitions = new Map<string | null, Partition>()
  readonly #namespaceByRef = new Map<number, string | null>()

  /** `fingerprintKey`: at least 16 random bytes, best new in each process; never stored. */
  constructor(fingerprintKey: Uint8Array) {
    assert(fingerprintKey.length >= 16, 'a fingerprint key has at least 128 bits')
    this.#fingerprintKey = fingerprintKey
  }

  /** Facts held, superseded ones included. */
  get size(): number {
    return this.#namespaceByRef.size
  }

  has(ref: number): boolean {
    return this.#namespaceByRef.has(ref)
  }

  /** Adds a fact; one held under the same ref is replaced. */
  put(fact: IndexedFact): void {
    this.remove(fact.ref)
    let partition = this.#partitions.get(fact.namespace)
    if (partition === undefined) {
      partition = new Partition(this.#fingerprintKey)
      this.#partitions.set(fact.namespace, partition)
    }
    partition.put(fact)
    this.#namespaceByRef.set(fact.ref, fact.namespace)
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
    const namespace = this.#namespaceByRef.get(ref) ?? null
    partition.remove(ref)
    this.#namespaceByRef.delete(ref)
    if (partition.size === 0) this.#partitions.delete(namespace)
  }

  /** The visible facts of one namespace, by score descending, then ref ascending. */
  search(request: SearchRequest): Ranked[] {
    const { limit } = request
    assert(Number.isSafeInteger(limit) && limit >= 0, 'a limit is a whole number')
    const partition = this.#partitions.get(request.namespace)
    return partition === undefined ? [] : rank(partition, request)
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
    let bytes = this.size * 64
    for (const partition of this.#partitions.values()) bytes += partition.bytes()
    return bytes
  }

  #partitionOf(ref: number): Partition | undefined {
    const namespace = this.#namespaceByRef.get(ref)
    return namespace === undefined ? undefined : this.#partitions.get(namespace)
  }
}
