// The inverted index of a partition: for each term the slots that have it, and how often.
import { grown } from './grown.ts'
import { StringIds } from './string-ids.ts'
import { runClassOf, UintArena } from './uint-arena.ts'

/** A posting is slot * 16 + frequency; this frequency stands for itself and all above. */
const FREQUENT = 15
const FREQUENCY_BITS = 4
/** Slots below 2^28 fit into a posting; with the term's id they make a key below 2^53. */
const SLOTS_MAX = 2 ** 28

/** The postings of one term, ascending by slot. To be used before the index changes. */
export interface Postings {
  readonly array: Uint32Array
  readonly start: number
  readonly size: number
  /** How often the term occurs where `frequencyIn` says FREQUENT: by slot. */
  frequent(slot: number): number
}

export const slotIn = (posting: number): number => posting >>> FREQUENCY_BITS

/** How often the term occurs, up to `frequency` of the postings; see `frequencyOf`. */
export function frequencyIn(posting: number, postings: Postings): number {
  const frequency = posting & FREQUENT
  return frequency === FREQUENT ? postings.frequent(slotIn(posting)) : frequency
}

/** Terms and their postings. A term without postings does not exist: erasing leaves no word. */
export class TermIndex {
  readonly #ids = new StringIds()
  readonly #arena = new UintArena()
  /** By term id: where the postings are, how many, and in what class of run. */
  #addresses = new Uint32Array(0)
  #sizes = new Uint32Array(0)
  #classes = new Uint8Array(0)
  /** Frequencies of FREQUENT and more, by term and slot. */
  readonly #frequent = new Map<number, number>()

  /** The id of a term, stable until its last posting goes; one that is new has no posting yet. */
  idOf(term: string): number {
    const known = this.#ids.find(term)
    if (known !== undefined) return known
    const id = this.#ids.add(term)
    this.#addresses = grown(this.#addresses, id)
    this.#sizes = grown(this.#sizes, id)
    this.#classes = grown(this.#classes, id)
    const runClass = runClassOf(1)
    this.#addresses[id] = this.#arena.take(runClass, 1)
    this.#classes[id] = runClass
    return id
  }

  /** Records that `slot` has the term, which it did not before. */
  add(id: number, slot: number, frequency: number): void {
    if (slot >= SLOTS_MAX) throw new Error('more slots than a posting can name')
    const size = this.#sizes[id] ?? 0
    if (size === this.#arena.roomOf(this.#addresses[id] ?? 0, this.#classes[id] ?? 0))
      this.#move(id, size + 1)
    const { array, start } = this.#runOf(id)
    const end = start + size
    // Slots mostly arrive ascending; a reused one goes to its place.
    const at = size > 0 && slotIn(array[end - 1] ?? 0) > slot ? this.#find(id, slot) : end
    if (at < end) array.copyWithin(at + 1, at, end)
    array[at] = (slot << FREQUENCY_BITS) | Math.min(frequency, FREQUENT)
    if (frequency >= FREQUENT) this.#frequent.set(keyOf(id, slot), frequency)
    this.#sizes[id] = size + 1
  }

  remove(id: number, slot: number): void {
    const size = this.#sizes[id] ?? 0
    const { array, start } = this.#runOf(id)
    const at = this.#find(id, slot)
    const end = start + size
    if (at >= end || slotIn(array[at] ?? 0) !== slot) return
    this.#frequent.delete(keyOf(id, slot))
    array.copyWithin(at, at + 1, end)
    array[end - 1] = 0
    this.#sizes[id] = size - 1
    if (size === 1) this.#delete(id)
  }

  find(term: string): Postings | undefined {
    const id = this.#ids.find(term)
    if (id === undefined) return undefined
    const size = this.#sizes[id] ?? 0
    const frequent = (slot: number): number => this.#frequent.get(keyOf(id, slot)) ?? FREQUENT
    return { ...this.#runOf(id), size, frequent }
  }

  /** The term that has the id now, if any. */
  termAt(id: number): string | undefined {
    return this.#ids.at(id)
  }

  /** How many slots have the term of an id. */
  sizeAt(id: number): number {
    return this.#sizes[id] ?? 0
  }

  /** The slots that have the term of an id, ascending. */
  *slotsAt(id: number): Iterable<number> {
    const { array, start } = this.#runOf(id)
    const size = this.sizeAt(id)
    for (let at = 0; at < size; at++) yield slotIn(array[start + at] ?? 0)
  }

  /** Every term with a posting, in no particular order. */
  terms(): Iterable<string> {
    return this.#ids.strings()
  }

  /** An estimate of the memory held. */
  bytes(): number {
    if (this.#ids.size === 0) return 0
    const columns = this.#addresses.length * 9
    return this.#ids.bytes() + this.#arena.bytes() + columns + this.#frequent.size * 48
  }

  #runOf(id: number) {
    return this.#arena.at(this.#addresses[id] ?? 0, this.#classes[id] ?? 0)
  }

  /** To a run with room for `size` postings; the old one is left empty. */
  #move(id: number, size: number): void {
    const [from, runClass] = [this.#addresses[id] ?? 0, runClassOf(size)]
    const { array, start } = this.#runOf(id)
    const to = this.#arena.take(runClass, size)
    const target = this.#arena.at(to, runClass)
    target.array.set(array.subarray(start, start + (this.#sizes[id] ?? 0)), target.start)
    this.#arena.give(from, this.#classes[id] ?? 0)
    this.#addresses[id] = to
    this.#classes[id] = runClass
  }

  /** Where the first posting of a slot not below `slot` is in the term's array. */
  #find(id: number, slot: number): number {
    const { array, start } = this.#runOf(id)
    let low = start
    let high = start + (this.#sizes[id] ?? 0)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (slotIn(array[middle] ?? 0) < slot) low = middle + 1
      else high = middle
    }
    return low
  }

  #delete(id: number): void {
    this.#arena.give(this.#addresses[id] ?? 0, this.#classes[id] ?? 0)
    this.#ids.delete(id)
  }
}

const keyOf = (id: number, slot: number): number => id * SLOTS_MAX + slot
