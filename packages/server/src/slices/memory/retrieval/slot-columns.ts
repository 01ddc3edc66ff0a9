// The numbers a partition keeps of each fact, one array per property, by slot.

const SLOTS_AT_FIRST = 16
/** Marks a slot that holds no fact. */
export const NO_REF = -1

export class SlotColumns {
  refs = new Float64Array(SLOTS_AT_FIRST).fill(NO_REF)
  validFrom = new Float64Array(SLOTS_AT_FIRST)
  /** Infinity: open. */
  validUntil = new Float64Array(SLOTS_AT_FIRST)
  tokenCounts = new Float64Array(SLOTS_AT_FIRST)
  /** Indexed terms of the content, repeats included. */
  lengths = new Uint32Array(SLOTS_AT_FIRST)
  /** Slots 0 to `used` - 1 hold or have held a fact. */
  used = 0
  readonly #free: number[] = []

  /** A slot that holds nothing, reused where one was freed. */
  take(): number {
    const slot = this.#free.pop() ?? this.used++
    if (slot >= this.refs.length) this.#grow()
    return slot
  }

  release(slot: number): void {
    this.refs[slot] = NO_REF
    this.validFrom[slot] = 0
    this.validUntil[slot] = 0
    this.tokenCounts[slot] = 0
    this.lengths[slot] = 0
    this.#free.push(slot)
  }

  bytes(): number {
    return this.refs.length * (4 * 8 + 4)
  }

  #grow(): void {
    const slots = this.refs.length * 2
    const refs = new Float64Array(slots).fill(NO_REF)
    refs.set(this.refs)
    this.refs = refs
    this.validFrom = widen(this.validFrom, slots)
    this.validUntil = widen(this.validUntil, slots)
    this.tokenCounts = widen(this.tokenCounts, slots)
    const lengths = new Uint32Array(slots)
    lengths.set(this.lengths)
    this.lengths = lengths
  }
}

function widen(column: Float64Array, slots: number): Float64Array<ArrayBuffer> {
  const wider = new Float64Array(slots)
  wider.set(column)
  return wider
}
