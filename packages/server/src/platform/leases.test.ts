// Leases between two processes on one database: nobody waits for ever, nothing stays held.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTwoKernels } from '../testing/two-kernels.ts'
import { abandonedTurns, inErasureTurn } from './erasure-turn.ts'
import { ifLeased, whenLeased } from './leases.ts'

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
