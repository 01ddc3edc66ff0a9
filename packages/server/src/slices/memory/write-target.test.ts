// Preparing again: what does not fit the store is made anew, but not for ever.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../platform/refusal.ts'
import { StoreChanged, untilStable } from './write-target.ts'

test('a write whose store changed meanwhile is prepared again', async () => {
  let attempts = 0
  const written = await untilStable(async () => {
    attempts += 1
    if (attempts < 5) throw new StoreChanged()
    return attempts
  })
  assert.equal(written, 5)
})

test('one that never fits is refused, with a time to come again', async () => {
  await assert.rejects(
    untilStable(async () => {
      throw new StoreChanged()
    }),
    (error: unknown) =>
      error instanceof Refusal && error.code === 'unavailable' && error.extras.retry_after_s === 1,
  )
})

test('any other failure is passed on at once', async () => {
  let attempts = 0
  const failing = untilStable(async () => {
    attempts += 1
    throw new Error('of another kind')
  })
  await assert.rejects(failing, /of another kind/)
  assert.equal(attempts, 1)
})
