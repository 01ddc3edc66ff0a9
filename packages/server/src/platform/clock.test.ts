// The clock and the wire form of times.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatTime, parseTime, systemClock, TIME_MAX_US, TIME_MIN_US } from './clock.ts'

test('the clock never repeats and never goes back, also behind an earlier run', () => {
  const future = (Date.now() + 60_000) * 1000
  const clock = systemClock(future)
  let last = future
  for (let i = 0; i < 10_000; i++) {
    const now = clock.now()
    assert(now > last)
    last = now
  }
})

test('a time survives its wire form to the microsecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: TIME_MIN_US, max: TIME_MAX_US - 1 }), (us) => {
      const text = formatTime(us)
      assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      assert.equal(parseTime(text), us)
    }),
  )
})

test('offsets are honoured and digits beyond the sixth cut off', () => {
  assert.equal(
    parseTime('2026-01-01T12:00:00.1234569+02:00'),
    parseTime('2026-01-01T10:00:00.123456Z'),
  )
})

test('naive times, impossible dates and far times are not taken', () => {
  for (const text of [
    '2026-01-01T12:00:00',
    '2026-01-01',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '9999-12-31T23:59:59Z',
    '1500-01-01T00:00:00Z',
    '',
    'now',
  ])
    assert.equal(parseTime(text), null, text)
})
