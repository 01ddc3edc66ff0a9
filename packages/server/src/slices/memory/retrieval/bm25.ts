// BM25 in fixed point: integer contributions sum to the same score in any order, on any machine.

/** One unit of BM25 score as an integer: 2^16. */
export const SCORE_UNIT = 0x10000

// Low on purpose: facts are short, so length and repetition say little about them.
const K1 = 0.9
const B = 0.4

/** What a term is worth by how few of the `facts` have it, in score units; always positive. */
export function inverseFrequency(facts: number, factsWithTerm: number): number {
  const odds = (facts - factsWithTerm + 0.5) / (factsWithTerm + 0.5)
  return Math.round(SCORE_UNIT * Math.log1p(odds))
}

/**
 * One term's contribution to one fact, an integer in score units. `relativeLength` is the fact's
 * length over the average length. Only basic IEEE operations, which round the same everywhere.
 */
export function contribution(weight: number, frequency: number, relativeLength: number): number {
  const saturation = frequency + K1 * (1 - B + B * relativeLength)
  return Math.round((weight * (frequency * (K1 + 1))) / saturation)
}

/** What a neighbour that has a term lends a fact that lacks it: half of its own contribution. */
export function lent(contributed: number): number {
  return Math.floor(contributed / 2)
}

/** Facts up to this length, and terms up to this often in one, have their contributions kept. */
const LENGTHS_KEPT = 256
const FREQUENCIES_KEPT = 4

/**
 * The contributions of one term after another to facts of one partition: a term comes to few
 * different ones, and each is computed once. What is returned is what `contribution` returns.
 */
export class Contributions {
  readonly #averageLength: number
  /** By frequency and length; of the term whose number stands in #stamps. */
  readonly #kept = keptContributions
  readonly #stamps = keptStamps
  #weight = 0

  constructor(averageLength: number) {
    this.#averageLength = averageLength
  }

  /** From here on for a term of this weight. */
  weigh(weight: number): void {
    this.#weight = weight
    stamp = stamp === 0xffffffff ? 1 : stamp + 1
    if (stamp === 1) this.#stamps.fill(0)
  }

  of(frequency: number, length: number): number {
    if (frequency > FREQUENCIES_KEPT || length >= LENGTHS_KEPT)
      return contribution(this.#weight, frequency, length / this.#averageLength)
    const place = (frequency - 1) * LENGTHS_KEPT + length
    if (this.#stamps[place] === stamp) return this.#kept[place] ?? 0
    const own = contribution(this.#weight, frequency, length / this.#averageLength)
    this.#stamps[place] = stamp
    this.#kept[place] = own
    return own
  }
}

// One set for the process: a search runs without a break.
const keptContributions = new Int32Array(FREQUENCIES_KEPT * LENGTHS_KEPT)
const keptStamps = new Uint32Array(FREQUENCIES_KEPT * LENGTHS_KEPT)
let stamp = 0
