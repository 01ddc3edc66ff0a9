// Runs of numbers: which secrets are read and which are erased by one call.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runsOf } from './secret-bytes.ts'

const slots = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 })

test('runs for erasing cover exactly the slots named', () => {
  fc.assert(
    fc.property(slots, fc.integer({ min: 1, max: 50 }), (named, slotsMax) => {
      const covered = runsOf(named, 0, slotsMax).flatMap(({ start, end }) => {
        assert.ok(end - start <= slotsMax)
        return Array.from({ length: end - start }, (_, i) => start + i)
      })
      assert.deepEqual(
        [...new Set(covered)],
        [...new Set(named)].sort((a, b) => a - b),
      )
    }),
  )
})

test('runs for reading cover every slot named, ascending and apart', () => {
  fc.assert(
    fc.property(slots, fc.nat(40), (named, gap) => {
      const runs = runsOf(named, gap, 1000)
      for (const slot of named)
        assert.equal(runs.filter(({ start, end }) => slot >= start && slot < end).length, 1)
      for (const [i, run] of runs.entries()) assert.ok(run.start >= (runs[i - 1]?.end ?? 0))
    }),
  )
})
