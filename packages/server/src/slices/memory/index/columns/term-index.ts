// The inverted index of a partition: slots with frequencies by term, and terms by slot.

import type { PieceReader, PieceWriter } from './pieces.ts'
import { findRunClass, growArray, reserveArray, UintArena } from './typed-arrays.ts'

/** Shards keep maps small: growing copies a map, and a large copy blocks every request. */
const SHARDS = 16

/** Small integers for strings, reused once a string is deleted. */
export class StringIds {
  readonly #shards = Array.from({ length: SHARDS }, () => new Map<string, number>())
  readonly #strings: (string | undefined)[] = []
  readonly #free: number[] = []
  #units = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  find(text: string): number | undefined {
    return this.#shard(text).get(text)
  }

  /** Gives an id to a string that has none: the id freed last, or else a new one. */
  add(text: string): number {
    const id = this.#free.pop() ?? this.#strings.length
    const own = copyOf(text)
    this.#shard(own).set(own, id)
    this.#strings[id] = own
    this.#units += own.length
    this.#size++
    return id
  }

  delete(id: number): void {
    const text = this.#strings[id]
    if (text === undefined) return
    this.#shard(text).delete(text)
    this.#strings[id] = undefined
    this.#free.push(id)
    this.#units -= text.length
    this.#size--
  }

  /** The string with the id, if any. */
  at(id: number): string | undefined {
    return this.#strings[id]
  }

  /** A copy of the list of strings by id. */
  list(): (string | undefined)[] {
    return this.#strings.slice()
  }

  /** Adds a string with a given id. Both must be new, and ids must arrive in ascending order. */
  load(id: number, text: string): void {
    if (id < this.#strings.length) throw new RangeError('an id is loaded twice')
    while (this.#strings.length < id) {
      this.#free.push(this.#strings.length)
      this.#strings.push(undefined)
    }
    this.#shard(text).set(text, id)
    this.#strings.push(text)
    this.#units += text.length
    this.#size++
  }

  *strings(): Iterable<string> {
    for (const shard of this.#shards) yield* shard.keys()
  }

  /** Estimate: entries in a map and in the list, a string header, and the characters. */
  bytes(): number {
    return this.#size * 88 + this.#units
  }

  #shard(text: string): Map<string, number> {
    const mixed = text.length + text.charCodeAt(text.length - 1) * 5 + text.charCodeAt(0) * 3
    const shard = this.#shards[mixed & (SHARDS - 1)]
    if (shard === undefined) throw new Error('a string without a shard')
    return shard
  }
}

const WIDE = /[\u0100-\uffff]/

/** Copies a string, because a substring of a content may keep the whole content in memory. */
function copyOf(text: string): string {
  const encoding = WIDE.test(text) ? 'utf16le' : 'latin1'
  return Buffer.from(text, encoding).toString(encoding)
}

/** A posting is slot * 16 + frequency. The frequency FREQUENT means 15 or more. */
const FREQUENT = 15
const FREQUENCY_BITS = 4
/** Slots below 2^28 fit into a posting, and with the term's id into a key below 2^53. */
const SLOTS_MAX = 2 ** 28

/** The postings of one term, ascending by slot. Valid until the index changes. */
export interface Postings {
  readonly array: Uint32Array
  readonly start: number
  readonly size: number
  /** How often the term occurs in a slot whose posting says FREQUENT. */
  frequent(slot: number): number
}

export const readSlot = (posting: number): number => posting >>> FREQUENCY_BITS

/** The slots of the postings, ascending. */
export function* slotsOf(postings: Postings | undefined): Generator<number, void> {
  for (let at = 0; postings !== undefined && at < postings.size; at++)
    yield readSlot(postings.array[postings.start + at] ?? 0)
}

/** How often the term occurs in the slot of the posting. */
export function readFrequency(posting: number, postings: Postings): number {
  const frequency = posting & FREQUENT
  return frequency === FREQUENT ? postings.frequent(readSlot(posting)) : frequency
}

/** Terms and postings. A term is deleted with its last posting: an erasure leaves no word. */
export class TermIndex {
  readonly #ids = new StringIds()
  readonly #arena = new UintArena()
  /** Address, number and run class of the postings, by term id. */
  #addresses = new Uint32Array(0)
  #sizes = new Uint32Array(0)
  #classes = new Uint8Array(0)
  /** Frequencies of at least FREQUENT, by term and slot. */
  readonly #frequent = new Map<number, number>()

  /** Returns the id of a term, adding a new one. Stable until its last posting is removed. */
  addTerm(term: string): number {
    const known = this.#ids.find(term)
    if (known !== undefined) return known
    const id = this.#ids.add(term)
    this.#addresses = growArray(this.#addresses, id)
    this.#sizes = growArray(this.#sizes, id)
    this.#classes = growArray(this.#classes, id)
    const runClass = findRunClass(1)
    this.#addresses[id] = this.#arena.allocate(runClass, 1)
    this.#classes[id] = runClass
    return id
  }

  /** Adds a posting for a slot that has no posting of the term. */
  add(id: number, slot: number, frequency: number): void {
    if (slot >= SLOTS_MAX) throw new Error('more slots than a posting can name')
    const size = this.#sizes[id] ?? 0
    if (size === this.#arena.roomOf(this.#addresses[id] ?? 0, this.#classes[id] ?? 0))
      this.#move(id, size + 1)
    const { array, start } = this.#runOf(id)
    const end = start + size
    // Slots mostly arrive in ascending order; a reused slot is inserted at its place.
    const at = size > 0 && readSlot(array[end - 1] ?? 0) > slot ? this.#find(id, slot) : end
    if (at < end) array.copyWithin(at + 1, at, end)
    array[at] = (slot << FREQUENCY_BITS) | Math.min(frequency, FREQUENT)
    if (frequency >= FREQUENT) this.#frequent.set(postingKey(id, slot), frequency)
    this.#sizes[id] = size + 1
  }

  remove(id: number, slot: number): void {
    const size = this.#sizes[id] ?? 0
    const { array, start } = this.#runOf(id)
    const at = this.#find(id, slot)
    const end = start + size
    if (at >= end || readSlot(array[at] ?? 0) !== slot) return
    this.#frequent.delete(postingKey(id, slot))
    array.copyWithin(at, at + 1, end)
    array[end - 1] = 0
    this.#sizes[id] = size - 1
    if (size === 1) this.#delete(id)
  }

  find(term: string): Postings | undefined {
    const id = this.#ids.find(term)
    if (id === undefined) return undefined
    const size = this.#sizes[id] ?? 0
    const frequent = (slot: number): number => this.#frequent.get(postingKey(id, slot)) ?? FREQUENT
    return { ...this.#runOf(id), size, frequent }
  }

  /** The term with the id, if any. */
  termAt(id: number): string | undefined {
    return this.#ids.at(id)
  }

  /** The number of slots that have the term. */
  sizeAt(id: number): number {
    return this.#sizes[id] ?? 0
  }

  /** The slots of the postings, ascending. */
  *slotsAt(id: number): Iterable<number> {
    const { array, start } = this.#runOf(id)
    const size = this.sizeAt(id)
    for (let at = 0; at < size; at++) yield readSlot(array[start + at] ?? 0)
  }

  /** Every term with a posting, unordered. */
  terms(): Iterable<string> {
    return this.#ids.strings()
  }

  /**
   * Writes terms, with their postings of slots below `bound`, until the piece is full. Starts with
   * term `first` at its posting `from`. Returns where the next piece begins, or null at the end.
   */
  save(
    writer: PieceWriter,
    [first, from]: readonly [number, number],
    bound: number,
  ): [number, number] | null {
    const { length } = this.#addresses
    let done = from
    for (let id = first; id < length; id++, done = 0) {
      const text = this.#ids.at(id)
      const size = text === undefined ? 0 : this.#countBelow(id, bound)
      if (text === undefined || size === 0) continue
      for (; done < size; ) {
        if (writer.isFull) return [id, done]
        const count = Math.min(size - done, Math.max(1, writer.room >>> 2))
        for (const number of [id, size, done, count]) writer.number(number)
        if (done === 0) writer.text(text)
        this.#savePostings(writer, id, { done, count })
        done += count
      }
    }
    return null
  }

  load(reader: PieceReader): void {
    while (!reader.isAtEnd) {
      const [id, size] = [reader.number(), reader.number()]
      const [done, count] = [reader.number(), reader.number()]
      if (done === 0) this.#loadTerm(id, size, reader.text())
      const { array, start } = this.#runOf(id)
      if (done + count > (this.#sizes[id] ?? 0))
        throw new RangeError('more postings than a term has')
      reader.array(array, start + done, start + done + count)
      for (let frequents = reader.number(); frequents > 0; frequents--)
        this.#frequent.set(postingKey(id, reader.number()), reader.number())
    }
  }

  /** Estimated memory in bytes. */
  bytes(): number {
    if (this.#ids.size === 0) return 0
    const columns = this.#addresses.length * 9
    return this.#ids.bytes() + this.#arena.bytes() + columns + this.#frequent.size * 48
  }

  #countBelow(id: number, bound: number): number {
    const { array, start } = this.#runOf(id)
    const size = this.#sizes[id] ?? 0
    const isBelow = size === 0 || readSlot(array[start + size - 1] ?? 0) < bound
    return isBelow ? size : this.#find(id, bound) - start
  }

  #savePostings(writer: PieceWriter, id: number, part: { done: number; count: number }): void {
    const { array, start } = this.#runOf(id)
    const [from, to] = [start + part.done, start + part.done + part.count]
    writer.array(array, from, to)
    const frequents: number[] = []
    for (let at = from; at < to; at++) {
      const posting = array[at] ?? 0
      if ((posting & FREQUENT) !== FREQUENT) continue
      const slot = readSlot(posting)
      frequents.push(slot, this.#frequent.get(postingKey(id, slot)) ?? FREQUENT)
    }
    writer.number(frequents.length / 2)
    for (const number of frequents) writer.number(number)
  }

  #loadTerm(id: number, size: number, text: string): void {
    this.#ids.load(id, text)
    this.#addresses = growArray(this.#addresses, id)
    this.#sizes = growArray(this.#sizes, id)
    this.#classes = growArray(this.#classes, id)
    const runClass = findRunClass(size)
    this.#addresses[id] = this.#arena.allocate(runClass, size)
    this.#sizes[id] = size
    this.#classes[id] = runClass
  }

  #runOf(id: number) {
    return this.#arena.at(this.#addresses[id] ?? 0, this.#classes[id] ?? 0)
  }

  /** Moves the postings to a run with room for `size` postings. */
  #move(id: number, size: number): void {
    const [from, runClass] = [this.#addresses[id] ?? 0, findRunClass(size)]
    const { array, start } = this.#runOf(id)
    const to = this.#arena.allocate(runClass, size)
    const target = this.#arena.at(to, runClass)
    target.array.set(array.subarray(start, start + (this.#sizes[id] ?? 0)), target.start)
    this.#arena.free(from, this.#classes[id] ?? 0)
    this.#addresses[id] = to
    this.#classes[id] = runClass
  }

  /** The index, in the array of the term's run, of its first posting at or after `slot`. */
  #find(id: number, slot: number): number {
    const { array, start } = this.#runOf(id)
    let low = start
    let high = start + (this.#sizes[id] ?? 0)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (readSlot(array[middle] ?? 0) < slot) low = middle + 1
      else high = middle
    }
    return low
  }

  #delete(id: number): void {
    this.#arena.free(this.#addresses[id] ?? 0, this.#classes[id] ?? 0)
    this.#ids.delete(id)
  }
}

const postingKey = (id: number, slot: number): number => id * SLOTS_MAX + slot

/** The terms of each slot, which are needed to find the postings of a removed fact. */
export class SlotTerms {
  readonly #arena = new UintArena()
  #addresses = new Uint32Array(0)
  #counts = new Uint32Array(0)

  /** Stores the first `count` ids of `termIds` for a slot that has no terms yet. */
  set(slot: number, termIds: Uint32Array, count: number): void {
    if (count === 0) return
    this.#addresses = growArray(this.#addresses, slot)
    this.#counts = growArray(this.#counts, slot)
    const runClass = findRunClass(count)
    const address = this.#arena.allocate(runClass, count)
    const { array, start } = this.#arena.at(address, runClass)
    for (let at = 0; at < count; at++) array[start + at] = termIds[at] ?? 0
    this.#addresses[slot] = address
    this.#counts[slot] = count
  }

  /** The term ids of a slot, unordered: a view, valid until the index changes. */
  of(slot: number): Uint32Array {
    const count = this.#counts[slot] ?? 0
    if (count === 0) return new Uint32Array(0)
    const { array, start } = this.#arena.at(this.#addresses[slot] ?? 0, findRunClass(count))
    return array.subarray(start, start + count)
  }

  /** Removes and returns the term ids of a slot. */
  take(slot: number): Uint32Array {
    const count = this.#counts[slot] ?? 0
    if (count === 0) return new Uint32Array(0)
    const [address, runClass] = [this.#addresses[slot] ?? 0, findRunClass(count)]
    const { array, start } = this.#arena.at(address, runClass)
    const termIds = array.slice(start, start + count)
    this.#arena.free(address, runClass)
    this.#counts[slot] = 0
    return termIds
  }

  save(writer: PieceWriter, slot: number): void {
    const termIds = this.of(slot)
    writer.number(termIds.length)
    writer.array(termIds, 0, termIds.length)
  }

  reserve(slots: number): void {
    this.#addresses = reserveArray(this.#addresses, slots)
    this.#counts = reserveArray(this.#counts, slots)
  }

  load(reader: PieceReader, slot: number): void {
    const count = reader.number()
    if (count === 0) return
    const runClass = findRunClass(count)
    const address = this.#arena.allocate(runClass, count)
    const { array, start } = this.#arena.at(address, runClass)
    reader.array(array, start, start + count)
    this.#addresses[slot] = address
    this.#counts[slot] = count
  }

  bytes(): number {
    return this.#arena.bytes() + this.#addresses.length * 8
  }
}

/** Counts how often each term occurs in the fact being analysed. */
class TermCounts {
  /** The first `size` entries are the distinct term ids, in order of first occurrence. */
  ids = new Uint32Array(64)
  size = 0
  #counts = new Uint32Array(1_024)

  add(id: number): void {
    this.#counts = growArray(this.#counts, id)
    const count = this.#counts[id] ?? 0
    this.#counts[id] = count + 1
    if (count > 0) return
    this.ids = growArray(this.ids, this.size)
    this.ids[this.size++] = id
  }

  /** Counts a term unless it has a count already. */
  addOnce(id: number): void {
    if (this.of(id) === 0) this.add(id)
  }

  of(id: number): number {
    return this.#counts[id] ?? 0
  }

  /** Call this after each fact. */
  clear(): void {
    for (let at = 0; at < this.size; at++) this.#counts[this.ids[at] ?? 0] = 0
    this.size = 0
  }
}

const sharedCounts = new TermCounts()

/**
 * Returns empty counts. All facts use the same object: a fact is analysed synchronously, and
 * `clear` empties the object afterwards.
 */
export const takeTermCounts = (): TermCounts => sharedCounts
