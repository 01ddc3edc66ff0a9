// Erasures of one tenant run one after another; tenants do not wait for each other.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openTestKernel } from '../../testing/kernel.ts'
import { runErasure } from './erasure-queue.ts'

const tick = () => new Promise((resolve) => setTimeout(resolve, 2))

test('erasures of one tenant never overlap and keep their order, failures included', async () => {
  const open = await openTestKernel()
  try {
    const seen: string[] = []
    const erase = (name: string, fails: boolean) =>
      runErasure(open.kernel, 't1', async () => {
        seen.push(`${name} begins`)
        await tick()
        seen.push(`${name} ends`)
        if (fails) throw new Error(name)
        return name
      })
    const results = await Promise.allSettled([
      erase('a', false),
      erase('b', true),
      erase('c', false),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(
      seen,
      ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
  } finally {
    await open.close()
  }
})

test('a tenant does not wait for the erasure of another', async () => {
  const open = await openTestKernel()
  try {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = runErasure(open.kernel, 't1', () => held)
    assert.equal(await runErasure(open.kernel, 't2', async () => 'done'), 'done')
    release()
    await slow
  } finally {
    await open.close()
  }
})
