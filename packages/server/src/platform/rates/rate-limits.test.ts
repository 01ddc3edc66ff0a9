// Rate limits: never more than the maximum in any window, over requests, restarts and processes.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { openTestKernel } from '../../testing/kernel.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { systemClock } from '../clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import {
  countedAfter,
  countIn,
  type LimitOf,
  rateLimits,
  type Slots,
  secondsUntilRoom,
  slotOf,
} from './rate-limits.ts'
import { flushRates } from './slot-log.ts'

const SECOND_US = 1_000_000

describe('the window', () => {
  const times = fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 60 })

  test('a request that waits the seconds it is told is let through', () => {
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 100_000_000 }),
        (gaps, max_requests, window_us) => {
          const window = { max_requests, window_us }
          const slots: Slots = new Map()
          let now_us = 0
          for (const gap of gaps) {
            now_us += gap
            if (countIn(slots, now_us, window) >= max_requests) continue
            const slot_us = slotOf(now_us, window)
            slots.set(slot_us, (slots.get(slot_us) ?? 0) + 1)
          }
          const wait_s = secondsUntilRoom(slots, now_us, window)
          assert.ok(Number.isInteger(wait_s) && wait_s >= 1)
          assert.ok(wait_s <= Math.ceil((window_us * 61) / 60 / SECOND_US) + 1)
          const later_us = now_us + wait_s * SECOND_US
          assert.ok(countIn(slots, later_us, window) < max_requests)
        },
      ),
    )
  })

  test('no window of its length ever holds more than its maximum', () => {
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 100_000 }),
        (gaps, max_requests, window_us) => {
          const window = { max_requests, window_us }
          const slots: Slots = new Map()
          const taken: number[] = []
          let now_us = 0
          for (const gap of gaps) {
            now_us += gap
            if (countIn(slots, now_us, window) >= max_requests) continue
            const slot_us = slotOf(now_us, window)
            slots.set(slot_us, (slots.get(slot_us) ?? 0) + 1)
            taken.push(now_us)
          }
          for (const [i, end] of taken.entries()) {
            const first = taken[i - max_requests]
            if (first !== undefined) assert.ok(end - first >= window_us)
          }
          assert.ok(slots.size <= 62)
        },
      ),
    )
  })

  test('a request counts a 60th of the window too long at most', () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.integer({ min: 60, max: 1e9 }), (at_us, window_us) => {
        const slot_us = slotOf(at_us, { window_us })
        const freed = at_us + window_us + Math.ceil(window_us / 60)
        assert.ok(slot_us <= at_us)
        assert.ok(slot_us <= countedAfter(freed, { window_us }))
        assert.ok(slot_us > countedAfter(at_us + window_us - 1, { window_us }))
      }),
    )
  })
})

const limitOf = (max_requests: number, window_us: number): LimitOf => ({
  tenant_id: 't1',
  limit_id: 'p',
  max_requests,
  window_us,
})

const HOUR = 3_600 * SECOND_US

async function takeMany(kernel: Kernel, limit: LimitOf, times: number): Promise<number> {
  const taken = await Promise.all(
    Array.from({ length: times }, async () => rateLimits(kernel).take(limit)),
  )
  return taken.filter(Boolean).length
}

test('of many requests at once exactly the maximum passes; looking counts nothing', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(async () => {
    await flushRates(kernel)
    await close()
  })
  const limit = limitOf(250, HOUR)
  for (let i = 0; i < 5; i += 1) assert.equal(await rateLimits(kernel).peek(limit), true)
  assert.equal(await takeMany(kernel, limit, 600), 250)
  assert.equal(await rateLimits(kernel).peek(limit), false)
  assert.equal(await takeMany(kernel, { ...limit, limit_id: 'another' }, 3), 3)
  assert.equal(await takeMany(kernel, { ...limit, tenant_id: 't2' }, 3), 3)
})

test('what was counted is still counted after a restart', async () => {
  const first = await openTestKernel()
  const limit = limitOf(10, HOUR)
  assert.equal(await takeMany(first.kernel, limit, 7), 7)
  await flushRates(first.kernel)
  await first.close({ keep: true })
  const second = await openTestKernel({ data_dir: first.data_dir })
  try {
    assert.equal(await takeMany(second.kernel, limit, 7), 3)
  } finally {
    await flushRates(second.kernel)
    await second.close()
  }
})

test('requests count again once the window is over', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(async () => {
    await flushRates(kernel)
    await close()
  })
  const limit = limitOf(2, 50_000)
  assert.equal(await takeMany(kernel, limit, 2), 2)
  let freed = false
  for (let waits = 0; waits < 200 && !freed; waits += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    freed = await rateLimits(kernel).take(limit)
  }
  assert.ok(freed)
})

test('two processes together let no more through than the maximum', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  await one.keyring.createTenant('t1')
  for (const [max, least] of [
    [1, 1],
    [40, 40],
    // Each process holds back a hundredth at most.
    [300, 297],
  ] as const) {
    const limit = { ...limitOf(max, HOUR), limit_id: `at most ${max}` }
    const taken = await Promise.all([takeMany(one, limit, max), takeMany(two, limit, max)])
    const sum = taken[0] + taken[1]
    assert.ok(sum <= max && sum >= least, `${taken} of ${max}`)
    if (sum === max) assert.equal(await rateLimits(one).take(limit), false)
  }
})

test('requests in turn at two processes are counted exactly up to a hundred', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  await one.keyring.createTenant('t1')
  const limit = limitOf(20, HOUR)
  let taken = 0
  for (let i = 0; i < 30; i += 1)
    if (await rateLimits(i % 2 === 0 ? one : two).take(limit)) taken += 1
  assert.equal(taken, 20)
  assert.equal(await rateLimits(two).peek(limit), false)
})

/** The system's clock, set forward at will. */
function movableClock() {
  const clock = systemClock()
  let ahead_us = 0
  return {
    now: () => clock.now() + ahead_us,
    raise: (us: number) => clock.raise(us - ahead_us),
    move(us: number) {
      ahead_us += us
    },
  }
}

test('a steady few at two processes use up what they ask for and no more', async (t) => {
  const clock = movableClock()
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t, { clock })
  await one.keyring.createTenant('t1')
  const limit = limitOf(600, HOUR)
  const steady = 58
  for (let slots = 0; slots < steady; slots += 1) {
    for (const kernel of [one, two])
      assert.equal(await rateLimits(kernel).take(limit), true, `slot ${slots}`)
    clock.move(HOUR / 60)
  }
  const rest = (await takeMany(one, limit, 600)) + (await takeMany(two, limit, 600))
  const sum = 2 * steady + rest
  assert.ok(sum <= 600 && sum >= 594, `${sum} of 600`)
  assert.equal(await rateLimits(one).peek(limit), false)
})

test('what a process has left is there for it when looked at', async (t) => {
  const clock = movableClock()
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t, { clock })
  await one.keyring.createTenant('t1')
  const limit = limitOf(200, HOUR)
  assert.equal(await rateLimits(one).take(limit), true)
  assert.equal(await takeMany(two, limit, 200), 198)
  clock.move(HOUR / 60)
  assert.equal(await rateLimits(two).peek(limit), false)
  assert.equal(await rateLimits(one).peek(limit), true)
  assert.equal(await rateLimits(one).take(limit), true)
  assert.equal(await rateLimits(one).take(limit), false)
})
