// Quantiles of the beta distribution: against reference values, and as the inverse of the function.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readVector } from '../testing/fixtures.ts'
import { betaCdf, betaQuantile } from './beta.ts'

type Row = { alpha: number; beta: number; lower: string }

test('the 5 % quantiles are those of a computation with forty digits', () => {
  const { lower } = readVector<{ lower: Row[] }>('reputation-lower.json')
  assert.equal(lower.length, 18)
  for (const row of lower) {
    const [found, expected] = [betaQuantile(0.05, row.alpha, row.beta), Number(row.lower)]
    const error = Math.abs(found - expected) / expected
    assert.ok(error < 1e-13, `${row.alpha}, ${row.beta}: ${found} for ${expected}`)
  }
})

const shape = fc.double({ min: 1, max: 1e6, noNaN: true })
const probability = fc.double({ min: 0.001, max: 0.999, noNaN: true })

test('the quantile is inside (0, 1) and the probability below it is the one asked for', () => {
  fc.assert(
    fc.property(probability, shape, shape, (p, a, b) => {
      const x = betaQuantile(p, a, b)
      assert.ok(x > 0 && x < 1)
      assert.ok(Math.abs(betaCdf(x, a, b) - p) < 1e-7)
    }),
  )
})

test('more successes never lower the quantile, more failures never raise it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 500 }), (s, f) => {
      const here = betaQuantile(0.05, 1 + s, 1 + f)
      assert.ok(betaQuantile(0.05, 2 + s, 1 + f) > here)
      assert.ok(betaQuantile(0.05, 1 + s, 2 + f) < here)
    }),
  )
})

test('closed forms: beta(1, 1) is uniform, and all of a variable lies within (0, 1)', () => {
  for (const p of [0.01, 0.05, 0.5, 0.99]) assert.ok(Math.abs(betaQuantile(p, 1, 1) - p) < 1e-14)
  assert.equal(betaCdf(0, 2, 3), 0)
  assert.equal(betaCdf(1, 2, 3), 1)
  assert.ok(Math.abs(betaCdf(0.25, 3, 1) - 0.25 ** 3) < 1e-16)
  assert.ok(Math.abs(betaCdf(0.75, 1, 3) - (1 - 0.25 ** 3)) < 1e-15)
})
