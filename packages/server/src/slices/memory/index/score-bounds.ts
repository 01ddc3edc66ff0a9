// Bounds on the scores of one search, from one pass over all slots, which excludes most of them.

import type { ScorePasses } from './columns/score-passes.ts'
import { NO_SESSION } from './columns/slot-columns.ts'
import { overSlots, type Steps } from './columns/steps.ts'
import { TopK } from './columns/top-k.ts'
import type { Partition } from './partition.ts'

/** A share as a fraction of whole numbers. Chosen by measurement, see docs/decisions/0022. */
export interface Share {
  readonly numerator: number
  readonly denominator: number
}

/** Share of the best score in its session that a fact gets. */
export const SESSION: Share = { numerator: 3, denominator: 20 }

export const shareOf = (score: number, { numerator, denominator }: Share): number =>
  Math.floor((score * numerator) / denominator)

/** The sum of an invisible slot, and the best score of a session if none is known. */
export const HIDDEN = Number.NEGATIVE_INFINITY

/** Guessing the best slots pays off only if there are this many slots for each of them. */
const SLOTS_A_LIKELY = 64
/** Slots per call. Between calls the threshold for the likely best slots rises. */
const SLOTS_SUMMED = 512

/**
 * No score without message and session exceeds `factor` times the slot's sum, plus `perDotAround`
 * per unit of a neighbour's dot product, plus `rest`. The sum is of term scores plus `perDot` per
 * unit of the slot's own dot product.
 */
interface Factors {
  readonly perDot: number
  readonly factor: number
  readonly perDotAround: number
  readonly rest: number
}

/** Valid until the next search. Call `sumUp` before the other methods. */
export class ScoreBounds {
  /** The sum that bounds each score, by slot; HIDDEN if the slot is not visible. */
  readonly sums: Float64Array
  readonly #factors: Factors
  readonly #partition: Partition
  readonly #passes: ScorePasses
  readonly #sessions: Int32Array
  /** Upper bound of the session share, by session. */
  readonly #bonusMax: Float64Array
  #aroundMax = Infinity
  /** Facts put between two steps have slots from here on. */
  #used = 0

  constructor(partition: Partition, passes: ScorePasses, factors: Factors) {
    this.#factors = factors
    this.#partition = partition
    this.#passes = passes
    this.sums = passes.sums
    this.#sessions = partition.sessions.sessions
    this.#bonusMax = new Float64Array(partition.sessions.count)
  }

  /** Sets the bounds; returns the likely best `limit` slots, or none if slots are few. */
  *sumUp(visible: Uint8Array, limit: number): Steps<TopK> {
    const { refs, used } = this.#partition.columns
    const { sessionMaxima, sessions, selected, dotMax } = this.#passes
    const [passes, sums, { perDot }] = [this.#passes, this.sums, this.#factors]
    const isFew = limit * SLOTS_A_LIKELY > used
    const likely = new TopK(isFew ? 0 : limit)
    this.#used = used
    sessions.set(this.#sessions.subarray(0, used))
    sessionMaxima.fill(HIDDEN, 0, this.#bonusMax.length)
    dotMax[0] = 0
    yield* overSlots(used, (from, to) => {
      for (let start = from; start < to; start += SLOTS_SUMMED) {
        const lowest = likely.full ? likely.lowest : HIDDEN
        const least = isFew ? Infinity : lowest
        const range = [start, Math.min(to, start + SLOTS_SUMMED)] as const
        const count = passes.sum(range, { visible, perDot, least })
        for (let at = 0; at < count; at++) {
          const slot = selected[at] ?? 0
          likely.offer(sums[slot] ?? 0, refs[slot] ?? 0, slot)
        }
      }
    })
    this.#aroundMax = this.#factors.rest + this.#factors.perDotAround * (dotMax[0] ?? 0)
    for (const session of this.#bonusMax.keys()) {
      const most = this.aloneMax(sessionMaxima[session] ?? 0)
      this.#bonusMax[session] = shareOf(most, SESSION) + 1
    }
    return likely
  }

  /** Upper bound of a score without message and session, for any neighbour. */
  aloneMax(sum: number): number {
    return this.#factors.factor * sum + this.#aroundMax
  }

  /** The same bound for a neighbour with this dot product. */
  aloneBeside(sum: number, dot: number): number {
    return this.#factors.factor * sum + this.#factors.rest + this.#factors.perDotAround * dot
  }

  /** Upper bound of a slot's session share. @param aloneMax its score alone, or a bound on it */
  bonusMax(slot: number, aloneMax: number): number {
    const session = this.#sessions[slot] ?? NO_SESSION
    if (session === NO_SESSION) return shareOf(aloneMax, SESSION) + 1
    return this.#bonusMax[session] ?? 0
  }

  /**
   * Calls `act` with the visible slots that may reach `lowest`, or the best known score of their
   * session; `bests` has HIDDEN if none is known. Thresholds are one unit below the exact bounds,
   * which are computed with rounding.
   */
  *select(lowest: number, bests: Float64Array, act: (slot: number) => void): Steps<void> {
    const { leasts, selected } = this.#passes
    const sumFor = (score: number) => (score - this.#aroundMax) / this.#factors.factor - 1
    leasts[0] = sumFor((lowest - 1) / (1 + SESSION.numerator / SESSION.denominator))
    for (const [session, best] of bests.entries()) {
      const least = lowest - (this.#bonusMax[session] ?? 0)
      leasts[session + 1] = sumFor(best === HIDDEN ? least : Math.min(least, best))
    }
    yield* overSlots(this.#used, (from, to) => {
      const count = this.#passes.select(from, to)
      for (let at = 0; at < count; at++)
        if (this.sums[selected[at] ?? 0] !== HIDDEN) act(selected[at] ?? 0)
    })
  }
}
