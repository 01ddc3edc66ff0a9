// The plane: principal components that are the same bits in any order of the rows.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { leadingPairs, type Plane, principalPlane } from './plane.ts'

const now = () => undefined

const planeOf = (rows: readonly (readonly number[])[]): Promise<Plane> => {
  const dimensions = rows[0]?.length ?? 0
  return principalPlane({ rows: Int8Array.from(rows.flat()), count: rows.length, dimensions }, now)
}

/** Vectors of `dimensions` numbers, the same for the same seed. */
function someRows(count: number, dimensions: number, seed = 1): number[][] {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
  return Array.from({ length: count }, () =>
    Array.from({ length: dimensions }, (_, at) => Math.round((next() - 0.5) * 250) >> (at % 5)),
  )
}

describe('the plane of vectors', () => {
  test('is along the two directions in which they differ most', async () => {
    // 100 along the third axis, 50 along the first, nothing else.
    const rows = [
      [0, 7, 100],
      [0, 7, -100],
      [50, 7, 0],
      [-50, 7, 0],
    ]
    const { xs, ys, variance_explained } = await planeOf(rows)
    const unit = (value: number) => Math.round((value / 127) * 1e4) / 1e4
    assert.deepEqual([...xs], [unit(100), unit(-100), 0, 0])
    assert.deepEqual([...ys], [0, 0, unit(50), unit(-50)])
    assert.deepEqual(variance_explained, [0.8, 0.2])
  })

  test('turns each axis so that its largest part is positive', async () => {
    const rows = [
      [3, -90, 1],
      [-3, 90, 1],
      [0, 0, 20],
    ]
    const { xs } = await planeOf(rows)
    assert.ok((xs[0] ?? 0) < 0 && (xs[1] ?? 0) > 0, String(xs))
  })

  test('is the same on a rerun, and in any order of the rows, bit for bit', async () => {
    const table = fc.integer({ min: 3, max: 90 }).chain((count) =>
      fc.record({
        rows: fc.array(fc.array(fc.integer({ min: -127, max: 127 }), FIVE), {
          minLength: count,
          maxLength: count,
        }),
        order: fc.shuffledSubarray([...Array(count).keys()], { minLength: count }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(table, async ({ rows, order }) => {
        const [first, again] = [await planeOf(rows), await planeOf(rows)]
        assert.deepEqual(again, first)
        const turned = await planeOf(order.map((at) => rows[at] ?? []))
        assert.deepEqual(turned.variance_explained, first.variance_explained)
        for (const [at, from] of order.entries()) {
          assert.ok(Object.is(turned.xs[at], first.xs[from]))
          assert.ok(Object.is(turned.ys[at], first.ys[from]))
        }
      }),
      { numRuns: 60 },
    )
  })

  test('keeps its values: a change of any is a change of what clients have stored', async () => {
    const { xs, ys, variance_explained } = await planeOf(someRows(200, 64))
    assert.deepEqual([...xs.slice(0, 4)], PINNED.xs)
    assert.deepEqual([...ys.slice(0, 4)], PINNED.ys)
    assert.deepEqual(variance_explained, PINNED.variance_explained)
  })

  test('of vectors that do not differ, or along a line only, has zeros elsewhere', async () => {
    const same = await planeOf([
      [1, 2],
      [1, 2],
      [1, 2],
    ])
    assert.deepEqual([...same.xs, ...same.ys, ...same.variance_explained], Array(8).fill(0))
    const line = await planeOf([
      [10, 20],
      [20, 40],
      [30, 60],
    ])
    assert.deepEqual([...line.ys], [0, 0, 0])
    assert.deepEqual(line.variance_explained, [1, 0])
  })
})

const FIVE = { minLength: 5, maxLength: 5 }

const PINNED: { xs: number[]; ys: number[]; variance_explained: number[] } = {
  xs: [1.0887, 1.0157, 1.3497, 0.3367],
  ys: [0.9352, 1.0909, 0.6495, -0.1422],
  variance_explained: [0.0862, 0.0777],
}

test('leading pairs are eigenvectors, of the largest values', async () => {
  const size = 40
  const factors = someRows(60, size, 9)
  const matrix = new Float64Array(size * size)
  for (const row of factors)
    for (let i = 0; i < size; i += 1)
      for (let j = 0; j < size; j += 1)
        matrix[i * size + j] = (matrix[i * size + j] ?? 0) + (row[i] ?? 0) * (row[j] ?? 0)
  const [first, second] = await leadingPairs(matrix, size, 2, now)
  assert.ok(first && second && first.value > second.value)
  for (const { value, vector } of [first, second])
    for (let i = 0; i < size; i += 1) {
      let image = 0
      for (let j = 0; j < size; j += 1) image += (matrix[i * size + j] ?? 0) * (vector[j] ?? 0)
      assert.ok(Math.abs(image - value * (vector[i] ?? 0)) < 1e-8 * first.value)
    }
  // No unit vector gets more out of the matrix than the first one does.
  for (const row of someRows(50, size, 4)) {
    const norm = row.reduce((sum, part) => sum + part * part, 0)
    let quotient = 0
    for (let i = 0; i < size; i += 1)
      for (let j = 0; j < size; j += 1)
        quotient += ((row[i] ?? 0) * (matrix[i * size + j] ?? 0) * (row[j] ?? 0)) / norm
    assert.ok(quotient <= first.value)
  }
})
