// Counts facts that have nearly the same words as another fact.

import { NO_REF } from './columns/slot-columns.ts'
import type { Partition } from './partition.ts'

/** Await this between steps; it yields to other requests from time to time. */
export type Pace = () => Promise<void> | undefined

/** Near duplicates share nine tenths of the words of both (Jaccard). */
const SIMILARITY = { numerator: 9, denominator: 10 }
/** With fewer words, only the same set of words reaches that similarity. */
const WORDS_MIN = SIMILARITY.numerator
/** Words that more facts have are not used to find candidates: too many facts to compare. */
const RARE_MAX = 256

export interface NearDuplicateCount {
  /** Number of facts valid at the time. */
  readonly facts: number
  readonly near_duplicates: number
  /** The counts are valid for times from `from_us`, inclusive, to `until_us`, exclusive. */
  readonly from_us: number
  readonly until_us: number
}

/**
 * Counts a fact if another fact of its namespace, valid at the same time, has the same distinct
 * words or shares at least nine tenths of the words of both (Jaccard). Words are indexed terms
 * without metadata; a fact without words has no duplicate. Exact, except that two facts with
 * different words are compared only if they share one of the rarest words of the counted fact, and
 * at most 256 facts have that word. Depends only on the set of facts; facts written during the
 * count may or may not be counted.
 */
export async function countNearDuplicates(
  partitions: readonly Partition[],
  at_us: number,
  pace: Pace,
): Promise<NearDuplicateCount> {
  let sum: NearDuplicateCount = {
    facts: 0,
    near_duplicates: 0,
    from_us: Number.NEGATIVE_INFINITY,
    until_us: Number.POSITIVE_INFINITY,
  }
  for (const partition of partitions) {
    const count = await new PartitionCount(partition, at_us, pace).run()
    sum = {
      facts: sum.facts + count.facts,
      near_duplicates: sum.near_duplicates + count.near_duplicates,
      from_us: Math.max(sum.from_us, count.from_us),
      until_us: Math.min(sum.until_us, count.until_us),
    }
  }
  return sum
}

/**
 * Uses at most 25 bytes per fact and 8 per word: ids and sums of ids, no words. Yields between any
 * two comparisons, because one fact may be compared with all others.
 */
class PartitionCount {
  readonly #partition: Partition
  readonly #at_us: number
  readonly #pace: Pace
  /** The slots that exist when the count begins. */
  readonly #slots: number
  /** Number of distinct words of a valid fact, or 0, by slot. */
  readonly #sizes: Uint32Array
  readonly #sums: Uint32Array
  readonly #alike: Uint8Array
  /**
   * Hash table of one slot, plus 1, for each set of words: open addressing by sum. Dropped after
   * the first pass.
   */
  #sets: Int32Array
  /** The slot each slot was last compared with, plus 1. Empty during the first pass. */
  #comparedFor = new Uint32Array(0)
  /** The last mark set on each word id; older marks need not be cleared. */
  #marks = new Uint32Array(1_024)
  #mark = 0
  #facts = 0
  #from_us = Number.NEGATIVE_INFINITY
  #until_us = Number.POSITIVE_INFINITY

  constructor(partition: Partition, at_us: number, pace: Pace) {
    partition.analysePending()
    const { used } = partition.columns
    this.#partition = partition
    this.#at_us = at_us
    this.#pace = pace
    this.#slots = used
    this.#sizes = new Uint32Array(used)
    this.#sums = new Uint32Array(used)
    this.#alike = new Uint8Array(used)
    this.#sets = new Int32Array(2 ** Math.ceil(Math.log2(used * 2 + 1)))
  }

  async run(): Promise<NearDuplicateCount> {
    await this.#forEach((slot) => this.#findEqual(slot))
    this.#sets = new Int32Array(0)
    this.#comparedFor = new Uint32Array(this.#slots)
    await this.#forEach((slot) => this.#findClose(slot))
    let near_duplicates = 0
    for (const alike of this.#alike) near_duplicates += alike
    const [from_us, until_us] = [this.#from_us, this.#until_us]
    return { facts: this.#facts, near_duplicates, from_us, until_us }
  }

  async #forEach(act: (slot: number) => Promise<void>): Promise<void> {
    for (let slot = 0; slot < this.#slots; slot++) {
      await act(slot)
      const pause = this.#pace()
      if (pause !== undefined) await pause
    }
  }

  /** Flags the slot and an earlier slot if both have the same words. */
  async #findEqual(slot: number): Promise<void> {
    if (!this.#isValid(slot)) return
    this.#facts++
    const words = this.#partition.listWords(slot)
    if (words.length === 0) return
    const sum = sumOf(words)
    this.#sizes[slot] = words.length
    this.#sums[slot] = sum
    this.#markAll(words)
    const last = this.#sets.length - 1
    let at = sum & last
    for (; this.#sets[at] !== 0; at = (at + 1) & last) {
      const other = (this.#sets[at] ?? 0) - 1
      if (this.#sums[other] !== sum || this.#sizes[other] !== words.length) continue
      if (this.#shares(other, words.length)) {
        this.#alike[slot] = 1
        this.#alike[other] = 1
        return
      }
      // A writer of facts can make many sums equal.
      const pause = this.#pace()
      if (pause !== undefined) await pause
    }
    this.#sets[at] = slot + 1
  }

  /**
   * Sharing nine tenths of the words of both implies sharing nine tenths of this fact's words. So
   * the other fact has at least one of its rarest words, if these are one more than a tenth of its
   * words.
   */
  async #findClose(slot: number): Promise<void> {
    const size = this.#sizes[slot] ?? 0
    const least = Math.ceil((size * SIMILARITY.numerator) / SIMILARITY.denominator)
    if (this.#alike[slot] === 1 || size < WORDS_MIN) return
    const words = this.#partition.listWords(slot)
    this.#markAll(words)
    this.#comparedFor[slot] = slot + 1
    for (const word of this.#rarest(words, size - least + 1)) {
      // Iterates over a copy: the index may change while this count yields.
      for (const other of [...this.#partition.listSlotsWith(word)]) {
        if (this.#comparedFor[other] === slot + 1) continue
        this.#comparedFor[other] = slot + 1
        if (this.#isClose(size, other)) {
          this.#alike[slot] = 1
          return
        }
        const pause = this.#pace()
        if (pause !== undefined) await pause
      }
    }
  }

  /** The `count` rarest words, except those that more than RARE_MAX facts have. */
  #rarest(words: readonly number[], count: number): number[] {
    const byFacts: number[][] = []
    for (const word of words) {
      const facts = this.#partition.countFactsWith(word)
      if (facts > RARE_MAX) continue
      byFacts[facts] ??= []
      byFacts[facts].push(word)
    }
    return byFacts.flat().slice(0, count)
  }

  #isClose(size: number, other: number): boolean {
    const otherSize = this.#sizes[other] ?? 0
    const [fewer, more] = [Math.min(size, otherSize), Math.max(size, otherSize)]
    const { numerator, denominator } = SIMILARITY
    if (fewer * denominator < more * numerator) return false
    // s shared words are n / d of the a + b - s words of both when s = n (a + b) / (n + d).
    const least = Math.ceil(((size + otherSize) * numerator) / (numerator + denominator))
    return this.#shares(other, least)
  }

  /** Whether the fact is valid; also narrows the times with the same set of valid facts. */
  #isValid(slot: number): boolean {
    // An empty slot has no times.
    if (this.#partition.columns.refs[slot] === NO_REF) return false
    const from = this.#partition.columns.validFrom[slot] ?? 0
    for (const moment of [from, this.#partition.findEnd(slot)]) {
      if (moment > this.#at_us) this.#until_us = Math.min(this.#until_us, moment)
      else this.#from_us = Math.max(this.#from_us, moment)
    }
    return this.#partition.isValidAt(slot, this.#at_us)
  }

  #markAll(words: readonly number[]): void {
    this.#mark++
    for (const word of words) {
      if (word >= this.#marks.length) {
        const wider = new Uint32Array(Math.max(word + 1, this.#marks.length * 2))
        wider.set(this.#marks)
        this.#marks = wider
      }
      this.#marks[word] = this.#mark
    }
  }

  /** Whether the slot has `least` of the marked words; stops as soon as the answer is known. */
  #shares(other: number, least: number): boolean {
    const terms = this.#partition.listTerms(other)
    let missing = least - terms.length
    for (let at = 0; at < terms.length && missing <= 0; at++)
      if (this.#marks[terms[at] ?? 0] !== this.#mark) missing++
    return missing <= 0
  }
}

/** An order-independent sum of word ids. */
function sumOf(words: readonly number[]): number {
  let sum = 0
  for (const word of words) {
    const mixed = Math.imul(word + 1, 0x9e3779b1)
    sum = (sum + Math.imul(mixed ^ (mixed >>> 15), 0x85ebca77)) >>> 0
  }
  return sum
}
