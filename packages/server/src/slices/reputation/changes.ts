// Collects the changes of a unit of work to the aggregates, then writes them row by row.

import type { Tx } from '../../platform/db/tenant-db.ts'
import { mapInChunks, yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import {
  type Effect,
  isScored,
  type Judgment,
  type Review,
  resolves,
  squaredError,
  weighs,
} from './evidence.ts'
import {
  type AgentChange,
  addToAgent,
  addToLiveReviews,
  deleteEmptyLiveReviews,
  listReviewers,
  setReviewerRecord,
} from './rows/aggregates.sql.ts'

const UNIT_E12 = 1_000_000_000_000n

/**
 * Sums of changes; what adds up to nothing is not written. The sign `1` adds what is there, `-1`
 * takes it away.
 */
export class Changes {
  readonly #agents = new Map<number, Omit<AgentChange, 'agent_no'>>()
  readonly #live = new Map<string, Parameters<typeof addToLiveReviews>[1]>()
  readonly #records = new Map<number, { observations: number; error_e12: bigint }>()

  /** A judgment, under the known outcome of its referent. */
  judgment(judgment: Judgment, effect: Effect, sign: 1 | -1): void {
    if (!isScored(judgment)) return
    const change = this.#agent(judgment.agent_no)
    if (effect === 'success') change.n_success += sign
    else if (effect === 'failure') change.n_failure += sign
    else change.n_pending += sign
    if (effect === 'unscored') change.n_unscored += sign
  }

  /** A review and a judgment of the same referent. */
  pair(
    review: Review,
    judgment: Judgment,
    { effect, sign }: { effect: Effect; sign: 1 | -1 },
  ): void {
    if (resolves(effect) || !weighs(review, judgment)) return
    const { agent_no } = judgment
    const { reviewer_no, rating_e6 } = review
    const key = `${agent_no} ${reviewer_no}`
    let change = this.#live.get(key)
    if (!change) {
      change = { agent_no, reviewer_no, count: 0, rating_sum_e6: 0 }
      this.#live.set(key, change)
    }
    change.count += sign
    change.rating_sum_e6 += sign * rating_e6
  }

  /** A review, under the outcome of its referent. */
  observation({ reviewer_no, rating_e6 }: Review, effect: Effect, sign: 1 | -1): void {
    if (!resolves(effect)) return
    let change = this.#records.get(reviewer_no)
    if (!change) {
      change = { observations: 0, error_e12: 0n }
      this.#records.set(reviewer_no, change)
    }
    change.observations += sign
    change.error_e12 += BigInt(sign) * squaredError(rating_e6, effect)
  }

  async write(tx: Tx, pace = yieldBetweenChunks()): Promise<void> {
    for (const [agent_no, change] of this.#agents)
      if (Object.values(change).some((by) => by !== 0))
        tx.needs(addToAgent(tx, { agent_no, ...change }))
    const live = [...this.#live.values()].filter(
      ({ count, rating_sum_e6 }) => count !== 0 || rating_sum_e6 !== 0,
    )
    await mapInChunks(live, (change) => tx.needs(addToLiveReviews(tx, change)), pace)
    const fewer = live.filter(({ count }) => count < 0)
    await mapInChunks(fewer, (change) => tx.needs(deleteEmptyLiveReviews(tx, change)), pace)
    await this.#writeRecords(tx, pace)
  }

  #agent(agent_no: number): Omit<AgentChange, 'agent_no'> {
    let change = this.#agents.get(agent_no)
    if (!change) {
      change = { n_success: 0, n_failure: 0, n_pending: 0, n_unscored: 0 }
      this.#agents.set(agent_no, change)
    }
    return change
  }

  // Reads and then writes, because a sum of squared errors may exceed the numbers of SQL drivers.
  async #writeRecords(tx: Tx, pace: () => Promise<void> | undefined): Promise<void> {
    const changed = [...this.#records].filter(
      ([, { observations, error_e12 }]) => observations !== 0 || error_e12 !== 0n,
    )
    if (changed.length === 0) return
    const rows = await listReviewers(
      tx,
      changed.map(([reviewer_no]) => reviewer_no),
    )
    const known = new Map(rows.map((row) => [row.reviewer_no, row]))
    for (const [reviewer_no, by] of changed) {
      await pace()
      const row = known.get(reviewer_no)
      if (!row) throw new Error('a review has no reviewer')
      const error_e12 = errorOf(row) + by.error_e12
      const observations = row.observations + by.observations
      tx.needs(setReviewerRecord(tx, { reviewer_no, observations, ...partsOf(error_e12) }))
    }
  }
}

/** The sum of squared errors of a row. */
export const errorOf = (row: { error_ones: number; error_parts: number }): bigint =>
  BigInt(row.error_ones) * UNIT_E12 + BigInt(row.error_parts)

const partsOf = (error_e12: bigint) => ({
  error_ones: Number(error_e12 / UNIT_E12),
  error_parts: Number(error_e12 % UNIT_E12),
})
