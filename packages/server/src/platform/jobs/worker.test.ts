// A job belongs to one process for as long as that process is at it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestKernel } from '../../testing/kernel.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { PLATFORM } from '../db/database.ts'
import { findDueJob, findJob } from '../db/jobs.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { type Job, type JobContext, JobEnded, type JobTraits } from './queue.ts'

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

/** A kind that does nothing until it is told to end, and what became of it. */
function registerWaiting(kernel: Kernel, traits: JobTraits = { cancellable: true }) {
  const begun = Promise.withResolvers<JobContext>()
  const told = Promise.withResolvers<void>()
  kernel.jobs.register(
    'waiting',
    async (context) => {
      begun.resolve(context)
      await new Promise<void>((resolve) => {
        context.signal.addEventListener('abort', () => resolve())
        void told.promise.then(resolve)
      })
      return undefined
    },
    traits,
  )
  return { begun: begun.promise, end: () => told.resolve() }
}

const enqueue = (kernel: Kernel, kind = 'waiting') =>
  kernel.db.transact('t1', (tx) => kernel.jobs.enqueue(tx, kind, {}))
const cancel = (kernel: Kernel, { job_id }: { job_id: string }) =>
  kernel.db.transact('t1', (tx) => kernel.jobs.cancel(tx, job_id))
const stateOf = async (kernel: Kernel, { job_id }: { job_id: string }) =>
  (await kernel.db.read('t1', (db) => findJob(db, job_id)))?.state

test('a job cancelled through one process stops at the other, and cannot finish', async (t) => {
  const [{ kernel: one }, { kernel: other }] = await openTwoKernels(t, { lease_ms: LEASE_MS })
  const { begun } = registerWaiting(one)
  registerWaiting(other)
  const job = await enqueue(one)
  one.jobs.start()
  const context = await begun
  assert.equal(await cancel(other, job), 'cancelled')
  await new Promise<void>((resolve) => {
    if (context.cancelled) resolve()
    else context.signal.addEventListener('abort', () => resolve())
  })
  assert.deepEqual([context.cancelled, context.stopping], [true, false])
  // What it says of itself after that is not heard.
  await context.progress(7, 8)
  await assert.rejects(
    one.db.transact('t1', (tx) => context.finishIn(tx)),
    JobEnded,
  )
  await one.jobs.idle()
  assert.equal(await stateOf(other, job), 'cancelled')
  const row = await one.db.read('t1', (db) => findJob(db, job.job_id))
  assert.equal(row?.progress_done, 0)
})

test('a job cancelled before it began is never begun, and what was kept for it goes', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const abandoned: string[] = []
  let runs = 0
  const runner = async () => {
    runs += 1
    return undefined
  }
  const abandon = async (_: Tx, { job_id }: Job) => {
    abandoned.push(job_id)
  }
  kernel.jobs.register('never', runner, { cancellable: true, abandon })
  const job = await kernel.db.transact('t1', async (tx) => {
    const queued = await kernel.jobs.enqueue(tx, 'never', {})
    assert.equal(await kernel.jobs.cancel(tx, queued.job_id), 'cancelled')
    return queued
  })
  kernel.jobs.start()
  await kernel.jobs.idle()
  assert.deepEqual([runs, abandoned], [0, [job.job_id]])
  assert.equal(await cancel(kernel, job), 'ended')
  assert.equal(await cancel(kernel, { job_id: 'f'.repeat(24) }), 'absent')
  assert.deepEqual(abandoned, [job.job_id])
})

test('a job of a kind that must not stop half way is not cancelled', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const { begun, end } = registerWaiting(kernel, {})
  const job = await enqueue(kernel)
  kernel.jobs.start()
  const context = await begun
  assert.equal(await cancel(kernel, job), 'not_cancellable')
  assert.equal(context.signal.aborted, false)
  end()
  await kernel.jobs.idle()
  assert.equal(await stateOf(kernel, job), 'done')
})

test('a job apart from the others keeps none of them waiting', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const { begun, end } = registerWaiting(kernel, { apart: true })
  const short = Promise.withResolvers<void>()
  kernel.jobs.register('short', async () => {
    short.resolve()
    return undefined
  })
  await enqueue(kernel)
  kernel.jobs.start()
  await begun
  await enqueue(kernel, 'short')
  await short.promise
  end()
  await kernel.jobs.idle()
})

test('a job that a stopping process was at is resumed, not failed', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const { begun } = registerWaiting(kernel)
  const job = await enqueue(kernel)
  kernel.jobs.start()
  const context = await begun
  await kernel.jobs.stop()
  assert.deepEqual([context.stopping, context.cancelled], [true, false])
  assert.equal(await stateOf(kernel, job), 'running')
  const due = await kernel.db.read(PLATFORM, (db) => findDueJob(db, kernel.clock.now()))
  assert.deepEqual([due?.job_id, due?.error], [job.job_id, null])
})
