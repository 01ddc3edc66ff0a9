// One searchable partition: the facts of one store and namespace, indexed for ranking.
import assert from 'node:assert/strict'
import { analyse } from './analysis.ts'
import { ContentFingerprints, fingerprintOf } from './content-fingerprints.ts'
import { metadataFeatures, sessionOf } from './metadata-features.ts'
import { type PostingList, TermIndex } from './postings.ts'
import type { IndexedFact, Validity } from './search-request.ts'
import { type Session, SessionIndex } from './sessions.ts'
import { SlotColumns } from './slot-columns.ts'
import { SlotTerms } from './slot-terms.ts'
import { VectorColumn } from './vector-column.ts'

/** Written facts that wait for their analysis: beyond either bound, a write analyses the oldest. */
const PENDING_FACTS_MAX = 128
const PENDING_UNITS_MAX = 256 * 1024

type Pending = Pick<IndexedFact, 'content' | 'metadata'>

/**
 * Every fact not removed is indexed, current or not: the word statistics are over all of them, so
 * that they depend on the set of facts alone, not on when it is asked about or how it came to be.
 */
export class Partition {
  readonly columns = new SlotColumns()
  readonly vectors = new VectorColumn()
  readonly #fingerprintKey: Uint8Array
  readonly #slotByRef = new Map<number, number>()
  readonly #fingerprints = new ContentFingerprints()
  readonly #fingerprintBySlot: string[] = []
  readonly #terms = new TermIndex()
  readonly #slotTerms = new SlotTerms()
  readonly #sessions = new SessionIndex(() => this.columns.refs)
  readonly #pending = new Map<number, Pending>()
  #pendingUnits = 0
  #totalLength = 0

  constructor(fingerprintKey: Uint8Array) {
    this.#fingerprintKey = fingerprintKey
  }

  /** Facts held, superseded ones included. */
  get size(): number {
    return this.#slotByRef.size
  }

  /** The average number of terms in a fact; 1 where no fact has any. */
  get averageLength(): number {
    return this.#totalLength === 0 ? 1 : this.#totalLength / this.size
  }

  /** Adds a fact with a ref that is not held. Its words are analysed when they are first needed. */
  put(fact: IndexedFact): void {
    assert(!this.#slotByRef.has(fact.ref), 'a ref is put once')
    const { columns } = this
    const slot = columns.take()
    this.#slotByRef.set(fact.ref, slot)
    columns.refs[slot] = fact.ref
    columns.tokenCounts[slot] = fact.token_count
    this.#setValidity(slot, fact)
    if (fact.vector !== null) this.vectors.set(slot, fact.vector)
    const fingerprint = fingerprintOf(fact.content, this.#fingerprintKey)
    this.#fingerprintBySlot[slot] = fingerprint
    this.#fingerprints.add(fingerprint, fact.ref)
    this.#sessions.add(slot, sessionOf(fact.metadata))
    this.#defer(slot, fact)
  }

  close(ref: number, validity: Validity): void {
    const slot = this.#slotByRef.get(ref)
    if (slot !== undefined) this.#setValidity(slot, validity)
  }

  /** The interval a held fact is valid in. */
  validityOf(ref: number): Validity | undefined {
    const slot = this.#slotByRef.get(ref)
    if (slot === undefined) return undefined
    const until = this.columns.validUntil[slot] ?? 0
    return {
      valid_from_us: this.columns.validFrom[slot] ?? 0,
      valid_until_us: until === Number.POSITIVE_INFINITY ? null : until,
    }
  }

  /** Forgets a fact: afterwards nothing here came from it. */
  remove(ref: number): void {
    const slot = this.#slotByRef.get(ref)
    if (slot === undefined) return
    const { columns } = this
    const pending = this.#pending.get(slot)
    if (pending !== undefined) this.#settle(slot, pending)
    for (const termId of this.#slotTerms.take(slot)) this.#terms.remove(termId, slot)
    this.#totalLength -= columns.lengths[slot] ?? 0
    this.#sessions.remove(slot)
    this.#fingerprints.remove(this.#fingerprintBySlot[slot] ?? '', ref)
    this.#fingerprintBySlot[slot] = ''
    this.vectors.clear(slot)
    this.#slotByRef.delete(ref)
    columns.release(slot)
  }

  /** The smallest ref of a fact valid at `atUs` with exactly this content. */
  findDuplicate(content: string, atUs: number): number | null {
    let smallest: number | null = null
    for (const ref of this.#fingerprints.find(fingerprintOf(content, this.#fingerprintKey))) {
      const slot = this.#slotByRef.get(ref) ?? 0
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
    return this.#slotByRef.get(ref)
  }

  sessionOf(slot: number): Session | undefined {
    return this.#sessions.of(slot)
  }

  /** The postings of a term or metadata feature; call `analysePending` before. */
  findPostings(term: string): PostingList | undefined {
    return this.#terms.find(term)
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
    const parts = [this.columns, this.vectors, this.#terms, this.#slotTerms, this.#sessions]
    const indexed = parts.reduce((sum, part) => sum + part.bytes(), this.#fingerprints.bytes())
    return indexed + this.size * 64 + this.#pendingUnits * 2
  }

  #setValidity(slot: number, validity: Validity): void {
    this.columns.validFrom[slot] = validity.valid_from_us
    this.columns.validUntil[slot] = validity.valid_until_us ?? Number.POSITIVE_INFINITY
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
    const frequencies = new Map<string, number>()
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + 1)
    for (const feature of metadataFeatures(metadata)) frequencies.set(feature, 1)
    const termIds: number[] = []
    for (const [term, count] of frequencies) termIds.push(this.#terms.add(term, slot, count))
    this.#slotTerms.set(slot, termIds)
    this.columns.lengths[slot] = terms.length
    this.#totalLength += terms.length
  }
}
