// What a ranking and a packed answer are worth against the known evidence. Pure.

import { below, seededRandom } from './data/random.ts'

/** The share of `gold` among `found`; `gold` is not empty. */
export function recall(gold: readonly string[], found: readonly string[]): number {
  const seen = new Set(found)
  return gold.filter((key) => seen.has(key)).length / gold.length
}

export const recallAt = (gold: readonly string[], ranked: readonly string[], k: number): number =>
  recall(gold, ranked.slice(0, k))

/** 1 when any of `gold` is among the first `k`, else 0. */
export const hitAt = (gold: readonly string[], ranked: readonly string[], k: number): number =>
  ranked.slice(0, k).some((key) => gold.includes(key)) ? 1 : 0

/** One by the rank of the first of `gold`; 0 when none is ranked. */
export function reciprocalRank(gold: readonly string[], ranked: readonly string[]): number {
  const at = ranked.findIndex((key) => gold.includes(key))
  return at === -1 ? 0 : 1 / (at + 1)
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The smallest value that at least `share` of the values do not exceed (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** A mean with the interval that holds it in 95 of 100 resamples. */
export interface Estimate {
  readonly mean: number
  readonly low: number
  readonly high: number
}

export interface Bootstrap {
  readonly resamples: number
  readonly seed: number
}

/** Percentile bootstrap of the mean: values drawn again with replacement, as many as there are. */
export function estimate(values: readonly number[], { resamples, seed }: Bootstrap): Estimate {
  const random = seededRandom(seed)
  const means = Array.from({ length: resamples }, () => {
    let sum = 0
    for (let i = 0; i < values.length; i += 1) sum += values[below(random, values.length)] ?? 0
    return sum / values.length
  })
  return { mean: mean(values), low: percentile(means, 0.025), high: percentile(means, 0.975) }
}
