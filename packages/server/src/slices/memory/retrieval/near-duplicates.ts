// Counts the facts that say nearly the same as another, by their words.
import type { Partition } from './partition.ts'

/** To be awaited between steps; it gives way to other requests when it is time. */
export type Pace = () => Promise<void> | undefined

/** Nine of ten words of both together. */
const ALIKE = { numerator: 9, denominator: 10 }
/** With fewer words nothing is that alike but what has the same. */
const SMALLEST = ALIKE.numerator
/** A word that more facts have is not looked through: it would cost more than it finds. */
const RARE_MAX = 256

export interface NearDuplicates {
  /** Facts valid at the time. */
  readonly facts: number
  readonly near_duplicates: number
  /** The counts hold for times from `from_us`, inclusive, to `until_us`, exclusive. */
  readonly from_us: number
  readonly until_us: number
}

/**
 * A fact counts if another one of its namespace, valid at the same time, has nearly the same
 * distinct words: the same ones, or at least nine tenths of the words of both (Jaccard). Words are
 * those a search goes by, metadata are none, and a fact without any is like no other. Exact, but
 * that two facts with not quite the same words are compared only where they share one of the rarest
 * words of the fact counted that at most 256 facts have. Depends on the set of facts alone;
 * what is written during the count may be seen or not.
 */
export async function countNearDuplicates(
  partitions: readonly Partition[],
  at_us: number,
  pace: Pace,
): Promise<NearDuplicates> {
  let sum: NearDuplicates = {
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
 * Working memory of at most 25 bytes a fact and 8 a word; ids and sums of ids, no word itself. It
 * gives way between any two comparisons: what one fact is compared with may be all the others.
 */
class PartitionCount {
  readonly #partition: Partition
  readonly #at_us: number
  readonly #pace: Pace
  /** Slots looked at: those that are there when the count begins. */
  readonly #slots: number
  /** By slot: distinct words of a valid fact, or 0. */
  readonly #sizes: Uint32Array
  readonly #sums: Uint32Array
  readonly #alike: Uint8Array
  /** One slot of each set of words, plus 1, open addressing by sum; empty once all are found. */
  #sets: Int32Array
  /** By slot: the slot it was last compared for, plus 1; empty until sets are found. */
  #comparedFor = new Uint32Array(0)
  /** By word id: the last mark set, so that marks need not be taken away. */
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

  async run(): Promise<NearDuplicates> {
    await this.#forEach((slot) => this.#findSame(slot))
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
      const turn = this.#pace()
      if (turn !== undefined) await turn
    }
  }

  /** Marks the slot, and one before it, if they have the same words. */
  async #findSame(slot: number): Promise<void> {
    if (!this.#isValid(slot)) return
    this.#facts++
    const words = this.#partition.wordsAt(slot)
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
      // Whoever writes the facts can make many sums the same.
      const turn = this.#pace()
      if (turn !== undefined) await turn
    }
    this.#sets[at] = slot + 1
  }

  /**
   * Nine tenths of both cannot be shared without nine tenths of the one: among its rarest words,
   * one more than a tenth of them, the other has at least one.
   */
  async #findClose(slot: number): Promise<void> {
    const size = this.#sizes[slot] ?? 0
    const least = Math.ceil((size * ALIKE.numerator) / ALIKE.denominator)
    if (this.#alike[slot] === 1 || size < SMALLEST) return
    const words = this.#partition.wordsAt(slot)
    this.#markAll(words)
    this.#comparedFor[slot] = slot + 1
    for (const word of this.#rarest(words, size - least + 1)) {
      // Copied: the index may change while others have their turn.
      for (const other of [...this.#partition.slotsWith(word)]) {
        if (this.#comparedFor[other] === slot + 1) continue
        this.#comparedFor[other] = slot + 1
        if (this.#isClose(size, other)) {
          this.#alike[slot] = 1
          return
        }
        const turn = this.#pace()
        if (turn !== undefined) await turn
      }
    }
  }

  /** The first `count` of the words by how few facts have them, but those that too many have. */
  #rarest(words: readonly number[], count: number): number[] {
    const byFacts: number[][] = []
    for (const word of words) {
      const facts = this.#partition.factsWith(word)
      if (facts > RARE_MAX) continue
      byFacts[facts] ??= []
      byFacts[facts].push(word)
    }
    return byFacts.flat().slice(0, count)
  }

  #isClose(size: number, other: number): boolean {
    const otherSize = this.#sizes[other] ?? 0
    const [fewer, more] = [Math.min(size, otherSize), Math.max(size, otherSize)]
    const { numerator, denominator } = ALIKE
    if (fewer * denominator < more * numerator) return false
    // Of the words of both so many are shared: n / d of a + b - s means s = n (a + b) / (n + d).
    const least = Math.ceil(((size + otherSize) * numerator) / (numerator + denominator))
    return this.#shares(other, least)
  }

  /** Notes until when the set of valid facts stays as it is. */
  #isValid(slot: number): boolean {
    const { validFrom, validUntil } = this.#partition.columns
    for (const turn of [validFrom[slot] ?? 0, validUntil[slot] ?? 0]) {
      if (turn > this.#at_us) this.#until_us = Math.min(this.#until_us, turn)
      else this.#from_us = Math.max(this.#from_us, turn)
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

  /** Whether the slot has `least` of the words marked last; looks no further than it must. */
  #shares(other: number, least: number): boolean {
    const terms = this.#partition.termsAt(other)
    let missing = least - terms.length
    for (let at = 0; at < terms.length && missing <= 0; at++)
      if (this.#marks[terms[at] ?? 0] !== this.#mark) missing++
    return missing <= 0
  }
}

/** The same for the same words in any order. */
function sumOf(words: readonly number[]): number {
  let sum = 0
  for (const word of words) {
    const mixed = Math.imul(word + 1, 0x9e3779b1)
    sum = (sum + Math.imul(mixed ^ (mixed >>> 15), 0x85ebca77)) >>> 0
  }
  return sum
}
