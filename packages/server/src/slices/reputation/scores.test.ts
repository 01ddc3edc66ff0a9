// Scores over HTTP: what the contract computes by hand, to the last bit.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openScene, type Party } from './testing/scene.ts'

const scene = openScene()

const times = (count: number, outcome: string): string[] => Array(count).fill(outcome)

interface Row {
  readonly name: string
  readonly outcomes: readonly string[]
  readonly score: number
  readonly confidence: number
  readonly counts: readonly [resolved: number, pending: number, unscored: number]
  readonly tier: string
}

const ROWS: readonly Row[] = [
  {
    name: 'three paid',
    outcomes: times(3, 'paid'),
    score: 0.8,
    confidence: 5,
    counts: [3, 0, 0],
    tier: 'bronze',
  },
  {
    name: 'twenty paid and two in default',
    outcomes: [...times(20, 'paid'), ...times(2, 'default')],
    score: 21 / 24,
    confidence: 24,
    counts: [22, 0, 0],
    tier: 'gold',
  },
  {
    name: 'twelve paid',
    outcomes: times(12, 'paid'),
    score: 13 / 14,
    confidence: 14,
    counts: [12, 0, 0],
    tier: 'silver',
  },
  {
    name: 'two paid beside a disputed, a late and a written off one',
    outcomes: ['paid', 'paid', 'disputed', 'late', 'written_off'],
    score: 0.75,
    confidence: 4,
    counts: [2, 3, 3],
    tier: 'unproven',
  },
]

describe("'cgr.score' of resolved decisions", () => {
  for (const row of ROWS)
    test(row.name, async () => {
      const tenant = await scene.tenant()
      await tenant.earn('agent', row.outcomes)
      const { cgr_score, confidence, n_resolved, n_pending, n_unscored, tiergate } =
        await tenant.score('agent')
      assert.deepEqual([n_resolved, n_pending, n_unscored], row.counts)
      assert.deepEqual(
        [cgr_score, confidence, tiergate.tier],
        [row.score, row.confidence, row.tier],
      )
    })
})

test('an agent is unknown before its first decision, and scores one half after it', async () => {
  const tenant = await scene.tenant()
  assert.deepEqual(await tenant.refused('GET', '/cgr/scores/agent'), [404, 'score_not_found'])
  await tenant.decide('agent', 'one')
  await tenant.decide('agent', 'two')
  const { score, tiergate, ...fields } = await tenant.score('agent')
  assert.deepEqual(
    [fields.cgr_score, fields.confidence, fields.n_resolved, fields.n_pending],
    [0.5, 2, 0, 2],
  )
  assert.equal(fields.capability_tier, null)
  assert.equal(fields.dimension, 'receivables')
  assert.deepEqual([fields.subject_key, fields.subject_did, fields.proven], [null, null, false])
  assert.ok(fields.cgr_lower < 0.5)
  const { same_handle, ...object } = fields
  assert.deepEqual(score, object)
  assert.equal(same_handle, 0)
  assert.equal(tiergate.tier, 'unproven')
  assert.equal(tiergate.rationale, 'n_resolved=0 < proven floor 3')
  const { breadcrumbs } = await tenant.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
  assert.equal(fields.log_seq, breadcrumbs.at(-1).seq)
})

const scoreAndMass = async (tenant: Party, agent: string): Promise<number[]> => {
  const { cgr_score, confidence, n_resolved, n_pending } = await tenant.score(agent)
  return [cgr_score, confidence, n_resolved, n_pending]
}

test('a review by somebody unknown weighs 0.05 while there is no outcome', async () => {
  const tenant = await scene.tenant()
  await tenant.decide('agent', 'one')
  await tenant.review('one', 'somebody', 1)
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [1.05 / 2.05, 2.05, 0, 1])
})

test('a reviewer with a track record weighs by it, until the outcome is there', async () => {
  const tenant = await scene.tenant()
  await tenant.observe('careful', 5, 0.9)
  await tenant.decide('agent', 'one')
  await tenant.review('one', 'careful', 1)
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [1.96 / 2.96, 2.96, 0, 1])
  await tenant.outcome('one', 'paid')
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [2 / 3, 3, 1, 0])
})

test('a reviewer who always says one half has no weight from the fifth on', async () => {
  const tenant = await scene.tenant()
  await tenant.observe('coin', 4, 0.5)
  await tenant.decide('agent', 'one')
  await tenant.review('one', 'coin', 1)
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [1.05 / 2.05, 2.05, 0, 1])
  await tenant.review('the fifth', 'coin', 0.5)
  await tenant.outcome('the fifth', 'paid')
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [0.5, 2, 0, 1])
})

test('an outcome that is corrected moves one unit, and back', async () => {
  const tenant = await scene.tenant()
  await tenant.earn('agent', ['paid', 'paid'])
  const corrected = await tenant.outcome('agent 0', 'default')
  assert.deepEqual([corrected.superseded_prior, corrected.idempotent], [true, false])
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [0.5, 4, 2, 0])
  await tenant.outcome('agent 0', 'disputed')
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [2 / 3, 3, 1, 1])
  await tenant.outcome('agent 0', 'paid')
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [0.75, 4, 2, 0])
})

test('rules and rejects are recorded and earn nothing', async () => {
  const tenant = await scene.tenant()
  await tenant.decide('agent', 'by rule', { verifiability_tag: 'rule' })
  await tenant.decide('agent', 'rejected', { decision: 'reject' })
  for (const referent of ['by rule', 'rejected']) {
    await tenant.outcome(referent, 'paid')
    await tenant.review(referent, 'somebody', 1)
  }
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [0.5, 2, 0, 0])
})

test('a decision that comes after the outcome counts as if it came before', async () => {
  const tenant = await scene.tenant()
  await tenant.outcome('one', 'paid')
  await tenant.review('two', 'somebody', 0)
  await tenant.decide('agent', 'one')
  await tenant.decide('agent', 'two')
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [2 / 3.05, 3.05, 1, 1])
})

test('agent_tier is recorded, and neither the score nor capability_tier knows it', async () => {
  const tenant = await scene.tenant()
  const { decision_record } = await tenant.decide('agent', 'one', { agent_tier: 0.75 })
  assert.equal(decision_record.agent_tier, 0.75)
  const { cgr_score, capability_tier } = await tenant.score('agent')
  assert.deepEqual([cgr_score, capability_tier], [0.5, null])
})

test('each dimension has a posterior of its own, and nothing joins across', async () => {
  const tenant = await scene.tenant()
  await tenant.decide('agent', 'one')
  await tenant.decide('agent', 'one', { dimension: 'deploys' })
  await tenant.outcome('one', 'paid', { dimension: 'deploys' })
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [0.5, 2, 0, 1])
  const other = await tenant.score('agent', '?dimension=deploys')
  assert.deepEqual([other.cgr_score, other.dimension], [2 / 3, 'deploys'])
  const listed = await tenant.ok('GET', '/cgr/scores?dimension=deploys')
  assert.deepEqual([listed.count, listed.dimension], [1, 'deploys'])
})

test("'cgr.scores' pages agents, highest first, and a page never changes a score", async () => {
  const tenant = await scene.tenant()
  await tenant.earn('good', ['paid', 'paid'])
  await tenant.earn('bad', ['default'])
  await tenant.decide('new', 'pending')
  const all = await tenant.ok('GET', '/cgr/scores?limit=500')
  assert.deepEqual(Object.keys(all)[0], 'scores')
  assert.deepEqual(
    all.scores.map(({ agent_handle, cgr_score }: { agent_handle: string; cgr_score: number }) => [
      agent_handle,
      cgr_score,
    ]),
    [
      ['good', 0.75],
      ['new', 0.5],
      ['bad', 1 / 3],
    ],
  )
  const { as_of: _, ...first } = all.scores[1]
  const paged = await tenant.ok('GET', '/cgr/scores?limit=1&offset=1')
  const { as_of: _later, ...second } = paged.scores[0]
  assert.deepEqual(second, first)
  const next = await tenant.ok('GET', `/cgr/scores?limit=1&cursor=${paged.next_cursor}`)
  assert.equal(next.scores[0].agent_handle, 'bad')
})

test('a page of scores begins below the last score, also when new ones rank above', async () => {
  const tenant = await scene.tenant()
  await tenant.earn('good', ['paid', 'paid'])
  await tenant.decide('new', 'pending')
  await tenant.earn('bad', ['default'])
  const path = '/cgr/scores?limit=1'
  const first = await tenant.ok('GET', path)
  await tenant.earn('better', ['paid', 'paid', 'paid'])
  const next = await tenant.ok('GET', `${path}&cursor=${first.next_cursor}`)
  const last = await tenant.ok('GET', `${path}&cursor=${next.next_cursor}`)
  assert.deepEqual(
    [first, next, last].map(({ scores }) => scores[0].agent_handle),
    ['good', 'new', 'bad'],
  )
})

test('more than 500 ordinary decisions change no score', async () => {
  const tenant = await scene.tenant()
  await tenant.earn('agent', ['paid'])
  const logged = { store_id: 's', model_id: 'm', query: 'q', output: 'o' }
  await Promise.all(Array.from({ length: 510 }, () => tenant.ok('POST', '/decisions/log', logged)))
  assert.deepEqual(await scoreAndMass(tenant, 'agent'), [2 / 3, 3, 1, 0])
  const { decisions } = await tenant.ok('GET', '/decisions?limit=1000')
  assert.equal(decisions.length, 510, 'governed decisions are not in the decision trail')
})

test('handles with slashes, at and percent signs are found in every form of a path', async () => {
  const tenant = await scene.tenant()
  for (const handle of ['team/blue@acme', 'a/b/', '100%/x', 'ü@x', 'score?x#y', 'bulk']) {
    await tenant.decide(handle, handle)
    assert.equal((await tenant.score(handle)).agent_handle, handle)
  }
  assert.equal((await tenant.ok('GET', '/cgr/scores/team/blue@acme')).n_pending, 1)
  assert.equal((await tenant.ok('GET', '/cgr/scores/team/blue%40acme/')).n_pending, 1)
  assert.equal((await tenant.ok('GET', '/cgr/scores/')).count, 6)
  const wrong = await tenant.ask('POST', '/cgr/scores/team/blue@acme', {})
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD'])
})

test('reads need cgr:read, writes cgr:write, no tenant sees the agents of another', async () => {
  const tenant = await scene.tenant()
  await tenant.earn('agent', ['paid'])
  const reader = await tenant.withKey(['cgr:read'])
  const writer = await tenant.withKey(['cgr:write'])
  assert.equal((await reader.score('agent')).n_resolved, 1)
  assert.deepEqual(await writer.refused('GET', '/cgr/scores'), [403, 'scope_missing'])
  const body = { invoice_ref: 'x', outcome: 'paid' }
  assert.deepEqual(await reader.refused('POST', '/governed/outcomes', body), [403, 'scope_missing'])
  const other = await scene.tenant()
  assert.equal((await other.ok('GET', '/cgr/scores')).count, 0)
  assert.deepEqual(await other.refused('GET', '/cgr/scores/agent'), [404, 'score_not_found'])
  await other.decide('agent', 'agent 0')
  assert.equal((await other.score('agent')).n_pending, 1, 'outcomes do not join across tenants')
})
