// The clock and the wire form of times.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  DAY_US,
  formatTime,
  parseDateOrTime,
  parseTime,
  systemClock,
  TIME_MAX_US,
  TIME_MIN_US,
} from './clock.ts'

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

test('the clock follows a machine that was suspended, and one whose clock is set forward', (t) => {
  const clock = systemClock()
  const before = clock.now()
  const { now } = Date
  const set = t.mock.method(Date, 'now', () => now() + 86_400_000)
  const then = clock.now()
  assert(then - before >= DAY_US - 1_000)
  set.mock.restore()
  const back = clock.now()
  assert(back > then)
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

/** Spellings of one microsecond in UTC, after a date that ISO 8601 also writes without hyphens. */
const SPELLINGS: readonly ((date: string, time: string) => string)[] = [
  (date, time) => `${date}T${time}Z`,
  (date, time) => `${date} ${time}`,
  (date, time) => `${date}t${time.replace('.', ',')}z`,
  (date, time) => `${date}T${time}123+00`,
  (date, time) => `${date.replaceAll('-', '')}T${time.replaceAll(':', '')}-0000`,
]

test('a date or time is the same moment in every spelling, and in UTC without an offset', () => {
  const offset = fc.integer({ min: -23 * 60, max: 23 * 60 })
  const us = fc.integer({ min: TIME_MIN_US + DAY_US, max: TIME_MAX_US - 2 * DAY_US })
  fc.assert(
    fc.property(us, offset, fc.constantFrom(...SPELLINGS), (us, minutes, spell) => {
      const [date = '', time = ''] = formatTime(us).slice(0, -1).split('T')
      assert.deepEqual(parseDateOrTime(spell(date, time)), { us, is_day: false })
      const day = { us: us - (((us % DAY_US) + DAY_US) % DAY_US), is_day: true }
      assert.deepEqual(parseDateOrTime(date), day)
      assert.deepEqual(parseDateOrTime(date.replaceAll('-', '')), day)
      const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
      const pad = (value: number) => String(value).padStart(2, '0')
      const zone = `${minutes < 0 ? '-' : '+'}${pad(hours)}:${pad(rest)}`
      const local = formatTime(us + minutes * 60_000_000).slice(0, -1)
      assert.deepEqual(parseDateOrTime(local + zone), { us, is_day: false })
    }),
  )
})

test('hours and minutes alone are a time', () => {
  const at = (text: string) => parseDateOrTime(text)?.us
  assert.equal(at('2026-01-31T09:30'), parseTime('2026-01-31T09:30:00Z'))
  assert.equal(at('2026-01-31T09+01'), parseTime('2026-01-31T08:00:00Z'))
})

test('leap days exist in leap years only', () => {
  const year = fc.integer({ min: 1701, max: 2253 })
  fc.assert(
    fc.property(year, (year) => {
      const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
      assert.equal(parseDateOrTime(`${year}-02-29`) !== null, isLeap)
      assert.equal(parseDateOrTime(`${year}-02-30`), null)
    }),
  )
})

test('week and ordinal dates, months, leap seconds and what does not exist are not taken', () => {
  for (const text of [
    '2026-W05-6',
    '2026W056',
    '2026-031',
    '2026031',
    '2026-01',
    '2026',
    '2026-0131',
    '2026-13-01',
    '2026-04-31',
    '2026-01-31T24:00',
    '2016-12-31T23:59:60Z',
    '2026-01-31T09:3',
    '2026-01-31T0930:00',
    '2026-01-31T09:30+24:00',
    '2026-01-31T09:30+0',
    '2026-01-31T',
    '2026-01-31Z',
    '26-01-31',
    '+002026-01-31',
    '9999-12-31',
    '1500-01-01',
    ' 2026-01-31',
    '2026-01-31\n',
    '',
    'now',
    '1769850000',
  ])
    assert.equal(parseDateOrTime(text), null, text)
})
