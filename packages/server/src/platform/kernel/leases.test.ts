// Leases between two processes on one database: nobody waits for ever, nothing stays held.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawSql } from '../../testing/raw-sql.ts'
import { skewedClock } from '../../testing/skewed-clock.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { Refusal } from '../refusal.ts'
import {
  listAbandonedErasures,
  requestErasures,
  requireErasureLease,
  runErasure,
} from './erasure-queue.ts'
import { runIfDue, runIfLeaseFree, runUnderLease } from './leases.ts'

const NAME = 'erasure/t1'

test('a waiting request gets the lease before its holder acquires it again', async (t) => {
  const [{ kernel: greedy }, { kernel: patient }] = await openTwoKernels(t)
  let served = false
  let waiting: Promise<void> | undefined
  let turns = 0
  while (!served && turns < 1_000) {
    await runUnderLease(greedy, NAME, async () => {
      turns += 1
      waiting ??= runUnderLease(patient, NAME, async () => {
        served = true
      })
      // By the second turn the other has asked for it, and was told to wait.
      if (turns === 1) await new Promise((resolve) => setTimeout(resolve, 300))
    })
  }
  await waiting
  assert.ok(turns < 10, `the holder took ${turns} turns meanwhile`)
})

test('a lease is held by one at a time', async (t) => {
  const kernels = (await openTwoKernels(t)).map(({ kernel }) => kernel)
  let inside = 0
  const act = async () => {
    inside += 1
    assert.equal(inside, 1)
    await new Promise((resolve) => setTimeout(resolve, 3))
    inside -= 1
  }
  const turns = Array.from({ length: 5 }, () => kernels.map((k) => runErasure(k, 't1', act)))
  await Promise.all(turns.flat())
})

test('a request that does not wait is told that another process has the lease', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  const none = async () => {}
  await runUnderLease(one, NAME, async () => {
    assert.equal(await runIfLeaseFree(two, NAME, none), false)
  })
  assert.equal(await runIfLeaseFree(two, NAME, none), true)
})

test('a request that has given up holds nobody back', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  const none = async () => {}
  await runUnderLease(one, NAME, async () => {
    const refused = runUnderLease(two, NAME, none, { wait_ms: 50 })
    await assert.rejects(refused, isUnavailable)
  })
  // It would have its place in the queue for seconds.
  await runUnderLease(one, NAME, none, { wait_ms: 0 })
})

test('an erasure that a dead process left is found once its lease has expired', async (t) => {
  const [dead, { kernel }] = await openTwoKernels(t, { lease_ms: 200 })
  let die = () => {}
  const dies = new Promise<void>((resolve) => {
    die = resolve
  })
  const begun = new Promise<void>((resolve) => {
    const held = runErasure(dead.kernel, 't1', async () => {
      resolve()
      await dies
    })
    held.catch(() => {})
  })
  await begun
  assert.deepEqual(await listAbandonedErasures(kernel), [])
  // Its connections end: it can neither renew the lease nor release it.
  await dead.kernel.db.close()
  die()
  while ((await listAbandonedErasures(kernel)).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(await listAbandonedErasures(kernel), ['t1'])
  await runErasure(kernel, 't1', async () => {})
  assert.deepEqual(await listAbandonedErasures(kernel), [])
})

const MINUTE_US = 60_000_000
const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'

for (const [name, ahead_us] of [
  ['a minute', MINUTE_US],
  ['an hour', 60 * MINUTE_US],
] as const)
  test(`a clock that is ${name} ahead takes nobody's lease`, async (t) => {
    const clock = skewedClock(ahead_us)
    const [{ kernel: one }, { kernel: ahead }] = await openTwoKernels(t, {}, { clock })
    const none = async () => {}
    for (const [holder, other] of [
      [one, ahead],
      [ahead, one],
    ] as const) {
      await runUnderLease(holder, NAME, async () => {
        assert.equal(await runIfLeaseFree(other, NAME, none), false)
        assert.deepEqual(await listAbandonedErasures(other), [])
      })
      // Once released it is free, whatever the other's clock says.
      assert.equal(await runIfLeaseFree(other, NAME, none), true)
    }
    const hourly = { period_us: 30 * MINUTE_US, act: none }
    assert.equal(await runIfDue(one, 'work', hourly), true)
    assert.equal(await runIfDue(ahead, 'work', hourly), false)
  })

test('a process that lost its lease unknowingly is refused where it could do harm', async (t) => {
  const [{ kernel: stale }, { kernel }] = await openTwoKernels(t)
  const entry = {
    tenant_id: 't1',
    subject_kind: 'fact' as const,
    subject: '1',
    store_id: null,
    requested_us: 1,
    plan: {},
  }
  const inUnit = (one: typeof kernel) => one.db.transact('t1', (tx) => requireErasureLease(one, tx))
  await runErasure(stale, 't1', async () => {
    await inUnit(stale)
    // As after a standstill: by its own clock it has the lease for a long time yet.
    await rawSql({ kernel }, `delete from leases where name = 'erasure/t1'`)
    await runErasure(kernel, 't1', async () => {
      await assert.rejects(requestErasures(stale, 't1', [entry]), isUnavailable)
      await assert.rejects(inUnit(stale), isUnavailable)
      await inUnit(kernel)
      assert.equal((await requestErasures(kernel, 't1', [entry])).length, 1)
    })
    await assert.rejects(requestErasures(stale, 't1', [entry]), isUnavailable)
    await assert.rejects(inUnit(stale), isUnavailable)
  })
  await assert.rejects(requestErasures(kernel, 't1', [entry]), /outside runErasure/)
})
