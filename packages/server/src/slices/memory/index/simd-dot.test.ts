// Dot products of all vectors at once: the same integers with SIMD, without it, and one by one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeDots, plainDots } from './simd-dot.ts'
import { VectorColumn } from './vector-column.ts'

const byte = fc.integer({ min: -128, max: 127 })

test('a machine of this kind has the SIMD module, and it is not the plain code', () => {
  assert.notEqual(makeDots(), plainDots)
})

test('every slot scores the sum of products, however long vectors are and whoever computes', () => {
  const simd = makeDots()
  const shape = fc
    .tuple(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 20 }))
    .chain(([dimensions, count]) => {
      const vector = fc.array(byte, { minLength: dimensions, maxLength: dimensions })
      const entry = fc.tuple(fc.nat(700), vector)
      return fc.tuple(vector, fc.array(entry, { minLength: count, maxLength: count }))
    })
  fc.assert(
    fc.property(shape, fc.nat(700), ([query, entries], cleared) => {
      const column = new VectorColumn()
      const model = new Map(entries)
      for (const [slot, vector] of entries) column.set(slot, Int8Array.from(vector))
      column.clear(cleared)
      model.delete(cleared)
      const expected = Int32Array.from({ length: 710 }, (_, slot) =>
        query.reduce((sum, value, at) => sum + value * (model.get(slot)?.[at] ?? 0), 0),
      )
      const packed = Int8Array.from(query)
      for (const dots of [simd, plainDots]) {
        const out = new Int32Array(710).fill(7)
        column.denseScores(packed, 710, out, dots)
        assert.deepEqual(out, expected)
      }
      const alone = expected.map((_, slot) => column.dot(slot, packed))
      assert.deepEqual(alone, expected)
    }),
    { numRuns: 150 },
  )
})

test('the extremes of 4,096 dimensions stay within 32 bits', () => {
  const column = new VectorColumn()
  const lowest = new Int8Array(4_096).fill(-128)
  column.set(0, lowest)
  const out = new Int32Array(1)
  for (const dots of [makeDots(), plainDots]) {
    column.denseScores(lowest, 1, out, dots)
    assert.equal(out[0], 4_096 * 128 * 128)
  }
})
