// Secrets in memory: kept for a second, then overwritten.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HeldSecrets, PERIOD_MS } from './held-secrets.ts'

const FACTS = { tenant_id: 'acme', kind: 'fact' } as const
const one = { number: 1, secret: Buffer.alloc(32, 7) }

test('a secret read is found for at most a second, whether or not expired ones are wiped', () => {
  for (const start of [0, 1, PERIOD_MS - 1]) {
    let now_ms = 0
    const held = new HeldSecrets(() => now_ms)
    now_ms = start
    held.keep(FACTS, one)
    assert.deepEqual(held.find(FACTS, 1), one.secret)
    assert.equal(held.find({ ...FACTS, kind: 'decision' }, 1), undefined)
    now_ms = start + 2 * PERIOD_MS
    assert.equal(held.find(FACTS, 1), undefined)
  }
  let now_ms = 0
  const turned = new HeldSecrets(() => now_ms)
  turned.keep(FACTS, one)
  now_ms = PERIOD_MS
  turned.wipeExpired()
  assert.deepEqual(turned.find(FACTS, 1), one.secret)
  now_ms = 2 * PERIOD_MS
  turned.wipeExpired()
  assert.equal(turned.find(FACTS, 1), undefined)
})

test('what is wiped is wiped in the buffer itself, in the block and among the reads', () => {
  const held = new HeldSecrets(() => 0)
  const secrets = Buffer.alloc(3 * 32, 9)
  const block = held.block(FACTS, 5, secrets)
  held.keep(FACTS, { number: 6, secret: block.secretAt(6) })
  held.wipe({ ...FACTS, tenant_id: 'other' }, [6])
  assert.ok(held.find(FACTS, 6))
  held.wipe(FACTS, [6, 99])
  assert.equal(held.find(FACTS, 6), undefined)
  assert.deepEqual(secrets.subarray(32, 64), Buffer.alloc(32))
  assert.ok(block.secretAt(5) && block.secretAt(7))
  held.wipeAll()
  assert.deepEqual(secrets, Buffer.alloc(96))
})

test('a block is wiped once nothing refers to it or to its function', async () => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const held = new HeldSecrets(() => 0)
  const [gone, kept] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  held.block(FACTS, 1, gone)
  const { secretAt } = held.block(FACTS, 2, kept)
  while (gone[0] !== 0) {
    gc()
    await setImmediate()
  }
  assert.equal(held.blocks().length, 1)
  assert.deepEqual(secretAt(2), Buffer.alloc(32, 2))
})
