// The suite's oracle against the public traces: it must expect what they expect, all of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anomalyOf, expectationsOf, groundTruthOf } from '@custos/conformance'
import { loadTrace, type PublicTrace, traceNames } from './trace.ts'

const ABSENT = 'the data sets are not present, nothing was compared'
const sorted = (ids: Iterable<string>): string[] => [...ids].sort()

/** Every public trace that there is, each as a test of its own within one that says so. */
function eachTrace(title: string, compare: (found: PublicTrace) => number): void {
  test(title, (t) => {
    const names = traceNames()
    if (names.length === 0) return t.diagnostic(ABSENT)
    let compared = 0
    for (const name of names) {
      const found = loadTrace(name)
      assert.ok(found, name)
      compared += compare(found)
    }
    t.diagnostic(`${names.length} traces, ${compared} answers compared`)
    assert.ok(compared > 0)
  })
}

eachTrace('the oracle requires of each question what the public trace requires', (found) => {
  const { recall_targets } = groundTruthOf(found.trace)
  const single = [...recall_targets].filter(([turn_id]) => !inGroup(found, turn_id))
  for (const [turn_id, required] of single) {
    const wanted = found.requires.get(turn_id) ?? []
    assert.deepEqual(sorted(required), sorted(wanted), `${found.trace.workload} ${turn_id}`)
    assert.deepEqual(sorted(found.answers.recall_targets[turn_id] ?? []), sorted(wanted))
  }
  return single.length
})

eachTrace('what a transaction may read holds what the public trace has it read', (found) => {
  const { recall_targets } = groundTruthOf(found.trace)
  const reads = [...recall_targets].filter(([turn_id]) => inGroup(found, turn_id))
  for (const [turn_id, required] of reads)
    for (const wanted of found.requires.get(turn_id) ?? []) assert.ok(required.includes(wanted))
  return found.trace.workload.startsWith('W10') ? reads.length : 1
})

function inGroup({ groups }: PublicTrace, turn_id: string): boolean {
  return groups.some(({ turns }) => turns.some((turn) => turn.turn_id === turn_id))
}

eachTrace('the oracle forbids every fact that is deleted, foreign or of another time', (found) => {
  const { trace, answers } = found
  const tenantOf = new Map(trace.sessions.flatMap((s) => s.turns.map((t) => [t, s] as const)))
  let compared = 0
  for (const [turn, { tenant_id }] of tenantOf) {
    if (turn.role !== 'agent_query') continue
    const { forbidden } = expectationsOf(trace).get(turn.turn_id) ?? { forbidden: new Map() }
    for (const [fact_id, at] of Object.entries(answers.deleted_facts))
      assert.equal(forbidden.get(fact_id) === 'deleted', at <= turn.timestamp)
    for (const [tenant, ids] of Object.entries(answers.tenant_partitions))
      if (tenant !== tenant_id) for (const id of ids) assert.ok(forbidden.has(id))
    compared += 1
  }
  return compared
})

eachTrace('the oracle finds the same version chains, partitions and deletions', (found) => {
  const { superseded_chains, tenant_partitions, deleted_facts } = groundTruthOf(found.trace)
  const { answers } = found
  const chains = Object.values(answers.superseded_chains).map((chain) => chain.join(' '))
  assert.deepEqual(sorted(superseded_chains.map((chain) => chain.join(' '))), sorted(chains))
  const partitions = Object.entries(answers.tenant_partitions)
  assert.deepEqual(sorted(tenant_partitions.keys()), sorted(partitions.map(([name]) => name)))
  for (const [name, ids] of partitions)
    assert.deepEqual(sorted(tenant_partitions.get(name) ?? []), sorted(ids))
  assert.deepEqual(Object.fromEntries(deleted_facts), answers.deleted_facts)
  return chains.length + partitions.length + deleted_facts.size
})

test('the oracle names the anomaly that each public group of transactions can show', (t) => {
  const w10 = traceNames().filter((name) => name.startsWith('w10'))
  if (w10.length === 0) return t.diagnostic(ABSENT)
  let compared = 0
  for (const name of w10) {
    const found = loadTrace(name)
    for (const { anomaly, turns } of found?.groups ?? []) {
      assert.equal(found && anomalyOf(found.trace, turns), anomaly, name)
      compared += 1
    }
  }
  t.diagnostic(`${w10.length} traces, ${compared} groups compared`)
  assert.ok(compared > 0)
})
