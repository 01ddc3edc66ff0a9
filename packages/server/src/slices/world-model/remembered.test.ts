// What is remembered: at most so many, and of them the most lately used.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Remembered } from './remembered.ts'

test('it keeps at most so many, and lets go of what was not used for longest', () => {
  const kept = new Remembered<number>(2)
  assert.equal(kept.keep('a', 1), 1)
  kept.keep('b', 2)
  assert.equal(kept.find('a'), 1)
  kept.keep('c', 3)
  assert.deepEqual([kept.find('a'), kept.find('b'), kept.find('c')], [1, undefined, 3])
  kept.keep('c', 4)
  assert.deepEqual([kept.find('a'), kept.find('c'), kept.size], [1, 4, 2])
})
