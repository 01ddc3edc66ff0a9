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

/** The dimensions of a vector with which a few hundred slots take several blocks. */
const LONG = 500
const longVector = (seed: number): Int8Array =>
  Int8Array.from({ length: LONG }, (_, at) => ((seed + 1) * (at + 7)) % 127)

test('searches whose vectors are compared together get what each gets alone', () => {
  const slot = fc.constantFrom(0, 1, 130, 131, 299, 305)
  const change = fc.oneof(
    { weight: 4, arbitrary: fc.record({ set: slot, seed: fc.nat(100) }) },
    { weight: 2, arbitrary: fc.record({ clear: slot }) },
    { weight: 1, arbitrary: fc.constant('all' as const) },
  )
  const turn = fc.record({
    query: fc.nat(2),
    expected: fc.array(fc.nat(2), { maxLength: 2 }),
    changes: fc.array(change, { maxLength: 2 }),
    slots: fc.constantFrom(300, 320, 410),
  })
  const queries = [201, 202, 203].map(longVector)
  let together = 0
  fc.assert(
    fc.property(fc.array(turn, { minLength: 8, maxLength: 20 }), (turns) => {
      for (const column of columns()) {
        const out = new Int32Array(410).fill(7)
        for (const { query, expected, changes, slots } of turns) {
          const own = queries[query] ?? longVector(0)
          for (const one of expected) column.expect(queries[one] ?? own)
          together += expected.some((one) => one !== query) ? 1 : 0
          for (const one of changes)
            if (one === 'all') column.clearAll()
            else if ('set' in one) column.set(one.set, longVector(one.seed))
            else column.clear(one.clear)
          finish(column.denseScores(own, slots, out))
          const alone = Int32Array.from({ length: slots }, (_, at) => column.dot(at, own))
          assert.deepEqual(out.subarray(0, slots), alone)
        }
        column.clearAll()
      }
    }),
    { numRuns: 100 },
  )
  assert(together > 200)
})

test('what a search left or changed between its steps does not count for the next one', () => {
  const DIMENSIONS = 4_096
  const [first, second] = [1, 2].map((value) => new Int8Array(DIMENSIONS).fill(value))
  assert(first && second)
  // More vectors than a step compares.
  const [last, slots] = [2_060, 2_100]
  const expected = [2, 4, 2].map((one) => one * DIMENSIONS)
  for (const column of columns()) {
    for (const slot of [0, 5, last]) column.set(slot, first)
    const [mine, later] = [new Int32Array(slots), new Int32Array(slots)]
    const compareLater = () => {
      finish(column.denseScores(second, slots, later))
      assert.deepEqual([later[0], later[5], later[last]], expected)
    }
    column.expect(second)
    const changed = column.denseScores(first, slots, mine)
    changed.next()
    column.set(5, second)
    finish(changed)
    assert.equal(mine[last], DIMENSIONS)
    compareLater()
    column.expect(second)
    const left = column.denseScores(first, slots, mine)
    left.next()
    left.return()
    compareLater()
    column.expect(second)
    const [one, other] = [1, 2].map(() => column.denseScores(first, slots, new Int32Array(slots)))
    assert(one && other)
    one.next()
    other.next()
    finish(one)
    compareLater()
    other.return()
    column.clearAll()
  }
})

test('a query that waits while its space is left is not compared with vectors of the next', () => {
  const column = new VectorColumn()
  column.set(0, longVector(1))
  column.expect(longVector(2))
  column.clearAll()
  const short = new Int8Array(16).fill(3)
  column.set(0, short)
  const out = new Int32Array(1)
  finish(column.denseScores(short, 1, out))
  assert.equal(out[0], 16 * 9)
  column.clearAll()
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
