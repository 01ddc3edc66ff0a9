// The sessions of a partition: which facts follow one another in a conversation, in ref order.
import { grown } from './grown.ts'
import { StringIds } from './string-ids.ts'

/** Where a session ends, on either side. */
export const NO_SLOT = -1
const NO_SESSION = -1

/** Each fact is linked with the one before and the one after it in its session. */
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

  /** `refs` gives the ref by slot; the array behind it may be replaced as it grows. */
  constructor(refs: () => Float64Array) {
    this.#refs = refs
  }

  /** Puts the fact in `slot` into a session, or into none; its ref must be set already. */
  add(slot: number, name: string | null): void {
    this.before = grown(this.before, slot, NO_SLOT)
    this.after = grown(this.after, slot, NO_SLOT)
    this.#sessions = grown(this.#sessions, slot, NO_SESSION)
    if (name === null) return
    const session = this.#names.find(name) ?? this.#open(name)
    this.#sessions[slot] = session
    // Refs mostly arrive ascending: the place is at the end, or near it.
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

  /** Takes the fact in `slot` out of its session. */
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
    this.#lasts = grown(this.#lasts, session, NO_SLOT)
    this.#lasts[session] = NO_SLOT
    return session
  }

  #join(earlier: number, later: number): void {
    if (earlier !== NO_SLOT) this.after[earlier] = later
    if (later !== NO_SLOT) this.before[later] = earlier
  }
}
