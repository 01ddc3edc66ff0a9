// Which terms each slot has: what removing a fact needs to find every posting of it.
import { grown } from './grown.ts'
import { runClassOf, UintArena } from './uint-arena.ts'

export class SlotTerms {
  readonly #arena = new UintArena()
  #addresses = new Uint32Array(0)
  #counts = new Uint32Array(0)

  /** For a slot that has none: the first `count` of `termIds`. */
  set(slot: number, termIds: Uint32Array, count: number): void {
    if (count === 0) return
    this.#addresses = grown(this.#addresses, slot)
    this.#counts = grown(this.#counts, slot)
    const runClass = runClassOf(count)
    const address = this.#arena.take(runClass, count)
    const { array, start } = this.#arena.at(address, runClass)
    for (let at = 0; at < count; at++) array[start + at] = termIds[at] ?? 0
    this.#addresses[slot] = address
    this.#counts[slot] = count
  }

  /** The term ids of a slot, in no order; not to be written, nor used after the index changes. */
  of(slot: number): Uint32Array {
    const count = this.#counts[slot] ?? 0
    if (count === 0) return new Uint32Array(0)
    const { array, start } = this.#arena.at(this.#addresses[slot] ?? 0, runClassOf(count))
    return array.subarray(start, start + count)
  }

  /** The term ids of a slot, which it no longer has afterwards. */
  take(slot: number): Uint32Array {
    const count = this.#counts[slot] ?? 0
    if (count === 0) return new Uint32Array(0)
    const [address, runClass] = [this.#addresses[slot] ?? 0, runClassOf(count)]
    const { array, start } = this.#arena.at(address, runClass)
    const termIds = array.slice(start, start + count)
    this.#arena.give(address, runClass)
    this.#counts[slot] = 0
    return termIds
  }

  bytes(): number {
    return this.#arena.bytes() + this.#addresses.length * 8
  }
}
