// One searchable partition: the facts of one store and namespace, indexed for ranking.
import assert from 'node:assert/strict'
import { analyse } from './analysis.ts'
import { ContentFingerprints, fingerprintOf } from './content-fingerprints.ts'
import { isFeature, metadataFeatures, sessionOf } from './metadata-features.ts'
import { type Postings, TermIndex } from './postings.ts'
import { RefTable } from './ref-table.ts'
import type { IndexedFact, Validity } from './search-request.ts'
import { SessionIndex } from './sessions.ts'
import { SlotColumns } from './slot-columns.ts'
import { SlotTerms } from './slot-terms.ts'
import { takeCounts } from './term-counts.ts'
import { VectorColumn } from './vector-column.ts'
import { Visibility } from './visibility.ts'

/** Written facts that wait for their analysis: beyond either bound, a write analyses the oldest. */
const PENDING_FACTS_MAX = 128
const PENDING_UNITS_MAX = 256 * 1024

type Pending = Pick<IndexedFact, 'content' | 'metadata'>

/**
 * Every fact not removed is indexed, current or not: the word statistics are over all of them, so
 * that they depend on the set of facts alone, not on when it is asked about or how it came to be.
 */
export class Partition {
  readonly namespace: string | null
  /** Among the partitions of its index. */
  readonly number: number
  readonly columns = new SlotColumns()
  readonly vectors = new VectorColumn()
  readonly sessions = new SessionIndex(() => this.columns.refs)
  readonly visibility = new Visibility(this.columns)
  readonly #fingerprintKey: Uint8Array
  readonly #slots = new RefTable()
  readonly #fingerprints = new ContentFingerprints()
  readonly #terms = new TermIndex()
  readonly #slotTerms = new SlotTerms()
  readonly #pending = new Map<number, Pending>()
  #pendingUnits = 0
  #totalLength = 0

  constructor(fingerprintKey: Uint8Array, place: { namespace: string | null; number: number }) {
    this.#fingerprintKey = fingerprintKey
    this.namespace = place.namespace
    this.number = place.number
  }

  /** Facts held, superseded ones included. */
  get size(): number {
    return this.#slots.size
  }

  /** The average number of terms in a fact; 1 where no fact has any. */
  get averageLength(): number {
    return this.#totalLength === 0 ? 1 : this.#totalLength / this.size
  }

  /** Adds a fact with a ref that is not held. Its words are analysed when they are first needed. */
  put(fact: IndexedFact): void {
    assert(this.#slots.get(fact.ref) === undefined, 'a ref is put once')
    const { columns } = this
    const slot = columns.take()
    this.#slots.set(fact.ref, slot)
    columns.refs[slot] = fact.ref
    columns.tokenCounts[slot] = fact.token_count
    this.#setValidity(slot, fact)
    if (fact.vector !== null) this.vectors.set(slot, fact.vector)
    this.#fingerprints.add(slot, fingerprintOf(fact.content, this.#fingerprintKey))
    this.sessions.add(slot, sessionOf(fact.metadata))
    this.#defer(slot, fact)
  }

  /** Gives a held fact another vector. */
  setVector(ref: number, vector: Int8Array): void {
    const slot = this.#slots.get(ref)
    if (slot !== undefined) this.vectors.set(slot, vector)
  }

  close(ref: number, validity: Validity): void {
    const slot = this.#slots.get(ref)
    if (slot !== undefined) this.#setValidity(slot, validity)
  }

  /** The interval a held fact is valid in. */
  validityOf(ref: number): Validity | undefined {
    const slot = this.#slots.get(ref)
    if (slot === undefined) return undefined
    const until = this.columns.validUntil[slot] ?? 0
    return {
      valid_from_us: this.columns.validFrom[slot] ?? 0,
      valid_until_us: until === Number.POSITIVE_INFINITY ? null : until,
    }
  }

  /** Forgets a fact: afterwards nothing here came from it. */
  remove(ref: number): void {
    const slot = this.#slots.get(ref)
    if (slot === undefined) return
    const { columns } = this
    const pending = this.#pending.get(slot)
    if (pending !== undefined) this.#settle(slot, pending)
    for (const termId of this.#slotTerms.take(slot)) this.#terms.remove(termId, slot)
    this.#totalLength -= columns.lengths[slot] ?? 0
    this.sessions.remove(slot)
    this.#fingerprints.remove(slot)
    this.vectors.clear(slot)
    this.#slots.delete(ref)
    columns.release(slot)
    this.visibility.changed(slot)
  }

  /** The smallest ref of a fact valid at `atUs` with exactly this content. */
  findDuplicate(content: string, atUs: number): number | null {
    let smallest: number | null = null
    for (const slot of this.#fingerprints.find(fingerprintOf(content, this.#fingerprintKey))) {
      const ref = this.columns.refs[slot] ?? 0
      const current = this.isValidAt(slot, atUs)
      if (current && (smallest === null || ref < smallest)) smallest = ref
    }
    return smallest
  }

  isValidAt(slot: number, atUs: number): boolean {
    const { validFrom, validUntil } = this.columns
    return (validFrom[slot] ?? 0) <= atUs && atUs < (validUntil[slot] ?? 0)
  }

  slotOf(ref: number): number | undefined {
    return this.#slots.get(ref)
  }

  /** The postings of a term or metadata feature; call `analysePending` before. */
  findPostings(term: string): Postings | undefined {
    return this.#terms.find(term)
  }

  /** The words of a slot by id, each once; to be used before the index changes. */
  wordsAt(slot: number): number[] {
    const words: number[] = []
    for (const id of this.#slotTerms.of(slot)) {
      const term = this.#terms.termAt(id)
      if (term !== undefined && !isFeature(term)) words.push(id)
    }
    return words
  }

  /** The words and metadata features of a slot by id; to be used before the index changes. */
  termsAt(slot: number): Uint32Array {
    return this.#slotTerms.of(slot)
  }

  /** How many facts have the word of an id. */
  factsWith(word: number): number {
    return this.#terms.sizeAt(word)
  }

  /** The slots of the facts that have the word of an id. */
  slotsWith(word: number): Iterable<number> {
    return this.#terms.slotsAt(word)
  }

  /** Every indexed term and metadata feature, for checking what is left. */
  terms(): Iterable<string> {
    return this.#terms.terms()
  }

  /** Analyses what was put since the last search. */
  analysePending(): void {
    for (const [slot, pending] of this.#pending) {
      this.#settle(slot, pending)
      this.#analyse(slot, pending)
    }
  }

  /** An estimate of the memory held. */
  bytes(): number {
    const columns = [this.columns, this.vectors, this.visibility, this.sessions, this.#slots]
    const parts = [...columns, this.#fingerprints, this.#terms, this.#slotTerms]
    return parts.reduce((sum, part) => sum + part.bytes(), this.#pendingUnits * 2)
  }

  #setValidity(slot: number, validity: Validity): void {
    this.columns.validFrom[slot] = validity.valid_from_us
    this.columns.validUntil[slot] = validity.valid_until_us ?? Number.POSITIVE_INFINITY
    this.visibility.changed(slot)
  }

  #defer(slot: number, fact: Pending): void {
    this.#pending.set(slot, { content: fact.content, metadata: fact.metadata })
    this.#pendingUnits += fact.content.length
    for (const [oldest, pending] of this.#pending) {
      const bounded =
        this.#pending.size <= PENDING_FACTS_MAX && this.#pendingUnits <= PENDING_UNITS_MAX
      if (bounded) return
      this.#settle(oldest, pending)
      this.#analyse(oldest, pending)
    }
  }

  #settle(slot: number, pending: Pending): void {
    this.#pending.delete(slot)
    this.#pendingUnits -= pending.content.length
  }

  #analyse(slot: number, { content, metadata }: Pending): void {
    const terms = analyse(content)
    const counts = takeCounts()
    for (const term of terms) counts.add(this.#terms.idOf(term))
    for (const feature of metadataFeatures(metadata)) counts.add(this.#terms.idOf(feature))
    for (let at = 0; at < counts.size; at++) {
      const id = counts.ids[at] ?? 0
      this.#terms.add(id, slot, counts.of(id))
    }
    this.#slotTerms.set(slot, counts.ids, counts.size)
    counts.clear()
    this.columns.lengths[slot] = terms.length
    this.#totalLength += terms.length
  }
}
