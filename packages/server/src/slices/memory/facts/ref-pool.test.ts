// Refs rise, are never given twice, and each has a secret that is already durable.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestKernel, type TestKernel } from '../../../testing/kernel.ts'
import { RefPool } from './ref-pool.ts'

let opened: TestKernel

before(async () => {
  opened = await openTestKernel({ tenants: ['a', 'b', 'c', 'd'] })
})

after(() => opened.close())

test('parallel takes share no ref and their secrets are in the keyring', async () => {
  const pool = new RefPool(opened.kernel, 'a')
  const takes = await Promise.all(Array.from({ length: 40 }, (_, i) => pool.take(1 + i * 3)))
  const refs = takes.flat().map(({ ref }) => ref)
  assert.equal(new Set(refs).size, refs.length)
  for (const taken of takes) {
    const own = taken.map(({ ref }) => ref)
    assert.deepEqual(
      own,
      [...own].sort((x, y) => x - y),
    )
  }
  const stored = await opened.kernel.keyring.secrets('a', 'fact', refs)
  for (const { ref, secret } of takes.flat()) assert.deepEqual(stored.get(ref), secret)
})

test('a second pool, as after a restart, repeats no ref of the first', async () => {
  const first = await new RefPool(opened.kernel, 'b').take(3)
  const second = await new RefPool(opened.kernel, 'b').take(3)
  assert.ok((second[0]?.ref ?? 0) > (first.at(-1)?.ref ?? 0))
})

test('a claim gives a ref ahead of the counter once, and later takes come after it', async () => {
  const pool = new RefPool(opened.kernel, 'c')
  assert.equal((await pool.claim(5_000, 10))?.ref, 5_000)
  assert.equal(await pool.claim(5_000, 10), null)
  assert.equal(await pool.claim(4_999, 10), null)
  assert.equal((await pool.claim(5_003, 7))?.ref, 5_003)
  assert.equal((await pool.claim(9_000_000, 1))?.ref, 9_000_000)
  assert.ok((await pool.take(1))[0]?.ref === 9_000_001)
})

test('no claim advances the counter beyond the integers that are exact', async () => {
  const pool = new RefPool(opened.kernel, 'd')
  assert.equal(await pool.claim(Number.MAX_SAFE_INTEGER - 5, 1), null)
  const [taken] = await pool.take(1)
  assert.ok((taken?.ref ?? Number.MAX_SAFE_INTEGER) < 10_000)
})
