// A partition of the search index: the facts of one store and namespace.

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
} from '../text/analysis.ts'
import { findStatedDay } from '../text/date-expressions.ts'
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

/** Valid time of a fact: from inclusive, until exclusive. `null` means no end. */
export interface Validity {
  readonly valid_from_us: number
  readonly valid_until_us: number | null
}

/** A fact to be added to the index. */
export interface IndexedFact extends Validity {
  readonly ref: number
  /** Namespaces are searched separately; `null` is the root namespace. */
  readonly namespace: string | null
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** Tokens of `content` by the store's tokenizer. */
  readonly token_count: number
  /** When the fact expires; `null` or absent means never. */
  readonly expires_us?: number | null
  /** Embedding, scaled to length 127. `null`: the fact has no vector and is similar to no query. */
  readonly vector: Int8Array | null
}

/**
 * Limits on facts not yet analysed, and their UTF-16 units; beyond them a write analyses the
 * oldest.
 */
const PENDING_FACTS_MAX = 128
const PENDING_UNITS_MAX = 256 * 1024

/** Slots whose columns are saved as one record. */
const SLOTS_SAVED = 1_024

/** Maximum number of query terms also searched by their aliases; each costs as much as a term. */
const ALIASED_TERMS_MAX = 16

/** A shorter text counts as a complete message, which the next text does not continue. */
export const PIECE_TERMS_MIN = 16

type PendingFact = Pick<IndexedFact, 'content' | 'metadata'>

/**
 * Indexes all facts that have not been removed, superseded ones included. Term statistics cover
 * those that have not expired, so they do not depend on the `as_of` of a query or on write order.
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
  /** Incremented by changes after which a search in steps must not continue. */
  version = 0
  /** Number of running searches in steps; while any runs, writes analyse no facts. */
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
   * Term statistics at the present time `nowUs`: number of facts, average number of terms of a fact
   * (1 if there are none) and number of facts with a term. Expired facts are excluded, so that no
   * score reveals them. Valid until the index changes.
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

  /** Valid time of a fact, cut off at its expiry. */
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

  /** End of valid time or expiry, whichever comes first. Infinity means never. */
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
   * Whether two consecutive facts of a session are pieces of one message: they have the same
   * message id, or have none and the second continues a long text of the same speaker.
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

  /** Aliases that visible facts give for terms of a query, for up to `ALIASED_TERMS_MAX` terms. */
  findAliases(terms: readonly string[], visible: Uint8Array): ReadonlyMap<string, string[]> {
    const found = new Map<string, string[]>()
    for (const term of terms) {
      const others = this.#aliases.of(term, visible)
      if (others.length > 0) found.set(term, others)
      if (found.size >= ALIASED_TERMS_MAX) break
    }
    return found
  }

  /** Ids of the words of a slot, without repeats. Valid until the index changes. */
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

  /** Sizes that a loaded partition must have; 0 dimensions mean no vectors. */
  get savedSize() {
    return { slots: this.columns.used, facts: this.size, dimensions: this.vectors.dimensions }
  }

  /**
   * Serialises the current facts in pieces. Between pieces, facts may be added and changed (a
   * changed fact is saved as before or after the change), but not removed.
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

  /** Allocates an empty partition before the pieces of `save` are loaded. */
  reserve({ slots, facts }: Partition['savedSize']): void {
    const bySlot = [this.columns, this.sessions, this.visibility, this.#slotTerms]
    for (const column of [...bySlot, this.#fingerprints]) column.reserve(slots)
    this.#slots.reserve(facts)
  }

  /** Loads one piece of `save`; calls `onRef` for each fact. */
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

  /** Call after the last piece; throws RangeError if facts are missing. */
  finishLoad({ slots, facts }: Partition['savedSize']): void {
    this.sessions.finishLoad(slots)
    if (this.size !== facts || this.columns.used !== slots)
      throw new RangeError('a loaded partition lacks facts')
  }

  /** Estimated memory in bytes. */
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

  /** Makes alias pairs of two names for one thing: each term of one with the first of the other. */
  #pairTerms([one, other]: readonly [string, string]): [string, string][] {
    const [name] = this.analyser.analyse(other)
    return name === undefined ? [] : this.analyser.analyse(one).map((term) => [term, name])
  }

  #analyse(slot: number, { content, metadata }: PendingFact): void {
    const terms = this.analyser.analyse(content)
    const counts = takeTermCounts()
    for (const term of terms) counts.add(this.#terms.addTerm(term))
    // A date is searchable like words, but does not count towards the fact's length.
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
