// A job belongs to one process for as long as that process is at it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openTestKernel } from '../../testing/kernel.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { PLATFORM } from '../db/database.ts'
import { findJob, listDueJobs, releaseLeases } from '../db/jobs.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { failureOf, Refusal } from '../refusal.ts'
import { type Job, type JobContext, JobEnded, type JobTraits, QUEUES } from './queue.ts'

const LEASE_MS = 1_500

test('a job whose step outlasts its lease is not begun by another process', async (t) => {
  const [{ kernel: one }, { kernel: other }] = await openTwoKernels(t, { lease_ms: LEASE_MS })
  let runs = 0
  for (const kernel of [one, other])
    kernel.jobs.register('slow', async () => {
      runs += 1
      const taken_until_us = kernel.clock.now() + LEASE_MS * 1_000
      // Due at the end of the lease it began with, until that is extended.
      while ((await one.db.read(PLATFORM, (db) => listDueJobs(db, taken_until_us))).length > 0)
        await new Promise((resolve) => setTimeout(resolve, 20))
    })
  await one.db.transact('t1', (tx) => one.jobs.enqueue(tx, 'slow', {}))
  for (const kernel of [one, other]) kernel.jobs.start()
  await one.jobs.idle()
  assert.equal(runs, 1)
})

test('a process that loses a job to another stops, and leaves it to that one', async (t) => {
  const [{ kernel: one }, { kernel: other }] = await openTwoKernels(t, { lease_ms: LEASE_MS })
  const pausing = { again_ms: 0 }
  const first = Promise.withResolvers<JobContext>()
  one.jobs.register('long', async (context) => {
    first.resolve(context)
    const end = performance.now() + 4 * LEASE_MS
    while (!context.stopping && performance.now() < end) await delay(20)
    return pausing
  })
  let runs = 0
  const told = Promise.withResolvers<undefined>()
  other.jobs.register('long', () => {
    runs += 1
    return told.promise
  })
  const job = await enqueue(one, 'long')
  one.jobs.start()
  const { stopping } = await first.promise
  assert.equal(stopping, false)
  // As if `one` had stood still for longer than its lease.
  await one.db.transact(PLATFORM, releaseLeases)
  other.jobs.start()
  await delay(3 * LEASE_MS)
  const seen = [(await first.promise).stopping, runs, await stateOf(one, job)]
  told.resolve(undefined)
  await other.jobs.idle()
  assert.deepEqual(seen, [true, 1, 'running'])
  assert.deepEqual([runs, await stateOf(one, job)], [1, 'done'])
})

test('a process does not begin a job that it is at, whatever its clock says', async (t) => {
  const clock = movedClock()
  const [{ kernel }] = await openTwoKernels(t, { clock })
  const told = Promise.withResolvers<undefined>()
  const begun = Promise.withResolvers<void>()
  let runs = 0
  const runner = () => {
    runs += 1
    begun.resolve()
    return told.promise
  }
  kernel.jobs.register('long', runner, { queue: 'outbound' })
  const job = await enqueue(kernel, 'long')
  kernel.jobs.start()
  await begun.promise
  // As after a suspended machine has resumed: the lease is over before it can be renewed.
  clock.forward(3_600_000_000)
  kernel.jobs.start()
  await delay(LEASE_MS)
  told.resolve(undefined)
  await kernel.jobs.idle()
  assert.deepEqual([runs, await stateOf(kernel, job)], [1, 'done'])
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

test('a job that pauses because it failed says why, and its attempts stay counted', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const attempts: number[] = []
  kernel.jobs.register('stuck', async ({ job }) => {
    attempts.push(job.attempts)
    return { again_ms: attempts.length < 3 ? 0 : null, error: failureOf(new TypeError('x')) }
  })
  const { job_id } = await kernel.db.transact('t1', (tx) => kernel.jobs.enqueue(tx, 'stuck', {}))
  const row = () => kernel.db.read('t1', (db) => findJob(db, job_id))
  kernel.jobs.start()
  await kernel.jobs.idle()
  const shown = await row()
  assert.deepEqual([shown?.state, shown?.error, shown?.attempts], ['queued', 'TypeError', 3])
  assert.deepEqual(attempts, [0, 1, 2])
  assert.equal(failureOf(new Refusal('unavailable')), 'unavailable')
})

test('a job that pauses is not ended where its pause cannot be saved', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const { db } = kernel
  const transact = db.transact.bind(db)
  let fails = false
  db.transact = (tenant_id, unit) => {
    const failed = fails
    fails = false
    return failed ? Promise.reject(new Refusal('unavailable')) : transact(tenant_id, unit)
  }
  kernel.jobs.register('stuck', async ({ job }) => {
    fails = job.attempts === 11
    return { again_ms: 0, error: 'waits' }
  })
  const { job_id } = await transact('t1', (tx) => kernel.jobs.enqueue(tx, 'stuck', {}))
  const row = () => db.read('t1', (on) => findJob(on, job_id))
  kernel.jobs.start()
  while ((await row())?.error !== 'unavailable') await delay(10)
  const { state, attempts } = (await row()) ?? {}
  assert.deepEqual([state, attempts], ['queued', 12])
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

test('a job of another queue keeps none waiting', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const { begun, end } = registerWaiting(kernel, { queue: 'threads' })
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
  const [due] = await kernel.db.read(PLATFORM, (db) => listDueJobs(db, kernel.clock.now()))
  assert.deepEqual([due?.job_id, due?.error], [job.job_id, null])
})

/** Runs until told, and counts how many run at once: all, and of each tenant. */
function registerCounted(kernel: Kernel) {
  const order: string[] = []
  const running = new Map<string, number>()
  const most = { all: 0, of_tenant: 0 }
  kernel.jobs.register(
    'counted',
    async ({ job: { tenant_id } }) => {
      order.push(tenant_id)
      running.set(tenant_id, (running.get(tenant_id) ?? 0) + 1)
      const all = [...running.values()].reduce((sum, count) => sum + count, 0)
      most.all = Math.max(most.all, all)
      most.of_tenant = Math.max(most.of_tenant, running.get(tenant_id) ?? 0)
      await new Promise((resolve) => setTimeout(resolve, 60))
      running.set(tenant_id, (running.get(tenant_id) ?? 0) - 1)
      return undefined
    },
    { queue: 'outbound' },
  )
  return { order, most }
}

test('a tenant with hundreds of jobs keeps no other tenant waiting', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const { order, most } = registerCounted(kernel)
  const enqueueMany = (tenant_id: string, count: number) =>
    kernel.db.transact(tenant_id, async (tx) => {
      for (let i = 0; i < count; i += 1) await kernel.jobs.enqueue(tx, 'counted', {})
    })
  await enqueueMany('busy', 200)
  for (let i = 0; i < 10; i += 1) await enqueueMany(`quiet-${i}`, 2)
  await kernel.jobs.idle()
  assert.equal(order.length, 220)
  const { width, per_tenant } = QUEUES.outbound
  assert.ok(most.of_tenant <= per_tenant && most.all <= width, JSON.stringify(most))
  assert.ok(most.all > per_tenant, 'jobs of several tenants run at once')
  // Behind the first of each tenant come at most a few of the busy one.
  const last = Math.max(...order.flatMap((tenant, at) => (tenant === 'busy' ? [] : [at])))
  assert.ok(last < 20 + 10 * per_tenant, `the last quiet job was number ${last}`)
})

test('due jobs of many tenants are taken in one commit, and each by one process', async (t) => {
  const kernels = await openTwoKernels(t, { lease_ms: LEASE_MS })
  const begun: string[] = []
  const end = Promise.withResolvers<void>()
  const tenants = Array.from({ length: 24 }, (_, i) => `t${i}`)
  const all = Promise.withResolvers<void>()
  const [{ kernel: one }] = kernels
  // Nobody takes them before all are there.
  for (const tenant_id of tenants)
    await one.db.transact(tenant_id, (tx) => one.jobs.enqueue(tx, 'held', {}))
  const commits = () => kernels.reduce((sum, { kernel }) => sum + kernel.db.stats().commits, 0)
  const before = commits()
  for (const { kernel } of kernels) {
    kernel.jobs.register(
      'held',
      async ({ job }) => {
        begun.push(job.job_id)
        if (begun.length === tenants.length) all.resolve()
        await end.promise
        return undefined
      },
      { queue: 'outbound' },
    )
    kernel.jobs.start()
  }
  await all.promise
  const taken = commits() - before
  end.resolve()
  await one.jobs.idle()
  assert.equal(new Set(begun).size, tenants.length)
  assert.equal(begun.length, tenants.length)
  assert.ok(taken <= 8, `${taken} commits`)
})

test('a job that waits to be woken costs nothing until then, and no call is lost', async (t) => {
  const [{ kernel: one }, { kernel: other }] = await openTwoKernels(t, { lease_ms: LEASE_MS })
  const rounds: PromiseWithResolvers<void>[] = []
  const begun: PromiseWithResolvers<void>[] = [0, 1, 2].map(() => Promise.withResolvers())
  one.jobs.register('standing', async () => {
    const round = Promise.withResolvers<void>()
    rounds.push(round)
    begun[rounds.length - 1]?.resolve()
    await round.promise
    return { again_ms: null }
  })
  const job = await enqueue(one, 'standing')
  await begun[0]?.promise
  // Woken twice by another process while it runs: once more, and by nobody else meanwhile.
  for (let i = 0; i < 2; i += 1)
    await other.db.transact('t1', (tx) => other.jobs.wake(tx, job.job_id))
  assert.deepEqual(await other.db.read(PLATFORM, (db) => listDueJobs(db, other.clock.now())), [])
  rounds[0]?.resolve()
  await begun[1]?.promise
  rounds[1]?.resolve()
  await one.jobs.idle()
  assert.equal(await stateOf(one, job), 'queued')
  assert.equal(rounds.length, 2)
  await one.db.transact('t1', (tx) => one.jobs.wake(tx, job.job_id))
  await begun[2]?.promise
  rounds[2]?.resolve()
  await one.jobs.idle()
  assert.equal(rounds.length, 3)
})

test('a wake-up does not shorten the wait after a failure', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  let runs = 0
  kernel.jobs.register('failing', async () => {
    runs += 1
    throw new Error('not yet')
  })
  const job = await enqueue(kernel, 'failing')
  while ((await kernel.db.read('t1', (db) => findJob(db, job.job_id)))?.error !== 'Error')
    await new Promise((resolve) => setTimeout(resolve, 5))
  await kernel.db.transact('t1', (tx) => kernel.jobs.wake(tx, job.job_id))
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(runs, 1)
})
