// A partition of an index: the facts of one store and namespace.

import assert from 'node:assert/strict'
import { DAY_US, formatTime } from '../../../platform/clock.ts'
import {
  computeMark,
  findMessage,
  findNames,
  findSession,
  findSpeaker,
  isQuestion,
} from '../facts/conversation.ts'
import {
  ENGLISH,
  isFeature,
  listMetadataFeatures,
  speakerFeature,
  type TextAnalyser,
} from './analysis.ts'
import { Aliases } from './columns/aliases.ts'
import { ContentFingerprints, computeFingerprint } from './columns/fingerprints.ts'
import { PIECE, type PieceReader, type PieceWriter, writeInPieces } from './columns/pieces.ts'
import {
  ExpiredSlots,
  NO_REF,
  SessionIndex,
  SlotColumns,
  Visibility,
} from './columns/slot-columns.ts'
import {
  type Postings,
  readSlot,
  SlotTerms,
  TermIndex,
  takeTermCounts,
} from './columns/term-index.ts'
import { RefTable } from './columns/typed-arrays.ts'
import { VectorColumn } from './columns/vector-column.ts'
import { findStatedDay } from './date-expressions.ts'

/** When a fact is valid: from, inclusive, until, exclusive. Null: no end. */
export interface Validity {
  readonly valid_from_us: number
  readonly valid_until_us: number | null
}

/** A fact as it is put into an index. */
export interface IndexedFact extends Validity {
  readonly ref: number
  /** Each namespace is searched by itself; null: the root. */
  readonly namespace: string | null
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** Tokens of `content` by the store's tokenizer. */
  readonly token_count: number
  /** When the fact expires; null or absent: never. */
  readonly expires_us?: number | null
  /** By the store's embedder: unit length times 127. Null: like no query. */
  readonly vector: Int8Array | null
}

/** Facts that wait to be analysed: beyond either bound, a write analyses the oldest. */
const PENDING_FACTS_MAX = 128
const PENDING_UNITS_MAX = 256 * 1024

/** Slots whose columns are saved as one record. */
const SLOTS_SAVED = 1_024

/** Terms of a query that are searched under other names too: each costs as a term does. */
const ALIASED_TERMS_MAX = 16

/** A text of fewer terms is a message of its own: what follows does not continue it. */
export const PIECE_TERMS_MIN = 16

type PendingFact = Pick<IndexedFact, 'content' | 'metadata'>

/**
 * All facts that have not been removed are indexed, current or not. Term statistics are over those
 * of them that have not expired, so they depend on the set of facts alone, not on the time of a
 * query or the order of writes.
 */
export class Partition {
  readonly namespace: string | null
  /** Identifies the partition within its index. */
  readonly number: number
  readonly analyser: TextAnalyser
  readonly columns = new SlotColumns()
  readonly vectors = new VectorColumn()
  readonly sessions = new SessionIndex(() => this.columns.refs)
  readonly visibility = new Visibility(this.columns)
  readonly #aliases = new Aliases()
  readonly #expired = new ExpiredSlots(this.columns)
  readonly #fingerprintKey: Uint8Array
  readonly #slots = new RefTable()
  readonly #fingerprints = new ContentFingerprints()
  readonly #terms = new TermIndex()
  readonly #slotTerms = new SlotTerms()
  /** Counts the changes that a search in steps must not continue after. */
  version = 0
  /** Searches in steps that run: what facts they see must not change, so none is analysed. */
  searches = 0
  readonly #pending = new Map<number, PendingFact>()
  #pendingUnits = 0
  #totalLength = 0

  constructor(
    fingerprintKey: Uint8Array,
    id: { namespace: string | null; number: number; analyser?: TextAnalyser },
  ) {
    this.#fingerprintKey = fingerprintKey
    this.namespace = id.namespace
    this.number = id.number
    this.analyser = id.analyser ?? ENGLISH
  }

  /** Number of facts, superseded ones included. */
  get size(): number {
    return this.#slots.size
  }

  /**
   * What the weights of terms depend on at the present time `nowUs`: the numbers of facts, of terms
   * in a fact (1 where none has any) and of facts with a term. As if what has expired were removed,
   * so that no score tells of it. Valid until the index changes.
   */
  statisticsAt(nowUs: number) {
    this.analysePending()
    const expired = this.#expired
    expired.moveTo(nowUs)
    const facts = this.size - expired.count
    const length = this.#totalLength - expired.length
    const { count: expiredCount, flags } = expired
    return {
      facts,
      averageLength: length === 0 ? 1 : length / facts,
      countWith({ array, start, size }: Postings): number {
        if (expiredCount === 0) return size
        let count = 0
        for (let at = start; at < start + size; at++)
          if (flags[readSlot(array[at] ?? 0)] !== 1) count++
        return count
      },
    }
  }

  /** Adds a fact under a new ref. Its content is analysed when it is first needed. */
  put(fact: IndexedFact): void {
    assert(this.#slots.get(fact.ref) === undefined, 'a ref is put once')
    const { columns } = this
    const slot = columns.take()
    this.#slots.set(fact.ref, slot)
    columns.refs[slot] = fact.ref
    columns.tokenCounts[slot] = fact.token_count
    columns.expires[slot] = fact.expires_us ?? Number.POSITIVE_INFINITY
    this.#expired.add(slot)
    this.#setValidity(slot, fact)
    if (fact.vector !== null) this.vectors.set(slot, fact.vector)
    this.#fingerprints.add(slot, computeFingerprint(fact.content, this.#fingerprintKey))
    const session = findSession(fact.metadata)
    this.sessions.add(slot, session === null ? null : JSON.stringify(session))
    columns.speakers[slot] = computeMark(findSpeaker(fact.content, fact.metadata))
    columns.messages[slot] = computeMark(findMessage(fact.metadata))
    columns.questions[slot] = isQuestion(fact.content) ? 1 : 0
    columns.days[slot] = findStatedDay(fact) ?? Math.floor(fact.valid_from_us / DAY_US)
    this.#defer(slot, fact)
  }

  /** Replaces the vector of a fact. */
  setVector(ref: number, vector: Int8Array): void {
    const slot = this.#slots.get(ref)
    if (slot === undefined) return
    this.version++
    this.vectors.set(slot, vector)
  }

  clearVectors(): void {
    this.version++
    this.vectors.clearAll()
  }

  changeValidity(ref: number, validity: Validity): void {
    const slot = this.#slots.get(ref)
    if (slot !== undefined) this.#setValidity(slot, validity)
  }

  /** When a fact is valid; an expiry ends it too. */
  findValidity(ref: number): Validity | undefined {
    const slot = this.#slots.get(ref)
    if (slot === undefined) return undefined
    const until = this.findEnd(slot)
    return {
      valid_from_us: this.columns.validFrom[slot] ?? 0,
      valid_until_us: until === Number.POSITIVE_INFINITY ? null : until,
    }
  }

  /** Removes a fact and everything that was derived from it. */
  remove(ref: number): void {
    const slot = this.#slots.get(ref)
    if (slot === undefined) return
    this.version++
    const { columns } = this
    const pending = this.#pending.get(slot)
    if (pending !== undefined) this.#removePending(slot, pending)
    for (const termId of this.#slotTerms.take(slot)) this.#terms.remove(termId, slot)
    this.#totalLength -= columns.lengths[slot] ?? 0
    this.#expired.remove(slot)
    this.sessions.remove(slot)
    this.#aliases.remove(slot)
    this.#fingerprints.remove(slot)
    this.vectors.clear(slot)
    this.#slots.delete(ref)
    columns.release(slot)
    this.visibility.invalidate(slot)
  }

  /** Refs of all facts with exactly this content, unordered. */
  listSameContent(content: string): number[] {
    const fingerprint = computeFingerprint(content, this.#fingerprintKey)
    return [...this.#fingerprints.find(fingerprint)].map((slot) => this.columns.refs[slot] ?? 0)
  }

  /** The smallest ref of a fact valid at the present time `nowUs` with exactly this content. */
  findDuplicate(content: string, nowUs: number): number | null {
    let smallest: number | null = null
    for (const slot of this.#fingerprints.find(computeFingerprint(content, this.#fingerprintKey))) {
      const ref = this.columns.refs[slot] ?? 0
      const current = this.isValidAt(slot, nowUs)
      if (current && (smallest === null || ref < smallest)) smallest = ref
    }
    return smallest
  }

  /** See `ContentFingerprints.compareContents`. Valid until the index changes. */
  compareContents(): (slot: number) => number {
    return this.#fingerprints.compareContents()
  }

  /** Whether a fact is valid at the present time `nowUs`. */
  isValidAt(slot: number, nowUs: number): boolean {
    return (this.columns.validFrom[slot] ?? 0) <= nowUs && nowUs < this.findEnd(slot)
  }

  /** When a fact ends or expires, whichever is first. Infinity: never. */
  findEnd(slot: number): number {
    const { validUntil, expires } = this.columns
    return Math.min(validUntil[slot] ?? 0, expires[slot] ?? 0)
  }

  findSlot(ref: number): number | undefined {
    return this.#slots.get(ref)
  }

  /** The postings of a term or metadata feature; call `analysePending` before. */
  findPostings(term: string): Postings | undefined {
    return this.#terms.find(term)
  }

  /**
   * Whether two facts that follow each other in a session are pieces of one message: they name the
   * same message, or name none and continue a long text of the same speaker.
   */
  arePieces(earlier: number, later: number): boolean {
    const { speakers, messages, lengths } = this.columns
    const message = messages[earlier] ?? 0
    if (message !== (messages[later] ?? 0)) return false
    if (message !== 0) return true
    const speaker = speakers[earlier] ?? 0
    if (speaker === 0 || speaker !== speakers[later]) return false
    return (lengths[earlier] ?? 0) >= PIECE_TERMS_MIN
  }

  /** Other names that visible facts give for terms of a query: the first that have any. */
  findAliases(terms: readonly string[], visible: Uint8Array): ReadonlyMap<string, string[]> {
    const found = new Map<string, string[]>()
    for (const term of terms) {
      const others = this.#aliases.of(term, visible)
      if (others.length > 0) found.set(term, others)
      if (found.size >= ALIASED_TERMS_MAX) break
    }
    return found
  }

  /** Ids of the words of a slot, each once. Valid until the index changes. */
  listWords(slot: number): number[] {
    const words: number[] = []
    for (const id of this.#slotTerms.of(slot)) {
      const term = this.#terms.termAt(id)
      if (term !== undefined && !isFeature(term)) words.push(id)
    }
    return words
  }

  /** Ids of the words and metadata features of a slot. Valid until the index changes. */
  listTerms(slot: number): Uint32Array {
    return this.#slotTerms.of(slot)
  }

  /** How many facts have the word. */
  countFactsWith(word: number): number {
    return this.#terms.sizeAt(word)
  }

  /** The slots of the facts that have the word. */
  listSlotsWith(word: number): Iterable<number> {
    return this.#terms.slotsAt(word)
  }

  /** Every indexed word and metadata feature: tests check that an erasure leaves none. */
  terms(): Iterable<string> {
    return this.#terms.terms()
  }

  /** Analyses the facts put since the last search. */
  analysePending(): void {
    if (this.#pending.size > 0) this.version++
    for (const [slot, pending] of this.#pending) {
      this.#removePending(slot, pending)
      this.#analyse(slot, pending)
    }
  }

  /** What a loaded partition is to hold; 0 dimensions: no vectors. */
  get savedSize() {
    return { slots: this.columns.used, facts: this.size, dimensions: this.vectors.dimensions }
  }

  /**
   * Pieces with the facts there are now. Between two of them facts may be put and changed, and what
   * is saved of a changed fact is as before or after the change; no fact may be removed.
   */
  *save(writer: PieceWriter): Generator<Buffer> {
    this.analysePending()
    const { columns, sessions, vectors, namespace, savedSize } = this
    const { slots, dimensions } = savedSize
    const names = sessions.listNames()
    const aliases = this.#aliases.list()
    columns.isCopied = true
    try {
      writer.byte(PIECE.partition)
      writer.text(JSON.stringify({ namespace, ...savedSize }))
      yield writer.take()
      yield* writeInPieces(writer, PIECE.slots, Math.ceil(slots / SLOTS_SAVED), (record) => {
        const [from, to] = [record * SLOTS_SAVED, Math.min(slots, (record + 1) * SLOTS_SAVED)]
        columns.save(writer, from, to)
        this.#fingerprints.save(writer, from, to)
        sessions.save(writer, [from, to], slots)
      })
      yield* writeInPieces(writer, PIECE.sessions, names.length, (session) => {
        writer.byte(names[session] === undefined ? 0 : 1)
        writer.text(names[session] ?? '')
      })
      yield* writeInPieces(writer, PIECE.vectors, dimensions > 0 ? slots : 0, (slot) =>
        vectors.save(writer, slot, dimensions),
      )
      for (let next: readonly [number, number] | null = [0, 0]; next !== null; ) {
        writer.byte(PIECE.terms)
        next = this.#terms.save(writer, next, slots)
        yield writer.take()
      }
      yield* writeInPieces(writer, PIECE.slotTerms, slots, (slot) =>
        this.#slotTerms.save(writer, slot),
      )
      yield* writeInPieces(writer, PIECE.aliases, aliases.length, (record) =>
        writer.text(JSON.stringify(aliases[record])),
      )
    } finally {
      columns.isCopied = false
    }
  }

  /** Makes an empty partition ready for the pieces of `save`. */
  reserve({ slots, facts }: Partition['savedSize']): void {
    const bySlot = [this.columns, this.sessions, this.visibility, this.#slotTerms]
    for (const column of [...bySlot, this.#fingerprints]) column.reserve(slots)
    this.#slots.reserve(facts)
  }

  /** Loads a piece that `save` made; `onRef` is called for each fact. */
  load(
    kind: number,
    reader: PieceReader,
    { size, onRef }: { size: Partition['savedSize']; onRef: (ref: number) => void },
  ): void {
    if (kind === PIECE.terms) {
      this.#terms.load(reader)
      return
    }
    const vector = new Int8Array(size.dimensions)
    for (let record = reader.number(); !reader.isAtEnd; record++) {
      if (kind === PIECE.slots) this.#loadSlots(reader, record, { slots: size.slots, onRef })
      else if (kind === PIECE.sessions) {
        if (reader.byte() === 1) this.sessions.loadName(record, reader.text())
        else reader.text()
      } else if (kind === PIECE.vectors) this.vectors.load(reader, record, vector)
      else if (kind === PIECE.slotTerms) this.#slotTerms.load(reader, record)
      else if (kind === PIECE.aliases) {
        const [slot, pairs]: ReturnType<Aliases['list']>[number] = JSON.parse(reader.text())
        this.#aliases.add(slot, pairs)
      } else throw new RangeError('a piece of an unknown kind')
    }
  }

  /** To be called after the last piece; throws RangeError when facts are missing. */
  finishLoad({ slots, facts }: Partition['savedSize']): void {
    this.sessions.finishLoad(slots)
    if (this.size !== facts || this.columns.used !== slots)
      throw new RangeError('a loaded partition lacks facts')
  }

  /** Estimated memory. */
  bytes(): number {
    const columns = [this.columns, this.vectors, this.visibility, this.#expired, this.sessions]
    const tables = [this.#aliases, this.#slots, this.#fingerprints, this.#terms, this.#slotTerms]
    const parts = [...columns, ...tables]
    return parts.reduce((sum, part) => sum + part.bytes(), this.#pendingUnits * 2)
  }

  #loadSlots(
    reader: PieceReader,
    record: number,
    { slots, onRef }: { slots: number; onRef: (ref: number) => void },
  ): void {
    const { columns } = this
    const [from, to] = [record * SLOTS_SAVED, Math.min(slots, (record + 1) * SLOTS_SAVED)]
    columns.load(reader, from, to)
    this.#fingerprints.load(reader, from, to)
    this.sessions.load(reader, from, to)
    for (let slot = from; slot < to; slot++) {
      const ref = columns.refs[slot] ?? NO_REF
      if (ref === NO_REF) continue
      this.#slots.set(ref, slot)
      this.#fingerprints.loadSlot(slot)
      this.#expired.add(slot)
      this.#totalLength += columns.lengths[slot] ?? 0
      onRef(ref)
    }
  }

  #setValidity(slot: number, validity: Validity): void {
    this.columns.validFrom[slot] = validity.valid_from_us
    this.columns.validUntil[slot] = validity.valid_until_us ?? Number.POSITIVE_INFINITY
    this.visibility.invalidate(slot)
  }

  #defer(slot: number, fact: PendingFact): void {
    this.#pending.set(slot, { content: fact.content, metadata: fact.metadata })
    this.#pendingUnits += fact.content.length
    for (const [oldest, pending] of this.#pending) {
      const bounded =
        this.#pending.size <= PENDING_FACTS_MAX && this.#pendingUnits <= PENDING_UNITS_MAX
      if (bounded || this.searches > 0) return
      this.#removePending(oldest, pending)
      this.#analyse(oldest, pending)
    }
  }

  #removePending(slot: number, pending: PendingFact): void {
    this.#pending.delete(slot)
    this.#pendingUnits -= pending.content.length
  }

  /** The terms of two names for one: each of the first with the first of the second. */
  #pairTerms([one, other]: readonly [string, string]): [string, string][] {
    const [name] = this.analyser.analyse(other)
    return name === undefined ? [] : this.analyser.analyse(one).map((term) => [term, name])
  }

  #analyse(slot: number, { content, metadata }: PendingFact): void {
    const terms = this.analyser.analyse(content)
    const counts = takeTermCounts()
    for (const term of terms) counts.add(this.#terms.addTerm(term))
    // A date is searched like words, but does not make the fact longer.
    const day = findStatedDay({ content, metadata })
    if (day !== null)
      for (const term of this.analyser.analyse(formatTime(day * DAY_US).slice(0, 10)))
        counts.addOnce(this.#terms.addTerm(term))
    for (const feature of listMetadataFeatures(metadata)) counts.add(this.#terms.addTerm(feature))
    const speaker = findSpeaker(content, metadata)
    for (const term of this.analyser.analyse(speaker ?? ''))
      counts.addOnce(this.#terms.addTerm(speakerFeature(term)))
    this.#aliases.add(
      slot,
      findNames(content, speaker).flatMap((names) => this.#pairTerms(names)),
    )
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
