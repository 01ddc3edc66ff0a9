// The numbers a partition keeps of each fact, one array per property, by slot.
import { grown } from './grown.ts'

/** Marks a slot that holds no fact. */
export const NO_REF = -1

export class SlotColumns {
  refs = new Float64Array(0)
  validFrom = new Float64Array(0)
  /** Infinity: open. */
  validUntil = new Float64Array(0)
  tokenCounts = new Uint32Array(0)
  /** Indexed terms of the content, repeats included. */
  lengths = new Uint32Array(0)
  /** Slots 0 to `used` - 1 hold or have held a fact. */
  used = 0
  readonly #free: number[] = []

  /** A slot that holds nothing, reused where one was freed. */
  take(): number {
    const slot = this.#free.pop() ?? this.used++
    if (slot < this.refs.length) return slot
    this.refs = grown(this.refs, slot, NO_REF)
    this.validFrom = grown(this.validFrom, slot)
    this.validUntil = grown(this.validUntil, slot)
    this.tokenCounts = grown(this.tokenCounts, slot)
    this.lengths = grown(this.lengths, slot)
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
    return this.refs.length * (3 * 8 + 2 * 4) + this.#free.length * 8
  }
}
