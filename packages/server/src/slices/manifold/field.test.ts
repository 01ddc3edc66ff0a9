// The field of outcomes: what evidence says where it is, and nothing where there is none.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { outcomeField, RESOLUTION, type ResolvedPoint } from './field.ts'

const now = () => undefined

/** Points in a ring, and one far away. */
const RING = Array.from({ length: 8 }, (_, at) => ({
  x: Math.round(Math.cos((at * Math.PI) / 4) * 1e3) / 1e4,
  y: Math.round(Math.sin((at * Math.PI) / 4) * 1e3) / 1e4,
}))
const FAR = { x: 3, y: 3 }

const judged = (paid: boolean): ResolvedPoint[] => RING.map((place) => ({ ...place, paid }))

describe('the field of outcomes', () => {
  test('without a resolved outcome is 0.5 with no support, everywhere', async () => {
    const { grid, support, resolution } = await outcomeField([...RING, FAR], [], now)
    assert.equal(resolution, 40)
    assert.deepEqual([grid.length, grid[0]?.length, support.length], [40, 40, 40])
    assert.ok(grid.flat().every((value) => value === 0.5))
    assert.ok(support.flat().every((value) => value === 0))
  })

  test('lies above 0.5 near what was paid and below it near defaults', async () => {
    const points = [...RING, FAR]
    const paid = (await outcomeField(points, judged(true), now)).grid
    const failed = (await outcomeField(points, judged(false), now)).grid
    assert.ok((paid[1]?.[1] ?? 0) > 0.8)
    assert.ok((failed[1]?.[1] ?? 1) < 0.2)
    assert.ok(paid.flat().every((value) => value >= 0.5))
    assert.ok(failed.flat().every((value) => value <= 0.5))
  })

  test('knows most where the outcomes are, and nothing far from them', async () => {
    const { grid, support } = await outcomeField([...RING, FAR], judged(true), now)
    const last = RESOLUTION - 1
    assert.ok((support[3]?.[3] ?? 0) > (support[8]?.[8] ?? 0))
    assert.ok((support[8]?.[8] ?? 0) > (support[last]?.[last] ?? 0))
    assert.equal(support[last]?.[last], 0)
    assert.equal(grid[last]?.[last], 0.5)
  })

  test('is the Beta(1, 1) mean under the kernel, rows by y and columns by x', async () => {
    const points = [
      { x: 0, y: 0, paid: true },
      { x: 1, y: 0, paid: false },
      { x: 0, y: 2, paid: true },
    ]
    const { grid, support, ...rest } = await outcomeField(points, points, now)
    assert.deepEqual(rest.x_range, [-0.05, 1.05])
    assert.deepEqual(rest.y_range, [-0.1, 2.1])
    const h = 0.06 * 2.2
    assert.ok(Math.abs(rest.bandwidth - h) < 1e-12)
    for (const [row, column] of [
      [0, 0],
      [2, 37],
      [38, 2],
      [20, 20],
    ] as const) {
      const [x, y] = [-0.05 + (1.1 * column) / 39, -0.1 + (2.2 * row) / 39]
      const weights = points.map((p) => Math.exp(-((p.x - x) ** 2 + (p.y - y) ** 2) / (2 * h * h)))
      const all = weights.reduce((sum, weight) => sum + weight, 0)
      const paid = weights.reduce((sum, weight, at) => sum + (points[at]?.paid ? weight : 0), 0)
      assert.ok(Math.abs((grid[row]?.[column] ?? 9) - (1 + paid) / (2 + all)) < 1e-4)
      assert.ok(Math.abs((support[row]?.[column] ?? 9) - all) < 1e-3)
    }
  })

  test('is the same in any order of the outcomes', async () => {
    const place = fc.integer({ min: -9_999, max: 9_999 }).map((value) => value / 1e4)
    const outcomes = fc.array(fc.record({ x: place, y: place, paid: fc.boolean() }), {
      minLength: 3,
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(outcomes, async (given) => {
        const turned = given.toReversed()
        const [one, other] = [
          await outcomeField(given, given, now),
          await outcomeField(turned, turned, now),
        ]
        assert.deepEqual(other, one)
      }),
      { numRuns: 40 },
    )
  })

  test('of points in one place has a size all the same', async () => {
    const same = [FAR, FAR, FAR]
    const { bandwidth, x_range, grid } = await outcomeField(same, [{ ...FAR, paid: true }], now)
    assert.ok(bandwidth > 0 && x_range[0] < 3 && x_range[1] > 3)
    assert.ok(grid.flat().every(Number.isFinite))
  })
})
