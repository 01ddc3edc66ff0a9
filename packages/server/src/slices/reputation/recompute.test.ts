// Every aggregate follows from the log, bit for bit, after any sequence of requests.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rawSql } from '../../testing/raw-sql.ts'
import { recompute } from './index.ts'
import { linkOf, newKey, provenBy } from './testing/keys.ts'
import { openScene, type Party } from './testing/scene.ts'

const scene = openScene()

const recomputed = ({ service, tenant_id }: Party) =>
  service.kernel.db.read(tenant_id, (db) => recompute(db))

/** A small linear congruential generator: the same sequence in every run. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const OUTCOMES = ['paid', 'default', 'disputed', 'late', 'written_off']

/** Requests over few words, so that they meet; what is refused is refused. */
async function act(
  tenant: Party,
  next: (below: number) => number,
  keys: ReturnType<typeof newKey>[],
) {
  const dimension = next(5) === 0 ? 'deploys' : 'receivables'
  const invoice = () => `invoice ${next(8)}`
  const handle = () => `agent ${next(4)}`
  const outcome = () => ({ invoice_ref: invoice(), outcome: OUTCOMES[next(5)], dimension })
  const review = () => ({
    invoice_ref: invoice(),
    // Some of them are agents.
    reviewer_handle: next(4) === 0 ? handle() : `reviewer ${next(6)}`,
    rating: next(1_000_001) / 1_000_000,
    dimension,
    ...(next(3) === 0 ? { agent_handle: handle() } : {}),
  })
  const many = <T>(make: () => T): T[] => Array.from({ length: next(6) }, make)
  const what = next(10)
  if (what < 4) {
    const [agent_handle, invoice_id] = [handle(), next(10) === 0 ? null : invoice()]
    const decision = next(4) === 0 ? 'reject' : 'certify'
    const verifiability_tag = next(5) === 0 ? 'rule' : 'judgment'
    const body = { decision, verifiability_tag, agent_handle, invoice_id, dimension }
    const key = next(2) === 0 ? keys[next(keys.length)] : undefined
    const said = { ...body, tenant_id: tenant.tenant_id }
    const by = key && (next(2) === 0 ? provenBy(key, said) : { agent_key: key.key })
    await tenant.ask('POST', '/governed/decisions', { ...body, ...by })
  } else if (what < 6) await tenant.ask('POST', '/governed/outcomes', outcome())
  else if (what < 7) await tenant.ask('POST', '/governed/outcomes/bulk', many(outcome))
  else if (what < 9) await tenant.ask('POST', '/governed/reviews', review())
  else await tenant.ask('POST', '/governed/reviews/bulk', many(review))
}

async function randomly(tenant: Party, seed: number, steps: number): Promise<void> {
  const next = random(seed)
  const keys = Array.from({ length: 4 }, newKey)
  for (let step = 0; step < steps; step += 5) {
    if (step === steps / 2) {
      const [from, to] = [keys[0], newKey()]
      assert.ok(from)
      await tenant.ok('POST', '/cgr/rotation', linkOf(from, to, {}))
      keys.push(to)
    }
    // At once: in whatever order they come.
    await Promise.all(Array.from({ length: 5 }, () => act(tenant, next, keys)))
  }
}

describe('after a random sequence of requests', () => {
  for (const seed of [1, 2, 3, 4])
    test(`seed ${seed}`, async () => {
      const tenant = await scene.tenant()
      await randomly(tenant, seed, 300)
      const { differences, agents, reviews, outcomes } = await recomputed(tenant)
      assert.deepEqual(differences, [])
      assert.ok(agents > 5 && reviews > 20 && outcomes > 8)
      const { live } = { live: await live_of(tenant) }
      assert.ok(live > 0, 'some reviews are live')
    })
})

const live_of = async ({ service, tenant_id }: Party): Promise<number> => {
  const sql = 'select count(*) as n from cgr_live_reviews where tenant_id = ?'
  return Number((await rawSql(service, sql, [tenant_id]))[0]?.['n'])
}

test('the digest of the scores tells whether two logs give the same scores', async () => {
  const tenant = await scene.tenant()
  await tenant.earn('agent', ['paid'])
  const before = await recomputed(tenant)
  await tenant.outcome('nobody decided on it', 'paid')
  assert.equal((await recomputed(tenant)).scores_digest, before.scores_digest)
  await tenant.earn('another', ['paid'])
  assert.notEqual((await recomputed(tenant)).scores_digest, before.scores_digest)
})

describe('a table that was altered behind the service is told from the log', () => {
  const alterations: Readonly<Record<string, string>> = {
    cgr_agents: 'update cgr_agents set n_success = n_success + 1 where tenant_id = ?',
    cgr_reviewers: 'update cgr_reviewers set error_parts = error_parts + 1 where tenant_id = ?',
    cgr_live_reviews: 'delete from cgr_live_reviews where tenant_id = ?',
    cgr_decisions: 'update cgr_decisions set current = 0 where tenant_id = ?',
    cgr_outcomes: `update cgr_outcomes set outcome = 'default' where tenant_id = ?`,
    cgr_reviews: 'update cgr_reviews set rating_e6 = 1 where tenant_id = ?',
  }
  for (const [table, sql] of Object.entries(alterations))
    test(table, async () => {
      const tenant = await scene.tenant()
      await tenant.earn('agent', ['paid'])
      await tenant.review('agent 0', 'somebody', 0.5)
      await tenant.decide('agent', 'pending')
      await tenant.review('pending', 'somebody', 1)
      assert.deepEqual((await recomputed(tenant)).differences, [])
      await rawSql(scene.service, sql, [tenant.tenant_id])
      const { differences } = await recomputed(tenant)
      assert.ok(differences.length > 0)
      assert.deepEqual([...new Set(differences.map((found) => found.table))], [table])
    })
})
