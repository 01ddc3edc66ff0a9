// The oracle: against a store in memory that keeps every promise, and by hand where it counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteOptions } from '../client/store.ts'
import { type Workloads, workloadsOf } from '../workloads/all.ts'
import type { Trace, Turn } from '../workloads/trace.ts'
import { expectationsOf, groundTruthOf } from './oracle.ts'
import { leakageOf, precisionOf, type ReplayStore, recallOf, replay } from './replay.ts'

const declared = new Set(['supersession_chain', 'bi_temporal', 'hard_delete', 'multi_tenant'])
const WRONG = ['unknown', 'deleted', 'foreign', 'not_valid_then', 'not_yet_written'] as const

type Kept = { content: string; from: string; until: string | null; tenant: string | null }

/** Answers with everything that holds then, in the order of writing. */
function modelStore(): ReplayStore {
  const kept = new Map<number, Kept>()
  let next = 1
  const write = async (content: string, { valid_from = '', tenant_id = null }: WriteOptions) => {
    kept.set(next, { content, from: valid_from ?? '', until: null, tenant: tenant_id })
    next += 1
    return next - 1
  }
  return {
    write,
    async supersede(old_ref, content, options) {
      const old = kept.get(Number(old_ref))
      if (old) old.until = options.valid_from ?? null
      return write(content, options)
    },
    erase: async (ref) => kept.delete(Number(ref)),
    async retrieve(_, { as_of, tenant_id = null }) {
      const at = as_of ?? '9999'
      return [...kept]
        .filter(([, m]) => m.tenant === tenant_id && m.from <= at)
        .filter(([, m]) => m.until === null || at < m.until)
        .map(([ref]) => ref)
    },
  }
}

for (const seed of [0, 1, 2, 77])
  test(`a store that keeps every promise answers seed ${seed} as the oracle expects`, async () => {
    const { at_once: _, ...workloads } = workloadsOf(seed)
    for (const trace of Object.values(workloads)) {
      const { observations } = await replay(trace, modelStore(), { budget: 512, declared })
      assert.ok(observations.length > 0, trace.workload)
      assert.equal(recallOf(observations), 1, trace.workload)
      assert.equal(leakageOf(observations, WRONG), 0, trace.workload)
    }
  })

test('a store that keeps everything for ever is seen in every workload of change', async () => {
  const workloads = workloadsOf(1)
  const names = ['current_versions', 'past_versions', 'deletion', 'across_sessions'] as const
  for (const name of names satisfies readonly (keyof Workloads)[]) {
    const all: number[] = []
    const keep = async () => all.push(all.length + 1)
    const store = { write: keep, supersede: keep, erase: async () => true }
    const options = { budget: 512, declared }
    const hoarder = { ...store, retrieve: async () => all }
    const { observations } = await replay(workloads[name], hoarder, options)
    assert.equal(recallOf(observations), 1)
    assert.ok(leakageOf(observations, WRONG) > 0.3, name)
    assert.ok(precisionOf(observations) < 0.2, name)
  }
})

const T = (second: number) => `2024-01-01T00:00:0${second}.000000+00:00`

/** Three versions, written one second apart; then the turns of the case, one second apart. */
function chainTrace(turns: readonly Partial<Turn>[]): Trace {
  const slot = { subject: 'S', predicate: 'p' }
  const fact = (n: number) => ({
    fact_id: `v${n}`,
    ...slot,
    object: `o${n}`,
    importance: 1,
    tenant_id: null,
    valid_from: T(n),
    valid_until: n < 3 ? T(n + 1) : null,
    superseded_by: n < 3 ? `v${n + 1}` : null,
  })
  const turn = (set: Partial<Turn>, i: number): Turn => ({
    turn_id: `t${i + 1}`,
    role: 'user',
    content: '',
    timestamp: T(i + 1),
    introduces: [],
    deletes: [],
    asks: null,
    as_of: null,
    txn_id: null,
    ...set,
  })
  const asking = turns.map((set) => (set.role === 'agent_query' ? { ...set, asks: slot } : set))
  const written = [1, 2, 3].map((n) => ({ introduces: [`v${n}`] }))
  return {
    workload: 'by hand',
    seed: 0,
    facts: [1, 2, 3].map(fact),
    sessions: [{ session_id: 's', tenant_id: null, turns: [...written, ...asking].map(turn) }],
  }
}

const ask = (as_of: string | null = null): Partial<Turn> => ({ role: 'agent_query', as_of })
const cases: readonly [string, Partial<Turn>[], string[]][] = [
  ['the last version holds now', [ask()], ['v3']],
  ['a version holds from its first instant', [ask(T(2))], ['v2']],
  ['and no longer at the first of the next', [ask(T(3))], ['v3']],
  ['nothing holds before the first', [ask('2023-12-31T00:00:00.000000+00:00')], []],
  ['with the last deleted, the one before holds again', [{ deletes: ['v3'] }, ask()], ['v2']],
  ['also for a time after it had ended', [{ deletes: ['v3'] }, ask(T(4))], ['v2']],
  ['with the middle deleted, its time is a gap', [{ deletes: ['v2'] }, ask(T(2))], []],
  ['and the first does not hold longer', [{ deletes: ['v2'] }, ask(T(1))], ['v1']],
  ['with the first deleted, the second is the oldest', [{ deletes: ['v1'] }, ask(T(1))], []],
  ['with all after the first deleted, it is open', [{ deletes: ['v2', 'v3'] }, ask()], ['v1']],
  ['what a transaction deletes is not certain', [{ deletes: ['v3'], txn_id: 'x' }, ask()], ['v3']],
]

for (const [what, turns, expected] of cases)
  test(`rule O2 and intervals: ${what}`, () => {
    const trace = chainTrace(turns)
    const last = [...expectationsOf(trace).values()].at(-1)
    assert.deepEqual(last?.required, expected)
    const allowed = trace.facts.filter(({ fact_id }) => !last?.forbidden.has(fact_id))
    assert.deepEqual(
      allowed.map(({ fact_id }) => fact_id),
      expected,
    )
  })

test('the ground truth of a trace has its chains, partitions and deletions', () => {
  const { namespaces, deletion, current_versions } = workloadsOf(5)
  const parts = groundTruthOf(namespaces).tenant_partitions
  assert.deepEqual([...parts.keys()], ['apart-1', 'apart-2', 'apart-3'])
  assert.equal([...parts.values()].flat().length, namespaces.facts.length)
  assert.equal(groundTruthOf(deletion).deleted_facts.size, 10)
  const chains = groundTruthOf(current_versions).superseded_chains
  assert.deepEqual(new Set(chains.map((chain) => chain.length)), new Set([2, 3]))
})

test('a trace that introduces a fact it does not have is refused', () => {
  const trace = chainTrace([{ introduces: ['v9'] }])
  assert.throws(() => expectationsOf(trace), /unknown fact v9/)
})
