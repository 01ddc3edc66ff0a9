// Writes are prepared again while their store changes, a bounded number of times.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Conflict } from '../../../platform/concurrency.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { retryOnStoreConflict } from './write-target.ts'

test('a write is prepared again when its store changes before it commits', async () => {
  let attempts = 0
  const written = await retryOnStoreConflict(async () => {
    attempts += 1
    if (attempts < 5) throw new Conflict('store')
    return attempts
  })
  assert.equal(written, 5)
})

test('a write whose store keeps changing is refused with a time to retry', async () => {
  await assert.rejects(
    retryOnStoreConflict(async () => {
      throw new Conflict('store')
    }),
    (error: unknown) =>
      error instanceof Refusal && error.code === 'unavailable' && error.extras.retry_after_s === 1,
  )
})

test('any other failure ends the write at once', async () => {
  let attempts = 0
  const failing = retryOnStoreConflict(async () => {
    attempts += 1
    throw new Error('of another kind')
  })
  await assert.rejects(failing, /of another kind/)
  assert.equal(attempts, 1)
})
