// Workloads: the same seed makes the same bytes, and what a question asks for can be told apart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalize } from '@custos/proof'
import { expectationsOf } from '../evaluation/oracle.ts'
import { workloadDigest, workloadsOf } from './all.ts'
import { turnsInOrder } from './trace.ts'

test('the same seed makes the same workloads, byte for byte, and another seed others', () => {
  assert.equal(canonicalize({ ...workloadsOf(1) }), canonicalize({ ...workloadsOf(1) }))
  const digests = [0, 1, 2, 2 ** 53 - 1].map((seed) => workloadDigest(workloadsOf(seed)))
  assert.equal(new Set(digests).size, 4)
})

// A change to these bytes is another suite: SUITE_VERSION must change with it.
test('seed 1 makes what this version of the suite has always made', () => {
  assert.equal(
    workloadDigest(workloadsOf(1)),
    'f184eb5bbe41e12844bf8090e2e206b23f0d2ff3e80be2a2865495ce3ce09531',
  )
})

test('every workload has questions, and all but those about what is gone have an answer', () => {
  const { at_once, ...workloads } = workloadsOf(9)
  assert.equal(expectationsOf(at_once).size, 0)
  for (const [name, trace] of Object.entries(workloads)) {
    const expected = [...expectationsOf(trace).values()]
    assert.ok(expected.length > 0, name)
    const empty = expected.filter(({ required }) => required.length === 0).length
    const some = { deletion: 10, across_sessions: 6, past_versions: 4 }[name] ?? 0
    assert.equal(empty, some, name)
    const answers = name === 'conflicts' ? 2 : 1
    for (const { required } of expected)
      assert.ok(required.length === 0 || required.length === answers)
  }
})

test('ids are unique and times go on, within each trace', () => {
  for (const trace of Object.values(workloadsOf(4))) {
    const turns = turnsInOrder(trace).map(({ turn }) => turn)
    assert.equal(new Set(turns.map(({ turn_id }) => turn_id)).size, turns.length)
    assert.equal(new Set(trace.facts.map(({ fact_id }) => fact_id)).size, trace.facts.length)
    const single = turns.filter(({ txn_id }) => txn_id === null).map(({ timestamp }) => timestamp)
    assert.deepEqual([...new Set(single)].sort(), single)
  }
})

test('a fact fits a small budget many times over', () => {
  for (const trace of Object.values(workloadsOf(4)))
    for (const { turn } of turnsInOrder(trace)) assert.ok([...turn.content].length <= 80)
})
