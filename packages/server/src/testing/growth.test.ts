// The judge of growth tells linear work from quadratic work.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertLinear } from './growth.ts'

let sum = 0
function steps(count: number): void {
  for (let i = 0; i < count; i += 1) sum = (sum * 31 + i) % 1_000_003
}

test('work that grows with its input passes, work that grows with its square fails', () => {
  assertLinear(8_000_000, steps, 'linear')
  assertLinear(2_000_000, (size) => steps(size * Math.log2(size)), 'sorting')
  assert.throws(
    () => assertLinear(4_000, (size) => steps(size * size), 'square'),
    /^Assert.*square/,
  )
})
