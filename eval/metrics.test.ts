// Metrics against cases computed by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimate, hitAt, mean, percentile, recall, recallAt, reciprocalRank } from './metrics.ts'

const GOLD = ['a', 'b', 'c', 'd']
const RANKED = ['x', 'b', 'y', 'a', 'z', 'd']

test('recall is the share of the evidence that was found, at a depth or at all', () => {
  assert.equal(recall(GOLD, RANKED), 3 / 4)
  assert.equal(recall(GOLD, []), 0)
  assert.equal(recall(['a'], ['a', 'a']), 1)
  assert.equal(recallAt(GOLD, RANKED, 1), 0)
  assert.equal(recallAt(GOLD, RANKED, 2), 1 / 4)
  assert.equal(recallAt(GOLD, RANKED, 4), 2 / 4)
})

test('a hit is any of the evidence within the depth; the reciprocal rank is of the first', () => {
  assert.equal(hitAt(GOLD, RANKED, 1), 0)
  assert.equal(hitAt(GOLD, RANKED, 2), 1)
  assert.equal(reciprocalRank(GOLD, RANKED), 1 / 2)
  assert.equal(reciprocalRank(['d'], RANKED), 1 / 6)
  assert.equal(reciprocalRank(['c'], RANKED), 0)
})

test('a percentile is the nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at)
  assert.equal(percentile(values, 0.5), 50)
  assert.equal(percentile(values, 0.99), 99)
  assert.equal(percentile([7], 0.95), 7)
  assert.equal(percentile([1, 2], 0.51), 2)
})

test('an estimate has the mean, and the interval of the normal approximation within a hair', () => {
  // 400 answers of which 100 are right: the standard error is sqrt(.25 * .75 / 400) = .02165.
  const values = Array.from({ length: 400 }, (_, at) => (at < 100 ? 1 : 0))
  const { mean: middle, low, high } = estimate(values, { resamples: 2_000, seed: 1 })
  assert.equal(middle, 0.25)
  assert(Math.abs(low - (0.25 - 1.96 * 0.02165)) < 0.006, `${low}`)
  assert(Math.abs(high - (0.25 + 1.96 * 0.02165)) < 0.006, `${high}`)
})

test('an estimate is the same for the same seed, and exact where nothing varies', () => {
  const values = [0, 1, 1, 0, 1]
  const settings = { resamples: 200, seed: 9 }
  assert.deepEqual(estimate(values, settings), estimate(values, settings))
  assert.deepEqual(estimate([1, 1, 1], settings), { mean: 1, low: 1, high: 1 })
  assert.equal(mean(values), 0.6)
})
