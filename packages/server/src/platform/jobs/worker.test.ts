// A job belongs to one process for as long as that process is at it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestKernel } from '../../testing/kernel.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { PLATFORM } from '../db/database.ts'
import { findDueJob } from '../db/jobs.sql.ts'

const LEASE_MS = 1_500

test('a job whose step outlasts its lease is not begun by another process', async (t) => {
  const [{ kernel: one }, { kernel: other }] = await openTwoKernels(t, { lease_ms: LEASE_MS })
  let runs = 0
  for (const kernel of [one, other])
    kernel.jobs.register('slow', async () => {
      runs += 1
      const taken_until_us = kernel.clock.now() + LEASE_MS * 1_000
      // Due at the end of the lease it began with, until that is extended.
      while (await one.db.read(PLATFORM, (db) => findDueJob(db, taken_until_us)))
        await new Promise((resolve) => setTimeout(resolve, 20))
    })
  await one.db.transact('t1', (tx) => one.jobs.enqueue(tx, 'slow', {}))
  for (const kernel of [one, other]) kernel.jobs.start()
  await one.jobs.idle()
  assert.equal(runs, 1)
})

test('a job that pauses goes on behind the others, and has not failed', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const order: string[] = []
  let left = 12
  kernel.jobs.register('long', async ({ job }) => {
    order.push('long')
    assert.equal(job.attempts, 0)
    left -= 1
    return left > 0 ? { again_ms: 0 } : undefined
  })
  kernel.jobs.register('short', async () => {
    order.push('short')
    return undefined
  })
  await kernel.db.transact('t1', (tx) => kernel.jobs.enqueue(tx, 'long', {}))
  await kernel.db.transact('t1', (tx) => kernel.jobs.enqueue(tx, 'short', {}))
  kernel.jobs.start()
  await kernel.jobs.idle()
  assert.deepEqual(order.slice(0, 3), ['long', 'short', 'long'])
  assert.equal(order.length, 13)
})
