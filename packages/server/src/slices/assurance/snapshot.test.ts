// Drift: what counts as another state than the one at the baseline.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { driftBetween, type Snapshot } from './execute-run.ts'

const ROOT = 'a'.repeat(64)
const baseline: Snapshot = {
  log: { tree_size: 10, root_hash: ROOT, generation: 0 },
  counts: {
    stores: 1,
    facts: 5,
    tombstones: 2,
    decisions: 3,
    certificates: 2,
    policies_in_force: 1,
  },
  policies: { policy_set: 1, digest: 'p' },
  keys: { digest: 'k', key_ids: ['one'] },
  settings: { version: '1', origin: 'custos/x' },
  checks: { chain: 'pass', seals: 'pass', clock: 'fail' },
}

const events = (change: Partial<Snapshot>, root: string | null = ROOT) =>
  driftBetween(baseline, { ...baseline, ...change }, root).map(
    ({ check, type, baseline_value, current_value }) => [
      check,
      type,
      baseline_value,
      current_value,
    ],
  )
const counts = (change: Partial<Snapshot['counts']>) =>
  events({ counts: { ...baseline.counts, ...change } })

test('an equal state, and one that has only grown, do not drift', () => {
  assert.deepEqual(events({}), [])
  const log = { tree_size: 20, root_hash: 'b'.repeat(64), generation: 0 }
  assert.deepEqual(events({ log, counts: { ...baseline.counts, facts: 9, decisions: 4 } }), [])
  assert.deepEqual(counts({ facts: 4, tombstones: 3, certificates: 3 }), [], 'an erasure')
  assert.deepEqual(counts({ stores: 0 }), [], 'a store that was deleted')
})

test('a check that passed then and fails now is a regression; one that failed then is not', () => {
  const checks = { chain: 'fail', seals: 'not_checked', clock: 'fail' } as const
  assert.deepEqual(events({ checks }), [['chain', 'regression', null, null]])
})

test('a log that is shorter, or began otherwise, is another', () => {
  const shorter = { tree_size: 9, root_hash: ROOT, generation: 1 }
  assert.deepEqual(events({ log: shorter }, null), [['chain', 'changed', 10, 9]])
  const other = 'c'.repeat(64)
  assert.deepEqual(events({}, other), [['chain', 'changed', ROOT, other]])
  assert.deepEqual(events({}, null), [['chain', 'changed', ROOT, null]])
})

test('what is fewer without a trace is told with both numbers', () => {
  assert.deepEqual(counts({ facts: 4 }), [['ledger', 'changed', 7, 6]])
  assert.deepEqual(counts({ tombstones: 1 }), [['ledger', 'changed', 7, 6]])
  assert.deepEqual(counts({ certificates: 1 }), [['ledger', 'changed', 2, 1]])
  assert.deepEqual(counts({ decisions: 2 }), [['seals', 'changed', 3, 2]])
})

test('other keys, policies and settings are told by their digests and values', () => {
  assert.deepEqual(events({ keys: { digest: 'l', key_ids: [] } }), [['keys', 'changed', 'k', 'l']])
  assert.deepEqual(events({ policies: { policy_set: 2, digest: 'q' } }), [
    ['policies', 'changed', 'p', 'q'],
  ])
  assert.deepEqual(events({ settings: { ...baseline.settings, version: '2' } }), [
    ['settings', 'changed', '1', '2'],
  ])
})
