// Ids that a keyed request gives what it makes: the same while the key is kept, then new ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestKernel } from '../../testing/kernel.ts'
import { IDEMPOTENCY_US, idsOfKey, sweepIdempotency } from './idempotency.ts'
import type { Kernel } from './kernel.ts'

const DAY_US = 86_400_000_000

test('a retry finds the id of its first request for 48 hours, and not after', async () => {
  const { kernel, close } = await openTestKernel()
  try {
    const began = kernel.clock.now()
    const after = (us: number): Kernel => ({ ...kernel, clock: { now: () => began + us } })
    const [first] = await idsOfKey(kernel, 'tenants.create', 'k')
    assert.match(first ?? '', /^[0-9a-f]{32}$/)
    for (const us of [0, 1, DAY_US, IDEMPOTENCY_US]) {
      const ids = await idsOfKey(after(us), 'tenants.create', 'k')
      assert.ok(ids.includes(first ?? ''), String(us))
    }
    const [other] = await idsOfKey(kernel, 'tenants.create', 'l')
    const [elsewhere] = await idsOfKey(kernel, 'keys.create', 'k')
    assert.equal(new Set([first, other, elsewhere]).size, 3)

    const late = IDEMPOTENCY_US + DAY_US
    await sweepIdempotency(after(late), began + late)
    const anew = await idsOfKey(after(late), 'tenants.create', 'k')
    assert.ok(anew.length > 0 && !anew.includes(first ?? ''))
  } finally {
    await close()
  }
})
