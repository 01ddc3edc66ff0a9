// Every operation is exercised by a test of its own, and the page says which.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { coverageOf, coveragePage, PAGE } from './coverage.ts'

test('every operation is named by a test besides the sweeps over all of them', () => {
  const untested = coverageOf().filter(({ tests }) => tests.length === 0)
  assert.deepEqual(
    untested.map(({ operation }) => operation.id),
    [],
  )
})

test('COVERAGE.md is what `npm run generate` writes', () => {
  assert.equal(readFileSync(PAGE, 'utf8'), coveragePage(), 'run npm run generate')
})
