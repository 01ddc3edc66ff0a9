// The sessions of a partition: which facts follow one another in a conversation, in ref order.

/** The facts of one session. */
export interface Session {
  readonly name: string
  /** Ascending by the ref of the fact in the slot. */
  readonly slots: number[]
}

export class SessionIndex {
  readonly #byName = new Map<string, Session>()
  readonly #bySlot: (Session | undefined)[] = []
  readonly #refs: () => Float64Array

  /** `refs` gives the ref by slot; the array behind it may be replaced as it grows. */
  constructor(refs: () => Float64Array) {
    this.#refs = refs
  }

  /** Puts the fact in `slot` into a session, or into none; its ref must be set already. */
  add(slot: number, name: string | null): void {
    while (this.#bySlot.length <= slot) this.#bySlot.push(undefined)
    if (name === null) return
    let session = this.#byName.get(name)
    if (session === undefined) {
      session = { name, slots: [] }
      this.#byName.set(name, session)
    }
    session.slots.splice(this.#positionOf(session, slot), 0, slot)
    this.#bySlot[slot] = session
  }

  /** Takes the fact in `slot` out of its session, while its ref is still set. */
  remove(slot: number): void {
    const session = this.#bySlot[slot]
    if (session === undefined) return
    session.slots.splice(this.#positionOf(session, slot), 1)
    if (session.slots.length === 0) this.#byName.delete(session.name)
    this.#bySlot[slot] = undefined
  }

  of(slot: number): Session | undefined {
    return this.#bySlot[slot]
  }

  bytes(): number {
    return this.#bySlot.length * 16 + this.#byName.size * 200
  }

  #positionOf(session: Session, slot: number): number {
    const refs = this.#refs()
    const ref = refs[slot] ?? 0
    const refAt = (at: number): number => refs[session.slots[at] ?? 0] ?? 0
    let low = 0
    let high = session.slots.length
    if (high > 0 && refAt(high - 1) < ref) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (refAt(middle) < ref) low = middle + 1
      else high = middle
    }
    return low
  }
}
