// Blocks grow while they run out within a second, and shrink when they last.

import assert from 'node:assert/strict'
import test from 'node:test'
import { BlockSize } from './block-size.ts'

test('blocks double up to the largest, keep their size, and halve down to the first', () => {
  const size = new BlockSize(256)
  assert.deepEqual(
    [0, 500, 1_000, 1_500].map((ms) => size.next(ms)),
    [64, 128, 256, 256],
  )
  assert.equal(size.next(6_000), 256)
  assert.equal(size.count, 256)
  assert.deepEqual(
    [17_000, 28_000, 39_000].map((ms) => size.next(ms)),
    [128, 64, 64],
  )
})
