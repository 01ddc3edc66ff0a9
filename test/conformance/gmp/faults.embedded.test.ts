// The suite is worth what it notices: a fault of each capability. The slow file has the others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GMP_CAPABILITIES } from '@custos/conformance'
import { judgeFaults } from './testing/judge-faults.ts'

const all = judgeFaults(
  (fault, others) => others.find(({ fails }) => fails[0] === fault.fails[0]) === fault,
)

test('every capability is broken by some fault', () => {
  const broken = new Set(all.flatMap(({ fails }) => fails))
  assert.deepEqual([...broken].sort(), [...GMP_CAPABILITIES].sort())
})
