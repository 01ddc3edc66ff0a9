// When a delivery is tried again, and when its endpoint is given up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideOutcome } from './outcome.ts'

const SECOND_US = 1_000_000
const HOUR_US = 3_600 * SECOND_US
const NOW_US = 1_800_000_000 * SECOND_US

const ACTIVE = { state: 'active', failures: 0, failing_since_us: null } as const
const MIDDLE = { probe: false, now_us: NOW_US, chance: 0.5 }
const status = (code: number, retry_after_s: number | null = null) => ({
  reply: { status: code, retry_after_s },
})

test('ten attempts: at once, then after 5 s, 5 m, 30 m, 2, 5, 10, 14, 20 and 24 h', () => {
  const waits: unknown[] = []
  for (let attempts = 0; attempts < 10; attempts += 1) {
    const given = { ...MIDDLE, ...status(500), webhook: ACTIVE, delivery: { attempts } }
    const { delivery } = decideOutcome(given)
    assert.equal(delivery.attempts, attempts + 1)
    waits.push(delivery.next_us ? (delivery.next_us - NOW_US) / SECOND_US : delivery.status)
  }
  const [m, h] = [60, 3_600]
  assert.deepEqual(waits, [
    5,
    5 * m,
    30 * m,
    2 * h,
    5 * h,
    10 * h,
    14 * h,
    20 * h,
    24 * h,
    'failed',
  ])
})

test('each wait is spread by a fifth to both sides', () => {
  for (const [chance, seconds] of [
    [0, 240],
    [0.999_999_999, 360],
  ] as const) {
    const given = { ...MIDDLE, chance, ...status(500), webhook: ACTIVE, delivery: { attempts: 1 } }
    const { next_us } = decideOutcome(given).delivery
    assert.equal(Math.round((Number(next_us) - NOW_US) / SECOND_US), seconds)
  }
})

test('Retry-After makes a wait longer, up to a day, and never shorter', () => {
  const waits = [3, 60, 10 * 86_400].map((retry_after_s) => {
    const given = { ...MIDDLE, webhook: ACTIVE, delivery: { attempts: 0 } }
    const { delivery } = decideOutcome({ ...given, ...status(429, retry_after_s) })
    return (Number(delivery.next_us) - NOW_US) / SECOND_US
  })
  assert.deepEqual(waits, [5, 60, 86_400])
})

test('only 2xx is delivered; other answers and faults say what they were', () => {
  const outcomeOf = (reply: Parameters<typeof decideOutcome>[0]['reply']) => {
    const given = { ...MIDDLE, reply, webhook: ACTIVE, delivery: { attempts: 0 } }
    const { delivery } = decideOutcome(given)
    return [delivery.status, delivery.response_code, delivery.error]
  }
  for (const code of [200, 204, 299])
    assert.deepEqual(outcomeOf(status(code).reply), ['delivered', code, null])
  for (const code of [304, 400, 404, 408, 429, 500])
    assert.deepEqual(outcomeOf(status(code).reply), ['retrying', code, `status_${code}`])
  assert.deepEqual(outcomeOf({ fault: 'tls' }), ['retrying', null, 'tls'])
})

test('five failures in a row make an endpoint failing; each probe that fails waits longer', () => {
  let webhook: Parameters<typeof decideOutcome>[0]['webhook'] = ACTIVE
  const waits: number[] = []
  for (let i = 0; i < 15; i += 1) {
    const probe = webhook.state === 'failing'
    const given = { ...MIDDLE, probe, ...status(500), webhook, delivery: { attempts: 0 } }
    const { webhook: change } = decideOutcome(given)
    webhook = { ...webhook, ...change }
    assert.equal(webhook.state, i < 4 ? 'active' : 'failing')
    if (i >= 4) waits.push((Number(change.next_probe_us) - NOW_US) / SECOND_US)
  }
  const [m, h] = [60, 3_600]
  const steps = [5, 5 * m, 30 * m, 2 * h, 5 * h, 10 * h, 14 * h, 20 * h, 24 * h]
  assert.deepEqual(waits, [...steps, 24 * h, 24 * h])
  const ended = { ...MIDDLE, probe: true, ...status(200), webhook, delivery: { attempts: 3 } }
  assert.deepEqual(decideOutcome(ended).webhook, {
    state: 'active',
    failures: 0,
    failing_since_us: null,
    next_probe_us: 0,
    last_success_us: NOW_US,
  })
})

test('what was under way when an endpoint began to fail counts for nothing', () => {
  const webhook = { state: 'failing', failures: 5, failing_since_us: NOW_US } as const
  const given = { ...MIDDLE, ...status(500), webhook, delivery: { attempts: 0 } }
  assert.deepEqual(decideOutcome(given).webhook, {})
})

test('410 disables at once, other failures after five days without a success', () => {
  const gone = { ...MIDDLE, ...status(410), webhook: ACTIVE, delivery: { attempts: 0 } }
  const { state, disabled_reason } = decideOutcome(gone).webhook
  assert.deepEqual([state, disabled_reason], ['disabled', 'gone'])
  const after = (hours: number) => {
    const failing_since_us = NOW_US - hours * HOUR_US
    const webhook = { state: 'failing', failures: 9, failing_since_us } as const
    const given = { ...MIDDLE, probe: true, webhook, delivery: { attempts: 2 } }
    return decideOutcome({ ...given, reply: { fault: 'timeout' } }).webhook
  }
  assert.equal(after(119).state, 'failing')
  assert.deepEqual([after(120).state, after(120).disabled_reason], ['disabled', 'failing'])
})
