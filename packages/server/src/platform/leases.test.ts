// Leases between two processes on one database: nobody waits for ever, nothing stays held.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawSql } from '../testing/raw-sql.ts'
import { skewedClock } from '../testing/skewed-clock.ts'
import { openTwoKernels } from '../testing/two-kernels.ts'
import { abandonedTurns, inErasureTurn, requestInTurn, requireTurn } from './erasure-turn.ts'
import { ifLeased, whenDue, whenLeased } from './leases.ts'
import { Refusal } from './refusal.ts'

const NAME = 'erasure/t1'

test('who waits for a lease is next, however often its holder wants it again', async (t) => {
  const [{ kernel: greedy }, { kernel: patient }] = await openTwoKernels(t)
  let served = false
  let waiting: Promise<void> | undefined
  let turns = 0
  while (!served && turns < 1_000) {
    await whenLeased(greedy, NAME, async () => {
      turns += 1
      waiting ??= whenLeased(patient, NAME, async () => {
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
  const turns = Array.from({ length: 5 }, () => kernels.map((k) => inErasureTurn(k, 't1', act)))
  await Promise.all(turns.flat())
})

test('who does not wait is told that another has the lease', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  const none = async () => {}
  await whenLeased(one, NAME, async () => {
    assert.equal(await ifLeased(two, NAME, none), false)
  })
  assert.equal(await ifLeased(two, NAME, none), true)
})

test('a turn that a dead process has left is found when its lease is over', async (t) => {
  const [dead, { kernel }] = await openTwoKernels(t, { lease_ms: 200 })
  let die = () => {}
  const dies = new Promise<void>((resolve) => {
    die = resolve
  })
  const begun = new Promise<void>((resolve) => {
    const held = inErasureTurn(dead.kernel, 't1', async () => {
      resolve()
      await dies
    })
    held.catch(() => {})
  })
  await begun
  assert.deepEqual(await abandonedTurns(kernel), [])
  // Its connections go: it can neither extend the lease nor give it back.
  await dead.kernel.db.close()
  die()
  while ((await abandonedTurns(kernel)).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(await abandonedTurns(kernel), ['t1'])
  await inErasureTurn(kernel, 't1', async () => {})
  assert.deepEqual(await abandonedTurns(kernel), [])
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
      await whenLeased(holder, NAME, async () => {
        assert.equal(await ifLeased(other, NAME, none), false)
        assert.deepEqual(await abandonedTurns(other), [])
      })
      // Given back, it is not held until the other's clock has come so far.
      assert.equal(await ifLeased(other, NAME, none), true)
    }
    const hourly = { period_us: 30 * MINUTE_US, act: none }
    assert.equal(await whenDue(one, 'work', hourly), true)
    assert.equal(await whenDue(ahead, 'work', hourly), false)
  })

test('who has lost its turn without knowing is refused wherever it would do harm', async (t) => {
  const [{ kernel: stale }, { kernel }] = await openTwoKernels(t)
  const entry = {
    tenant_id: 't1',
    subject_kind: 'fact' as const,
    subject: '1',
    store_id: null,
    requested_us: 1,
    plan: {},
  }
  const inUnit = (one: typeof kernel) => one.db.transact('t1', (tx) => requireTurn(one, tx))
  await inErasureTurn(stale, 't1', async () => {
    await inUnit(stale)
    // As when it had stood still: its own clock says that it has the lease for long yet.
    await rawSql({ kernel }, `delete from leases where name = 'erasure/t1'`)
    await inErasureTurn(kernel, 't1', async () => {
      await assert.rejects(requestInTurn(stale, 't1', [entry]), isUnavailable)
      await assert.rejects(inUnit(stale), isUnavailable)
      await inUnit(kernel)
      assert.equal((await requestInTurn(kernel, 't1', [entry])).length, 1)
    })
    await assert.rejects(requestInTurn(stale, 't1', [entry]), isUnavailable)
    await assert.rejects(inUnit(stale), isUnavailable)
  })
  await assert.rejects(requestInTurn(kernel, 't1', [entry]), /outside a turn/)
})
