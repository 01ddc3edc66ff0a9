// Months and sums of usage.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTime } from '../../../platform/clock.ts'
import { addUsages, calendarMonth } from './usage.ts'

const us = (text: string): number => parseTime(text) ?? Number.NaN

test('a month is the UTC calendar month, across the turn of a year', () => {
  assert.deepEqual(calendarMonth(us('2026-01-31T23:59:59.999999Z'), 0), {
    period: '2026-01',
    start_at: '2026-01-01T00:00:00.000000Z',
    end_at: '2026-02-01T00:00:00.000000Z',
  })
  assert.equal(calendarMonth(us('2026-01-01T00:00:00Z'), 1).period, '2025-12')
  assert.equal(calendarMonth(us('2026-12-15T00:00:00Z'), 0).end_at, '2027-01-01T00:00:00.000000Z')
  assert.equal(calendarMonth(us('2026-03-31T00:00:00Z'), 1).period, '2026-02')
})

test('usages add up operation by operation', () => {
  const one = {
    writes: 1,
    reads: 2,
    deletes: 0,
    supersedes: 1,
    total_bytes: 10,
    total_operations: 4,
    operations: { a: 1, b: 3 },
  }
  const sum = addUsages([one, one, { ...one, operations: { c: 4 } }])
  assert.equal(sum.total_operations, 12)
  assert.deepEqual(sum.operations, { a: 2, b: 6, c: 4 })
  assert.deepEqual(addUsages([]).operations, {})
})
