// Dot products are the same integers with SIMD, without it, and one by one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { finish } from './steps.ts'
import { allocateBlock, freeBlock, type VectorBlock, VectorColumn } from './vector-column.ts'

const byte = fc.integer({ min: -128, max: 127 })
const queried = fc.integer({ min: -127, max: 127 })

/** As on a machine without SIMD. */
const allocatePlain = (bytes: number): VectorBlock => ({ bytes: new Int8Array(bytes), place: null })
const columns = () => [new VectorColumn(), new VectorColumn(allocatePlain)]

test('this machine runs the SIMD module, not the plain code', () => {
  const block = allocateBlock(1)
  assert.notEqual(block.place, null)
  freeBlock(block)
})

test('every slot gets the sum of products, for any length, with SIMD and without', () => {
  const shape = fc
    .tuple(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 20 }))
    .chain(([dimensions, count]) => {
      const vector = fc.array(byte, { minLength: dimensions, maxLength: dimensions })
      const query = fc.array(queried, { minLength: dimensions, maxLength: dimensions })
      const entry = fc.tuple(fc.nat(700), vector)
      return fc.tuple(query, fc.array(entry, { minLength: count, maxLength: count }))
    })
  fc.assert(
    fc.property(shape, fc.nat(700), ([query, entries], cleared) => {
      const model = new Map(entries)
      model.delete(cleared)
      const expected = Int32Array.from({ length: 710 }, (_, slot) =>
        query.reduce((sum, value, at) => sum + value * (model.get(slot)?.[at] ?? 0), 0),
      )
      const packed = Int8Array.from(query)
      for (const column of columns()) {
        for (const [slot, vector] of entries) column.set(slot, Int8Array.from(vector))
        column.clear(cleared)
        const out = new Int32Array(710).fill(7)
        finish(column.denseScores(packed, 710, out))
        assert.deepEqual(out, expected)
        const alone = expected.map((_, slot) => column.dot(slot, packed))
        assert.deepEqual(alone, expected)
        column.clearAll()
      }
    }),
    { numRuns: 150 },
  )
})

test('the extremes of 4,096 dimensions stay within 32 bits', () => {
  const lowest = new Int8Array(4_096).fill(-128)
  const out = new Int32Array(1)
  for (const column of columns())
    for (const extreme of [-127, 127]) {
      column.set(0, lowest)
      finish(column.denseScores(new Int8Array(4_096).fill(extreme), 1, out))
      assert.equal(out[0], 4_096 * -128 * extreme)
    }
})

test('blocks in use never overlap, and a freed one is zeros wherever it is used again', () => {
  const sizes = fc.constantFrom(4_096, 5_000, 16_384, 65_536)
  const step = fc.oneof(fc.record({ allocate: sizes }), fc.record({ free: fc.nat(40) }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const held: { block: VectorBlock; mark: number }[] = []
      for (const [at, one] of steps.entries()) {
        if ('allocate' in one) {
          const block = allocateBlock(one.allocate)
          assert(block.bytes.length >= one.allocate)
          assert(block.bytes.every((byte) => byte === 0))
          held.push({ block, mark: (at % 100) + 1 })
          block.bytes.fill((at % 100) + 1)
        } else for (const { block } of held.splice(one.free, 1)) freeBlock(block)
      }
      for (const { block, mark } of held) assert(block.bytes.every((byte) => byte === mark))
      for (const { block } of held) freeBlock(block)
    }),
    { numRuns: 60 },
  )
})
