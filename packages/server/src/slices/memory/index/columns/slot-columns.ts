// What a partition keeps of each fact by slot: times and sizes, visibility, its neighbours in a
// session, and a fingerprint of its content.

import { hash } from 'node:crypto'
import { StringIds } from './term-index.ts'
import { growArray } from './typed-arrays.ts'

/** The ref of a slot that holds no fact. */
export const NO_REF = -1

/** Numbers of each fact, one array for each property. */
export class SlotColumns {
  refs = new Float64Array(0)
  validFrom = new Float64Array(0)
  /** Infinity: open. */
  validUntil = new Float64Array(0)
  /** From this time on the fact is hidden, whatever time is asked for. Infinity: never. */
  expires = new Float64Array(0)
  tokenCounts = new Uint32Array(0)
  /** Indexed terms of the content, repeats included. */
  lengths = new Uint32Array(0)
  /** Marks of who speaks and of the message a fact is a piece of. 0: unknown. */
  speakers = new Uint32Array(0)
  messages = new Uint32Array(0)
  /** Whole days since 1970-01-01: the day that a fact is about. */
  days = new Int32Array(0)
  /** 1: the content ends as a question. */
  questions = new Uint8Array(0)
  /** Slots 0 to `used` - 1 hold or have held a fact. */
  used = 0
  readonly #free: number[] = []

  /** An empty slot, a freed one if there is any. */
  take(): number {
    const slot = this.#free.pop() ?? this.used++
    if (slot < this.refs.length) return slot
    this.refs = growArray(this.refs, slot, NO_REF)
    this.validFrom = growArray(this.validFrom, slot)
    this.validUntil = growArray(this.validUntil, slot)
    this.expires = growArray(this.expires, slot)
    this.tokenCounts = growArray(this.tokenCounts, slot)
    this.lengths = growArray(this.lengths, slot)
    this.speakers = growArray(this.speakers, slot)
    this.messages = growArray(this.messages, slot)
    this.days = growArray(this.days, slot)
    this.questions = growArray(this.questions, slot)
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

  bytes(): number {
    return this.refs.length * (4 * 8 + 5 * 4 + 1) + this.#free.length * 8
  }
}

/** The neighbour of a fact at either end of its session. */
export const NO_SLOT = -1
export const NO_SESSION = -1

/** Sessions: facts that follow each other in a conversation, linked in the order of refs. */
export class SessionIndex {
  /** By slot: the slot of the fact before, or NO_SLOT. Replaced as it grows. */
  before = new Int32Array(0)
  /** By slot: the slot of the fact after, or NO_SLOT. */
  after = new Int32Array(0)
  #sessions = new Int32Array(0)
  /** By session: the slot of its last fact. */
  #lasts = new Int32Array(0)
  readonly #names = new StringIds()
  readonly #refs: () => Float64Array

  /** `refs` returns the refs by slot; the array is replaced when it grows. */
  constructor(refs: () => Float64Array) {
    this.#refs = refs
  }

  /** By slot: a number of its session below `count`, or NO_SESSION. */
  get sessions(): Int32Array {
    return this.#sessions
  }

  /** Numbers of sessions are below this. */
  get count(): number {
    return this.#lasts.length
  }

  /** Adds the fact in `slot` to a session, or to none; its ref must be set already. */
  add(slot: number, name: string | null): void {
    this.before = growArray(this.before, slot, NO_SLOT)
    this.after = growArray(this.after, slot, NO_SLOT)
    this.#sessions = growArray(this.#sessions, slot, NO_SESSION)
    if (name === null) return
    const session = this.#names.find(name) ?? this.#open(name)
    this.#sessions[slot] = session
    // Refs mostly arrive ascending: the fact belongs at the end, or near it.
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

/** With more changes a pass over all slots is cheaper. */
const CHANGES_MAX = 4_096

/**
 * Which slots hold a fact that is valid at a time and has not expired by now. Most searches are for
 * the present, and see the same facts until the next one begins, ends or expires. So the flags of
 * one pass are kept for all times between two such moments, and only slots that changed since are
 * computed again.
 */
export class Visibility {
  readonly #columns: SlotColumns
  #flags = new Uint8Array(0)
  /** The flags are valid for #from <= at < #until, except those of changed slots. */
  #from = 0
  #until = 0
  /** They are also valid only for #expiredSince <= now < #expiresNext. */
  #expiredSince = 0
  #expiresNext = 0
  #changed: number[] = []

  constructor(columns: SlotColumns) {
    this.#columns = columns
  }

  /**
   * By slot: 1 where valid_from <= at_us < valid_until, and now_us < expires. Valid until the next
   * call.
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
 * Which slots hold a fact that has expired by now. Searches ask for the present, so the flags of
 * one pass are kept until the next fact expires.
 */
export class ExpiredSlots {
  readonly #columns: SlotColumns
  #flags = new Uint8Array(0)
  /** The flags are valid for #since <= now < #next. */
  #since = Number.NEGATIVE_INFINITY
  #next = Number.POSITIVE_INFINITY
  /** Number of expired facts, and of indexed terms in them. */
  count = 0
  length = 0

  constructor(columns: SlotColumns) {
    this.#columns = columns
  }

  /** Brings flags and numbers to `now_us`. The facts must be analysed. */
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

  /** Must be called when a fact was put into a slot. */
  add(slot: number): void {
    this.#next = Math.min(this.#next, this.#columns.expires[slot] ?? 0)
  }

  /** Must be called before the fact of a slot is removed. */
  remove(slot: number): void {
    if (!this.has(slot)) return
    this.#flags[slot] = 0
    this.count--
    this.length -= this.#columns.lengths[slot] ?? 0
  }

  has(slot: number): boolean {
    return this.#flags[slot] === 1
  }

  bytes(): number {
    return this.#flags.length
  }
}

const FINGERPRINT_LENGTH = 4
const NONE = -1
const FIRST_BUCKETS = 16

/** 128 bits as four 32-bit numbers. */
type Fingerprint = Uint32Array

/**
 * A keyed digest of a content. With a key that dies with the process, what is left in memory
 * reveals nothing about an erased content, and no writer can prepare two contents that collide.
 */
export function computeFingerprint(content: string, key: Uint8Array): Fingerprint {
  const keyed = Buffer.allocUnsafeSlow(key.length + Buffer.byteLength(content))
  keyed.set(key)
  keyed.write(content, key.length, 'utf8')
  const digest = hash('sha256', keyed, 'buffer')
  // The copy of the content is wiped now, not at the next garbage collection.
  keyed.fill(0)
  return Uint32Array.from({ length: FINGERPRINT_LENGTH }, (_, at) => digest.readUInt32LE(at * 4))
}

/** Finds facts with the same content without keeping contents: a hash table of fingerprints. */
export class ContentFingerprints {
  #numbers = new Uint32Array(0)
  /** By slot: the next slot of the same bucket, or NONE. */
  #next = new Int32Array(0)
  #buckets = new Int32Array(FIRST_BUCKETS).fill(NONE)
  #size = 0

  /** For a slot without a fingerprint. */
  add(slot: number, fingerprint: Fingerprint): void {
    this.#numbers = growArray(this.#numbers, slot * FINGERPRINT_LENGTH + FINGERPRINT_LENGTH - 1)
    this.#next = growArray(this.#next, slot, NONE)
    this.#numbers.set(fingerprint, slot * FINGERPRINT_LENGTH)
    this.#size++
    if (this.#size > this.#buckets.length) this.#widen()
    this.#link(slot)
  }

  remove(slot: number): void {
    const bucket = this.#bucketOf(this.#numbers[slot * FINGERPRINT_LENGTH] ?? 0)
    let before = NONE
    let at = this.#buckets[bucket] ?? NONE
    while (at !== slot) {
      if (at === NONE) return
      before = at
      at = this.#next[at] ?? NONE
    }
    if (before === NONE) this.#buckets[bucket] = this.#next[slot] ?? NONE
    else this.#next[before] = this.#next[slot] ?? NONE
    this.#next[slot] = NONE
    this.#numbers.fill(0, slot * FINGERPRINT_LENGTH, slot * FINGERPRINT_LENGTH + FINGERPRINT_LENGTH)
    this.#size--
  }

  /** The slots with this content, unordered. */
  *find(fingerprint: Fingerprint): Iterable<number> {
    let slot = this.#buckets[this.#bucketOf(fingerprint[0] ?? 0)] ?? NONE
    for (; slot !== NONE; slot = this.#next[slot] ?? NONE) {
      if (this.#has(slot, fingerprint)) yield slot
    }
  }

  /** The function returns the first of the slots it was called with that has the same content. */
  compareContents(): (slot: number) => number {
    const firsts = new Map<number, number[]>()
    return (slot) => {
      const at = slot * FINGERPRINT_LENGTH
      // 53 bits find the candidates, all 128 decide.
      const key = (this.#numbers[at] ?? 0) * 2 ** 21 + ((this.#numbers[at + 1] ?? 0) >>> 11)
      const known = firsts.get(key)
      const fingerprint = this.#numbers.subarray(at, at + FINGERPRINT_LENGTH)
      const first = known?.find((other) => this.#has(other, fingerprint))
      if (first !== undefined) return first
      if (known) known.push(slot)
      else firsts.set(key, [slot])
      return slot
    }
  }

  bytes(): number {
    return (this.#numbers.length + this.#next.length + this.#buckets.length) * 4
  }

  #has(slot: number, fingerprint: Fingerprint): boolean {
    for (let at = 0; at < FINGERPRINT_LENGTH; at++) {
      if (this.#numbers[slot * FINGERPRINT_LENGTH + at] !== fingerprint[at]) return false
    }
    return true
  }

  #bucketOf(first: number): number {
    return first & (this.#buckets.length - 1)
  }

  #link(slot: number): void {
    const bucket = this.#bucketOf(this.#numbers[slot * FINGERPRINT_LENGTH] ?? 0)
    this.#next[slot] = this.#buckets[bucket] ?? NONE
    this.#buckets[bucket] = slot
  }

  #widen(): void {
    const buckets = this.#buckets
    const links = this.#next.slice()
    this.#buckets = new Int32Array(buckets.length * 2).fill(NONE)
    for (const first of buckets) {
      for (let slot = first; slot !== NONE; slot = links[slot] ?? NONE) this.#link(slot)
    }
  }
}
