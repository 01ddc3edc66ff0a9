// Scores under attack, in a simulated world: what is held, and what is only reported.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkReputation } from './reputation-held.ts'
import { calibrationError, kendall, ranksOf, spearman } from './reputation-measures.ts'
import { measure, seedsOf } from './reputation-run.ts'
import { evidenceOf, reviewsOf, worldOf } from './reputation-world.ts'

test('Sybils move no score by more than 0.05, and ranks and calibration hold', (t) =>
  checkReputation(t, seedsOf(4)))

test('a seed gives one world, another seed another', () => {
  const crowd = { honest: 3, random: 1, inverted: 1, sybils: 30, trained: 1 }
  const made = (seed: number) => {
    const world = worldOf(seed)
    return { world, evidence: evidenceOf(world, reviewsOf(world, crowd, seed)) }
  }
  assert.deepEqual(made(1), made(1))
  assert.notDeepEqual(made(1), made(2))
  assert.deepEqual(
    measure('90 % Sybils', 'with caps', [3]),
    measure('90 % Sybils', 'with caps', [3]),
  )
})

test('the Sybils of the world never make a track record, the trained ones do', () => {
  const world = worldOf(5)
  const crowd = { honest: 0, random: 0, inverted: 0, sybils: 300, trained: 2 }
  const rows = evidenceOf(world, reviewsOf(world, crowd, 5)).flatMap(({ reviews }) => reviews)
  const of = (prefix: string) => rows.filter(({ reviewer }) => reviewer.startsWith(prefix))
  assert.ok(of('sybil').length > 300)
  assert.ok(of('sybil').every(({ observations }) => observations < 5))
  assert.ok(of('trained').length > 0)
  assert.ok(of('trained').every(({ observations }) => observations >= 5))
})

test('rank correlations and calibration are those of known examples', () => {
  const a = [0.1, 0.4, 0.4, 0.7, 0.9, 0.2, 0.4]
  const b = [0.2, 0.1, 0.5, 0.5, 0.8, 0.3, 0.9]
  assert.deepEqual(ranksOf(a), [1, 4, 4, 6, 7, 2, 4])
  // Computed by SciPy.
  assert.ok(Math.abs(spearman(a, b) - 0.5609681940050744) < 1e-12)
  assert.ok(Math.abs(kendall(a, b) - 0.47434164902525694) < 1e-12)
  assert.equal(spearman([1, 2, 3], [5, 6, 9]), 1)
  assert.equal(kendall([1, 2, 3], [9, 6, 5]), -1)
  assert.equal(calibrationError([0.25, 0.75], [0.25, 0.75]), 0)
  assert.ok(Math.abs(calibrationError([0.2, 0.21, 0.9, 0.91], [1, 0, 1, 1]) - 0.195) < 1e-12)
})
