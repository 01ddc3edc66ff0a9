// Due dates by the calendar: the same day of a later month, or its last.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime, parseTime } from '../../platform/clock.ts'
import { addMonths, dueAfter, extendedDue } from './due-date.ts'

const us = (day: string): number => parseTime(`${day}T10:20:30.123456Z`) ?? Number.NaN
const dayOf = (time: number): string => formatTime(time).slice(0, 10)

test('a month later is the same day and time, or the last day of a shorter month', () => {
  const cases = [
    ['2026-01-15', 1, '2026-02-15'],
    ['2026-01-31', 1, '2026-02-28'],
    ['2028-01-31', 1, '2028-02-29'],
    ['2026-03-31', 1, '2026-04-30'],
    ['2026-12-31', 1, '2027-01-31'],
    ['2026-11-30', 3, '2027-02-28'],
    ['2026-01-31', 3, '2026-04-30'],
  ] as const
  for (const [from, months, to] of cases) {
    assert.equal(dayOf(addMonths(us(from), months)), to, `${from} + ${months}`)
    assert.equal(formatTime(addMonths(us(from), months)).slice(10), 'T10:20:30.123456Z')
  }
})

test('an extension ends three months after receipt, or two after another day that was set', () => {
  const received = us('2026-01-31')
  assert.equal(dayOf(extendedDue(received, dueAfter(received))), '2026-04-30')
  assert.equal(dayOf(extendedDue(received, us('2026-02-10'))), '2026-04-10')
})
