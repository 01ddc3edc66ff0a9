// The columns of a partition by slot: times and sizes of each fact, visibility, and neighbours in a
// session.

import type { PieceReader, PieceWriter } from './pieces.ts'
import { StringIds } from './term-index.ts'
import { growArray, type NumberArray, reserveArray } from './typed-arrays.ts'

/** The ref of a slot that holds no fact. */
export const NO_REF = -1

/** Columns are resized at different sizes, each when another has room for a 2^12th more slots. */
const GROW_APART_BITS = 12

/** Numeric properties of facts, one array per property. */
export class SlotColumns {
  refs = new Float64Array(0)
  validFrom = new Float64Array(0)
  /** Infinity means no end. */
  validUntil = new Float64Array(0)
  /** From this time on the fact is hidden at any queried time. Infinity means never. */
  expires = new Float64Array(0)
  tokenCounts = new Uint32Array(0)
  /** Indexed terms of the content, repeats included. */
  lengths = new Uint32Array(0)
  /** Marks of the speaker and of the message that a fact is a piece of. 0 means unknown. */
  speakers = new Uint32Array(0)
  messages = new Uint32Array(0)
  /** The day that a fact is about, in whole days since 1970-01-01. */
  days = new Int32Array(0)
  /** 1 if the content ends with a question. */
  questions = new Uint8Array(0)
  /** Slots 0 to `used` - 1 hold or have held a fact. */
  used = 0
  /** During a copy no freed slot is reused, so slots below its bound keep their facts. */
  isCopied = false
  readonly #free: number[] = []

  /** Returns an empty slot, a freed one if possible. */
  take(): number {
    const slot = (this.isCopied ? undefined : this.#free.pop()) ?? this.used++
    // Large arrays grow at different times: copying them all at once would block every request.
    const apart = slot >>> GROW_APART_BITS
    this.refs = growArray(this.refs, slot, NO_REF)
    this.validFrom = growArray(this.validFrom, slot + apart)
    this.validUntil = growArray(this.validUntil, slot + apart * 2)
    this.expires = growArray(this.expires, slot + apart * 3)
    this.tokenCounts = growArray(this.tokenCounts, slot + apart * 4)
    this.lengths = growArray(this.lengths, slot + apart * 5)
    this.speakers = growArray(this.speakers, slot + apart * 6)
    this.messages = growArray(this.messages, slot + apart * 7)
    this.days = growArray(this.days, slot + apart * 8)
    this.questions = growArray(this.questions, slot + apart * 9)
    return slot
  }

  release(slot: number): void {
    this.refs[slot] = NO_REF
    this.validFrom[slot] = 0
    this.validUntil[slot] = 0
    this.expires[slot] = 0
    this.tokenCounts[slot] = 0
    this.lengths[slot] = 0
    this.speakers[slot] = 0
    this.messages[slot] = 0
    this.days[slot] = 0
    this.questions[slot] = 0
    this.#free.push(slot)
  }

  save(writer: PieceWriter, from: number, to: number): void {
    for (const array of this.#arrays()) writer.array(array, from, to)
  }

  /** Makes room for slots that `load` fills in ascending order. */
  reserve(slots: number): void {
    this.refs = reserveArray(this.refs, slots, NO_REF)
    this.validFrom = reserveArray(this.validFrom, slots)
    this.validUntil = reserveArray(this.validUntil, slots)
    this.expires = reserveArray(this.expires, slots)
    this.tokenCounts = reserveArray(this.tokenCounts, slots)
    this.lengths = reserveArray(this.lengths, slots)
    this.speakers = reserveArray(this.speakers, slots)
    this.messages = reserveArray(this.messages, slots)
    this.days = reserveArray(this.days, slots)
    this.questions = reserveArray(this.questions, slots)
  }

  load(reader: PieceReader, from: number, to: number): void {
    for (const array of this.#arrays()) reader.array(array, from, to)
    for (let slot = from; slot < to; slot++) if (this.refs[slot] === NO_REF) this.#free.push(slot)
    this.used = to
  }

  bytes(): number {
    return this.refs.length * (4 * 8 + 5 * 4 + 1) + this.#free.length * 8
  }

  #arrays(): readonly NumberArray[] {
    const { refs, validFrom, validUntil, expires, tokenCounts, lengths } = this
    const { speakers, messages, days, questions } = this
    const times = [refs, validFrom, validUntil, expires]
    return [...times, tokenCounts, lengths, speakers, messages, days, questions]
  }
}

/** Stands for the missing neighbour at either end of a session. */
export const NO_SLOT = -1
export const NO_SESSION = -1

/** Sessions: facts that follow each other in a conversation, linked in ref order. */
export class SessionIndex {
  /** The slot of the preceding fact by slot, or NO_SLOT. Replaced when it grows. */
  before = new Int32Array(0)
  /** The slot of the following fact by slot, or NO_SLOT. */
  after = new Int32Array(0)
  #sessions = new Int32Array(0)
  /** The slot of the last fact by session. */
  #lasts = new Int32Array(0)
  readonly #names = new StringIds()
  readonly #refs: () => Float64Array

  /** `refs` returns the refs by slot; that array is replaced when it grows. */
  constructor(refs: () => Float64Array) {
    this.#refs = refs
  }

  /** The session number of each slot, below `count`, or NO_SESSION. */
  get sessions(): Int32Array {
    return this.#sessions
  }

  /** Session numbers are below this. */
  get count(): number {
    return this.#lasts.length
  }

  /** Adds the fact in `slot`, whose ref must be set, to a session (`null`: to none). */
  add(slot: number, name: string | null): void {
    const apart = slot >>> GROW_APART_BITS
    this.before = growArray(this.before, slot + apart * 10, NO_SLOT)
    this.after = growArray(this.after, slot + apart * 11, NO_SLOT)
    this.#sessions = growArray(this.#sessions, slot + apart * 12, NO_SESSION)
    if (name === null) return
    const session = this.#names.find(name) ?? this.#open(name)
    this.#sessions[slot] = session
    // Refs mostly arrive in ascending order, so the fact belongs at or near the end.
    const refs = this.#refs()
    const ref = refs[slot] ?? 0
    let before = this.#lasts[session] ?? NO_SLOT
    let after = NO_SLOT
    while (before !== NO_SLOT && (refs[before] ?? 0) > ref) {
      after = before
      before = this.before[before] ?? NO_SLOT
    }
    this.#join(before, slot)
    this.#join(slot, after)
    if (after === NO_SLOT) this.#lasts[session] = slot
  }

  /** Removes the fact in `slot` from its session. */
  remove(slot: number): void {
    const session = this.#sessions[slot] ?? NO_SESSION
    if (session === NO_SESSION) return
    const before = this.before[slot] ?? NO_SLOT
    const after = this.after[slot] ?? NO_SLOT
    this.#join(before, after)
    if (after === NO_SLOT) this.#lasts[session] = before
    if (before === NO_SLOT && after === NO_SLOT) this.#names.delete(session)
    this.before[slot] = NO_SLOT
    this.after[slot] = NO_SLOT
    this.#sessions[slot] = NO_SESSION
  }

  /** Session names by number; a number that no session uses has none. */
  listNames(): (string | undefined)[] {
    return this.#names.list()
  }

  /** Writes sessions and predecessors as if only slots below `bound` existed. */
  save(writer: PieceWriter, [from, to]: readonly [number, number], bound: number): void {
    writer.array(this.#sessions, from, to)
    const befores = this.before.slice(from, to)
    for (let at = 0; at < befores.length; at++) {
      let before = befores[at] ?? NO_SLOT
      while (before >= bound) before = this.before[before] ?? NO_SLOT
      befores[at] = before
    }
    writer.array(befores, 0, to - from)
  }

  reserve(slots: number): void {
    this.before = reserveArray(this.before, slots, NO_SLOT)
    this.after = reserveArray(this.after, slots, NO_SLOT)
    this.#sessions = reserveArray(this.#sessions, slots, NO_SESSION)
  }

  loadName(session: number, name: string): void {
    this.#names.load(session, name)
    this.#lasts = growArray(this.#lasts, session, NO_SLOT)
  }

  load(reader: PieceReader, from: number, to: number): void {
    reader.array(this.#sessions, from, to)
    reader.array(this.before, from, to)
    for (let slot = from; slot < to; slot++) {
      const before = this.before[slot] ?? NO_SLOT
      if (before !== NO_SLOT) this.after[before] = slot
    }
  }

  /** Call this once names and slots below `slots` are loaded. */
  finishLoad(slots: number): void {
    for (let slot = 0; slot < slots; slot++) {
      const session = this.#sessions[slot] ?? NO_SESSION
      if (session !== NO_SESSION && this.after[slot] === NO_SLOT) this.#lasts[session] = slot
    }
  }

  bytes(): number {
    return this.before.length * 12 + this.#lasts.length * 4 + this.#names.bytes()
  }

  #open(name: string): number {
    const session = this.#names.add(name)
    this.#lasts = growArray(this.#lasts, session, NO_SLOT)
    this.#lasts[session] = NO_SLOT
    return session
  }

  #join(earlier: number, later: number): void {
    if (earlier !== NO_SLOT) this.after[earlier] = later
    if (later !== NO_SLOT) this.before[later] = earlier
  }
}

/** Above this number of changes a pass over all slots is cheaper. */
const CHANGES_MAX = 4_096

/**
 * Tells which slots hold a fact that is valid at a time and has not expired by now. Most searches
 * are for the present and see the same facts until the next one begins, ends or expires. The flags
 * of one pass are therefore kept for all times between two such moments, and only slots that
 * changed since are computed again.
 */
export class Visibility {
  readonly #columns: SlotColumns
  #flags = new Uint8Array(0)
  /** The flags hold for #from <= at < #until, except those of changed slots. */
  #from = 0
  #until = 0
  /** They also hold only for #expiredSince <= now < #expiresNext. */
  #expiredSince = 0
  #expiresNext = 0
  #changed: number[] = []

  constructor(columns: SlotColumns) {
    this.#columns = columns
  }

  /**
   * Flags by slot: 1 if valid_from <= at_us < valid_until and now_us < expires. The result is valid
   * until the next call.
   */
  at(at_us: number, now_us: number): Uint8Array {
    const isSameTime = this.#from <= at_us && at_us < this.#until
    const isSameNow = this.#expiredSince <= now_us && now_us < this.#expiresNext
    if (!isSameTime || !isSameNow) this.#updateAll(at_us, now_us)
    else for (const slot of this.#changed) this.#update(slot, at_us, now_us)
    return this.#flags
  }

  /** Must be called when the validity of a slot has changed. */
  invalidate(slot: number): void {
    this.#flags = growArray(this.#flags, slot)
    if (this.#changed.push(slot) < CHANGES_MAX) return
    this.#changed = []
    this.#until = this.#from
  }

  reserve(slots: number): void {
    this.#flags = reserveArray(this.#flags, slots)
  }

  bytes(): number {
    return this.#flags.length
  }

  #update(slot: number, at_us: number, now_us: number): void {
    const expires = this.#columns.expires[slot] ?? 0
    const from = this.#columns.validFrom[slot] ?? 0
    const until = this.#columns.validUntil[slot] ?? 0
    this.#flags[slot] = from <= at_us && at_us < until && now_us < expires ? 1 : 0
  }

  #updateAll(at_us: number, now_us: number): void {
    const { validFrom, validUntil, expires, used } = this.#columns
    const flags = this.#flags
    let latest = Number.NEGATIVE_INFINITY
    let earliest = Number.POSITIVE_INFINITY
    let expired = Number.NEGATIVE_INFINITY
    let next = Number.POSITIVE_INFINITY
    for (let slot = 0; slot < used; slot++) {
      // A free slot has an empty validity, from 0 to 0.
      const from = validFrom[slot] ?? 0
      const until = validUntil[slot] ?? 0
      if (from > at_us) earliest = Math.min(earliest, from)
      else latest = Math.max(latest, from)
      if (until > at_us) earliest = Math.min(earliest, until)
      else latest = Math.max(latest, until)
      const expiry = expires[slot] ?? 0
      if (expiry > now_us) next = Math.min(next, expiry)
      else expired = Math.max(expired, expiry)
      flags[slot] = from <= at_us && at_us < until && now_us < expiry ? 1 : 0
    }
    this.#from = latest
    this.#until = earliest
    this.#expiredSince = expired
    this.#expiresNext = next
    this.#changed = []
  }
}

/**
 * Tells which slots hold a fact that has expired by now. Searches ask for the present, so the flags
 * of one pass are kept until the next fact expires.
 */
export class ExpiredSlots {
  readonly #columns: SlotColumns
  #flags = new Uint8Array(0)
  /** The flags hold for #since <= now < #next. */
  #since = Number.NEGATIVE_INFINITY
  #next = Number.POSITIVE_INFINITY
  /** Number of expired facts, and of their indexed terms. */
  count = 0
  length = 0

  constructor(columns: SlotColumns) {
    this.#columns = columns
  }

  /** Moves flags and counts to `now_us`. All facts must be analysed. */
  moveTo(now_us: number): void {
    if (this.#since <= now_us && now_us < this.#next) return
    const { expires, lengths, refs, used } = this.#columns
    this.#flags = new Uint8Array(used)
    this.#next = Number.POSITIVE_INFINITY
    this.#since = Number.NEGATIVE_INFINITY
    this.count = 0
    this.length = 0
    for (let slot = 0; slot < used; slot++) {
      const expiry = expires[slot] ?? 0
      if (refs[slot] === NO_REF) continue
      if (expiry > now_us) this.#next = Math.min(this.#next, expiry)
      else {
        this.#since = Math.max(this.#since, expiry)
        this.#flags[slot] = 1
        this.count++
        this.length += lengths[slot] ?? 0
      }
    }
  }

  /** Call this when a fact was put into a slot. */
  add(slot: number): void {
    this.#next = Math.min(this.#next, this.#columns.expires[slot] ?? 0)
  }

  /** Call this before the fact of a slot is removed. */
  remove(slot: number): void {
    if (!this.has(slot)) return
    this.#flags[slot] = 0
    this.count--
    this.length -= this.#columns.lengths[slot] ?? 0
  }

  /** Flags by slot: 1 if the fact has expired. Replaced when the time moves. */
  get flags(): Uint8Array {
    return this.#flags
  }

  has(slot: number): boolean {
    return this.#flags[slot] === 1
  }

  bytes(): number {
    return this.#flags.length
  }
}
