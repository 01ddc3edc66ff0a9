// Turns of one tenant follow each other; tenants do not wait for one another.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openTestKernel } from '../testing/kernel.ts'
import { inErasureTurn } from './erasure-turn.ts'

const tick = () => new Promise((resolve) => setTimeout(resolve, 2))

test('turns of one tenant never overlap and keep their order, failures included', async () => {
  const open = await openTestKernel()
  try {
    const seen: string[] = []
    const turn = (name: string, fails: boolean) =>
      inErasureTurn(open.kernel, 't1', async () => {
        seen.push(`${name} begins`)
        await tick()
        seen.push(`${name} ends`)
        if (fails) throw new Error(name)
        return name
      })
    const results = await Promise.allSettled([turn('a', false), turn('b', true), turn('c', false)])
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

test('a tenant does not wait for the turn of another', async () => {
  const open = await openTestKernel()
  try {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = inErasureTurn(open.kernel, 't1', () => held)
    assert.equal(await inErasureTurn(open.kernel, 't2', async () => 'done'), 'done')
    release()
    await slow
  } finally {
    await open.close()
  }
})
