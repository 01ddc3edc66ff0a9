// Erasures of one tenant run one after another; tenants do not wait for each other.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openTestKernel } from '../../testing/kernel.ts'
import { KeyringError } from '../keys/keyring-error.ts'
import { Refusal } from '../refusal.ts'
import {
  forgetInterruption,
  noteInterruption,
  runErasure,
  takeInterrupted,
} from './erasure-queue.ts'

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

test('an interrupted erasure is recovered at once, then after growing pauses', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const times: number[] = []
  noteInterruption(kernel, 't1', new Refusal('unavailable'))
  for (; now <= 60_000; now += 2_000) {
    if (takeInterrupted(kernel).length > 0) times.push(now / 1_000)
    noteInterruption(kernel, 't1', new Refusal('unavailable'))
  }
  assert.deepEqual(times, [0, 2, 4, 8, 16, 26, 36, 46, 56])
  forgetInterruption(kernel, 't1')
  now += 60_000
  assert.deepEqual(takeInterrupted(kernel), [])
})

test('only what may pass is an interruption', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
  const errors = {
    down: new Refusal('unavailable'),
    space: new Refusal('storage_full'),
    disk: new Error('of a disk', { cause: full }),
    keyring: new KeyringError('keyring_unavailable', ''),
    retired: new KeyringError('signing_key_retired', ''),
    other: new Error('a mistake'),
    held: new Refusal('legal_hold'),
    unsigned: new KeyringError('no_signing_key', ''),
  }
  for (const [tenant_id, error] of Object.entries(errors))
    noteInterruption(kernel, tenant_id, error)
  assert.deepEqual(takeInterrupted(kernel), ['down', 'space', 'disk', 'keyring', 'retired'])
  for (const tenant_id of Object.keys(errors)) forgetInterruption(kernel, tenant_id)
  await runErasure(kernel, 't9', () => Promise.reject(errors.down)).catch(() => {})
  await runErasure(kernel, 't8', () => Promise.reject(errors.other)).catch(() => {})
  assert.deepEqual(takeInterrupted(kernel), ['t9'])
})
