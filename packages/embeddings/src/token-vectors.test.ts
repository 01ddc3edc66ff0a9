// Sums of token vectors: the same with SIMD and without, and nothing of a text stays.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { makeTokenVectors, PlainTokenVectors, SimdTokenVectors } from './token-vectors.ts'

const DIMENSIONS = 32
const TOKENS = 50

// Numbers at their limits among others.
const factors = Uint8Array.from({ length: TOKENS }, (_, at) => [255, 0, 1, at * 7][at % 4] ?? 0)
const vectors = Int8Array.from(
  { length: TOKENS * DIMENSIONS },
  (_, at) => [-128, 127, -1, (at * 31) % 97][(at >> 2) % 4] ?? 0,
)

describe('sums with SIMD and without', () => {
  const [plain, simd] = [
    new PlainTokenVectors(DIMENSIONS, factors, vectors),
    new SimdTokenVectors(DIMENSIONS, factors, vectors),
  ]

  test('are the same for every text, also for one of more tokens than a call takes', () => {
    const token = fc.nat({ max: TOKENS - 1 })
    const texts = fc.oneof(fc.array(token), fc.array(token, { minLength: 250, maxLength: 900 }))
    fc.assert(
      fc.property(texts, (tokens) => {
        const sums = plain.withSum(tokens, (found) => Int32Array.from(found))
        assert.deepEqual(
          simd.withSum(tokens, (found) => Int32Array.from(found)),
          sums,
        )
      }),
    )
  })

  test('hold 65,536 times the largest product', () => {
    const tokens = Array.from({ length: 65_536 }, () => 0)
    for (const summed of [plain, simd])
      summed.withSum(tokens, (sums) => assert.equal(sums[0], 65_536 * 255 * -128))
  })

  test('are wiped after a text', () => {
    for (const summed of [plain, simd]) {
      const kept = summed.withSum([0, 2, 3], (sums) => sums)
      assert(kept.every((sum) => sum === 0))
    }
  })

  test('come from vectors that are those of the table', () => {
    for (const summed of [plain, simd])
      for (let token = 0; token < TOKENS; token++)
        assert.deepEqual(
          summed.vectorOf(token),
          vectors.slice(token * DIMENSIONS, (token + 1) * DIMENSIONS),
        )
  })
})

test('a number of dimensions that the module cannot add is added in plain code', () => {
  assert(makeTokenVectors(2, factors, vectors) instanceof PlainTokenVectors)
})
