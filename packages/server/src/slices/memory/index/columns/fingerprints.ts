// Fingerprints of the content of each fact by slot, to find equal contents.

import { hash } from 'node:crypto'
import type { PieceReader, PieceWriter } from './pieces.ts'
import { growArray, reserveArray } from './typed-arrays.ts'

const FINGERPRINT_LENGTH = 4
const NONE = -1
const FIRST_BUCKETS = 16

/**
 * A keyed digest of a content: 128 bits as four 32-bit numbers. With a key that dies with the
 * process, what is left in memory reveals nothing about an erased content, and no writer can
 * prepare two contents that collide.
 */
export function computeFingerprint(content: string, key: Uint8Array): Uint32Array {
  const keyed = Buffer.allocUnsafeSlow(key.length + Buffer.byteLength(content))
  keyed.set(key)
  keyed.write(content, key.length, 'utf8')
  const digest = hash('sha256', keyed, 'buffer')
  // Wipes the copy of the content now, not at the next garbage collection.
  keyed.fill(0)
  return Uint32Array.from({ length: FINGERPRINT_LENGTH }, (_, at) => digest.readUInt32LE(at * 4))
}

/** Finds facts with the same content without keeping contents: a hash table of fingerprints. */
export class ContentFingerprints {
  #numbers = new Uint32Array(0)
  /** The next slot of the same bucket by slot, or NONE. */
  #next = new Int32Array(0)
  /** The first slot of each bucket, or NONE. */
  #buckets = new Int32Array(FIRST_BUCKETS).fill(NONE)
  /** Linear hashing: buckets are split one by one, from `base` buckets to twice as many. */
  #base = FIRST_BUCKETS
  #count = FIRST_BUCKETS
  #size = 0

  /** Adds the fingerprint of a slot that has none. */
  add(slot: number, fingerprint: Uint32Array): void {
    this.#numbers = growArray(this.#numbers, slot * FINGERPRINT_LENGTH + FINGERPRINT_LENGTH - 1)
    this.#next = growArray(this.#next, slot, NONE)
    this.#numbers.set(fingerprint, slot * FINGERPRINT_LENGTH)
    this.#size++
    if (this.#size > this.#count) this.#split()
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
  *find(fingerprint: Uint32Array): Iterable<number> {
    let slot = this.#buckets[this.#bucketOf(fingerprint[0] ?? 0)] ?? NONE
    for (; slot !== NONE; slot = this.#next[slot] ?? NONE) {
      if (this.#has(slot, fingerprint)) yield slot
    }
  }

  /** The returned function maps a slot to the first slot it was given with the same content. */
  compareContents(): (slot: number) => number {
    const firsts = new Map<number, number[]>()
    return (slot) => {
      const at = slot * FINGERPRINT_LENGTH
      // 53 bits find the candidates; all 128 bits decide.
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

  save(writer: PieceWriter, from: number, to: number): void {
    writer.array(this.#numbers, from * FINGERPRINT_LENGTH, to * FINGERPRINT_LENGTH)
  }

  reserve(slots: number): void {
    this.#numbers = reserveArray(this.#numbers, slots * FINGERPRINT_LENGTH)
    this.#next = reserveArray(this.#next, slots, NONE)
    this.#buckets = reserveArray(this.#buckets, slots, NONE)
    while (this.#count < slots) this.#split()
  }

  /** Reads fingerprints. Then `loadSlot` adds those of slots that hold a fact. */
  load(reader: PieceReader, from: number, to: number): void {
    reader.array(this.#numbers, from * FINGERPRINT_LENGTH, to * FINGERPRINT_LENGTH)
  }

  loadSlot(slot: number): void {
    this.#size++
    this.#link(slot)
  }

  bytes(): number {
    return (this.#numbers.length + this.#next.length + this.#buckets.length) * 4
  }

  #has(slot: number, fingerprint: Uint32Array): boolean {
    for (let at = 0; at < FINGERPRINT_LENGTH; at++) {
      if (this.#numbers[slot * FINGERPRINT_LENGTH + at] !== fingerprint[at]) return false
    }
    return true
  }

  #bucketOf(first: number): number {
    const bucket = first & (this.#base * 2 - 1)
    return bucket < this.#count ? bucket : bucket & (this.#base - 1)
  }

  #link(slot: number): void {
    const bucket = this.#bucketOf(this.#numbers[slot * FINGERPRINT_LENGTH] ?? 0)
    this.#next[slot] = this.#buckets[bucket] ?? NONE
    this.#buckets[bucket] = slot
  }

  /** Adds a bucket and redistributes the slots of the bucket that is split. */
  #split(): void {
    const from = this.#count - this.#base
    this.#buckets = growArray(this.#buckets, this.#count, NONE)
    this.#count++
    let slot = this.#buckets[from] ?? NONE
    this.#buckets[from] = NONE
    while (slot !== NONE) {
      const next = this.#next[slot] ?? NONE
      this.#link(slot)
      slot = next
    }
    if (this.#count === this.#base * 2) this.#base = this.#count
  }
}
