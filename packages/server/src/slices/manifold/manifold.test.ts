// The manifold over HTTP: the same places for the same words, and nothing of erased ones.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { ManifoldField, ManifoldPoint } from '@custos/contract'
import { dimensionLabel } from '../reputation/index.ts'
import { openScene, type Party } from '../reputation/testing/scene.ts'
import { selectDecisions } from './selection.ts'

const scene = openScene()

const SAYINGS = [
  ['Is the invoice of the haulier due?', 'Pay it on Friday.'],
  ['May the new build go to production?', 'Yes, after the tests.'],
  ['Which dose does the patient need?', 'Ask a doctor.'],
  ['Is the customer owed a refund?', 'Half of the price.'],
  ['Why is the disk of the server full?', 'Old log files.'],
] as const

interface Filled {
  readonly tenant: Party
  readonly store_id: string
  readonly ids: readonly string[]
}

async function log(
  { tenant, store_id }: Pick<Filled, 'tenant' | 'store_id'>,
  [query, output]: readonly [string, string],
  more = {},
): Promise<string> {
  const body = { store_id, model_id: 'model-a', query, output, ...more }
  return (await tenant.ok('POST', '/decisions/log', body)).decision_id
}

/** A tenant whose trail says these things. */
async function fill(sayings: readonly (readonly [string, string])[] = SAYINGS): Promise<Filled> {
  const tenant = await scene.tenant()
  const { store_id } = await tenant.ok('POST', '/stores', {})
  const ids: string[] = []
  for (const saying of sayings) ids.push(await log({ tenant, store_id }, saying))
  return { tenant, store_id, ids }
}

const fieldOf = (tenant: Party): Promise<ManifoldField> => tenant.ok('GET', '/manifold/field')

const places = ({ points }: ManifoldField) => points.map(({ x, y }) => [x, y])

const placeOf = ({ points }: ManifoldField, id: string): ManifoldPoint => {
  const point = points.find(({ decision_id }) => decision_id === id)
  assert.ok(point, `${id} has no place`)
  return point
}

describe("'manifold.field' of a tenant", () => {
  test('has nothing to show of fewer than three decisions, and says so', async () => {
    const { tenant, ids } = await fill(SAYINGS.slice(0, 2))
    const { points, agents, field, variance_explained, meta } = await fieldOf(tenant)
    assert.deepEqual([points, agents, variance_explained], [[], [], [0, 0]])
    assert.deepEqual(field, {
      ...{ resolution: 0, x_range: [0, 0], y_range: [0, 0], bandwidth: 0, grid: [], support: [] },
    })
    assert.equal(meta.n_embeddings_total, 2)
    assert.match(meta.note ?? '', /3 decisions/)
    const { x, y, cellId } = await tenant.ok('GET', `/manifold/locate/${ids[0]}`)
    assert.deepEqual([x, y, cellId], [null, null, null])
    const picture = await tenant.ask('GET', '/manifold/field.svg')
    assert.match(picture.text, /^<svg [\s\S]*3 decisions[\s\S]*<\/svg>\n$/)
    const { meta: exported, cells, decisions } = await tenant.ok('GET', '/manifold/export')
    assert.deepEqual([exported.source, cells, decisions], ['none', [], []])
  })

  test('places the same words at the same numbers, on every engine', async () => {
    const [one, other] = [await fill(), await fill()]
    const first = await fieldOf(one.tenant)
    assert.deepEqual(
      first.points.map(({ decision_id }) => decision_id),
      one.ids.toReversed(),
    )
    assert.deepEqual(places(await fieldOf(other.tenant)), places(first))
    const numbers = JSON.stringify([places(first), first.field, first.variance_explained])
    assert.equal(createHash('sha256').update(numbers).digest('hex').slice(0, 16), PINNED)
    await one.tenant.ok('POST', '/manifold/clear_cache')
    assert.deepEqual({ ...(await fieldOf(one.tenant)), meta: 0 }, { ...first, meta: 0 })
  })

  test('has the outcomes of governed decisions, and the scores that reputation has', async () => {
    const { tenant, ids } = await fill()
    await tenant.earn('ana', ['paid', 'paid', 'default'])
    await tenant.earn('ben', ['default', 'late'])
    await tenant.decide('ben', null, { decision: 'reject', reason: 'no such invoice' })
    await tenant.review('ben 1', 'auditor', 0.9)
    const { points, agents, field, meta } = await fieldOf(tenant)
    assert.equal(points.length, ids.length + 6)
    assert.deepEqual([meta.n_points, meta.n_resolved, meta.truncated], [11, 4, false])
    const judged = points.filter(({ agent_handle }) => agent_handle !== undefined)
    assert.deepEqual(
      judged.map(({ agent_handle, outcome, decision }) => [agent_handle, outcome, decision]),
      [
        ['ben', undefined, 'reject'],
        ['ben', 'late', 'certify'],
        ['ben', 'default', 'certify'],
        ['ana', 'default', 'certify'],
        ['ana', 'paid', 'certify'],
        ['ana', 'paid', 'certify'],
      ],
    )
    assert.ok(Math.max(...field.support.flat()) > 0)
    for (const agent of agents) {
      const score = await tenant.score(agent.agent_handle)
      const own = judged.filter(({ agent_handle }) => agent_handle === agent.agent_handle)
      assert.equal(agent.n_decisions, own.length)
      assert.equal(agent.cgr_score, Math.round(score.cgr_score * 1e4) / 1e4)
      assert.equal(agent.confidence, Math.round(score.confidence * 1e4) / 1e4)
      assert.equal(agent.n_resolved, score.n_resolved)
      const mean = own.reduce((sum, { x }) => sum + x, 0) / own.length
      assert.ok(Math.abs(agent.x - mean) < 1e-4)
    }
    assert.deepEqual(
      agents.map(({ agent_handle }) => agent_handle),
      ['ana', 'ben'],
    )
  })

  test('is that of what the log says now: a decision, an outcome, an agent more', async () => {
    const filled = await fill()
    const { tenant } = filled
    assert.equal((await fieldOf(tenant)).points.length, 5)
    const id = await log(filled, ['Is it late?', 'No.'])
    assert.equal((await tenant.ok('GET', `/manifold/locate/${id}`)).decision_id, id)
    await tenant.decide('ana', 'inv 1')
    assert.equal((await fieldOf(tenant)).meta.n_resolved, 0)
    await tenant.outcome('inv 1', 'paid')
    const { meta, agents } = await fieldOf(tenant)
    assert.deepEqual([meta.n_points, meta.n_resolved], [7, 1])
    assert.equal(agents[0]?.cgr_score, 0.6667)
    const all = await Promise.all([1, 2, 3].map(() => fieldOf(tenant)))
    for (const one of all) assert.deepEqual(one.meta, meta)
  })
})

/** Of the places of SAYINGS and the field over them. */
const PINNED = 'b2ac9f2c6430b104'

describe('erased words', () => {
  const SECRET = 'Marlene Dudek lives beside the old lighthouse'
  const ASKED = [`Note that ${SECRET} and works at night`, 'Noted: ships, coast, keeper.'] as const

  test('leave the plane: places are those of what is left of the text', async () => {
    const filled = await fill()
    const { tenant, store_id } = filled
    const { ref } = await tenant.ok('POST', `/stores/${store_id}/write`, { content: SECRET })
    const used = { retrieved_refs: [ref], retrieved_contents: [SECRET], retrieved_scores: [1] }
    const id = await log(filled, ASKED, used)
    const before = await fieldOf(tenant)
    await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
    const after = await fieldOf(tenant)
    assert.notDeepEqual(places(after), places(before))
    const { query, output } = await tenant.ok('GET', `/decisions/${id}`)
    assert.ok(!query.includes('Marlene'))
    // As if it had never said anything else.
    const never = await fill([...SAYINGS, [query, output]])
    assert.deepEqual(places(after), places(await fieldOf(never.tenant)))
  })

  test('of a decision that is redacted leave it as well', async () => {
    const filled = await fill()
    const { tenant } = filled
    const id = await log(filled, ASKED)
    const before = placeOf(await fieldOf(tenant), id)
    await tenant.ok('POST', `/decisions/${id}/redact`, {})
    const after = placeOf(await fieldOf(tenant), id)
    assert.notDeepEqual([after.x, after.y], [before.x, before.y])
  })
})

describe('who sees what', () => {
  test("'manifold.locate' knows no place of what is unknown or of another tenant", async () => {
    const [one, other] = [await fill(), await fill()]
    const [id] = other.ids
    for (const step of [id, 'f'.repeat(32), 'step-1']) {
      const answer = await one.tenant.refused('GET', `/manifold/locate/${step}`)
      assert.deepEqual(answer, [404, 'decision_not_found'])
    }
  })

  test('a key of some stores sees their decisions alone, laid out by themselves', async () => {
    const filled = await fill()
    const { tenant } = filled
    const { store_id } = await tenant.ok('POST', '/stores', {})
    const own: string[] = []
    for (const saying of SAYINGS.slice(0, 3)) own.push(await log({ tenant, store_id }, saying))
    await tenant.decide('ana', 'inv 1')
    const whole = await fieldOf(tenant)
    assert.equal(whole.points.length, 9)
    const limited = await tenant.ok('POST', '/keys', {
      class: 'service',
      scopes: ['manifold:read'],
      allowed_stores: [store_id],
    })
    const answer = await scene.service.request('GET', '/v1/manifold/field', {
      key: limited.api_key,
    })
    const seen: ManifoldField = answer.body
    assert.deepEqual(
      seen.points.map(({ decision_id }) => decision_id),
      own.toReversed(),
    )
    assert.deepEqual([seen.agents, seen.meta.n_embeddings_total], [[], 3])
    assert.deepEqual({ ...(await fieldOf(tenant)), meta: 0 }, { ...whole, meta: 0 })
  })

  test("'manifold.clear_cache' needs more than the right to read", async () => {
    const { tenant } = await fill()
    const reader = await tenant.withKey(['manifold:read'])
    await reader.ok('GET', '/manifold/field')
    assert.deepEqual(await reader.refused('POST', '/manifold/clear_cache'), [403, 'scope_missing'])
    assert.deepEqual(await tenant.ok('POST', '/manifold/clear_cache'), { status: 'ok', cleared: 1 })
    assert.deepEqual(await tenant.ok('POST', '/manifold/clear_cache'), { status: 'ok', cleared: 0 })
  })
})

test('of more decisions than there is room for the newest are chosen, of both kinds', async () => {
  const filled = await fill()
  const { tenant } = filled
  await tenant.decide('ana', 'inv 1')
  const last = await log(filled, ['Is it late?', 'No.'])
  const { kernel } = scene.service
  const dimension = dimensionLabel(await kernel.keyring.tenant(tenant.tenant_id), 'receivables')
  const { items, total } = await kernel.db.read(tenant.tenant_id, (db) =>
    selectDecisions(db, { dimension, store_ids: [] }, { limit: 3, pace: () => undefined }),
  )
  assert.deepEqual([items.length, total], [3, 7])
  assert.equal(items[0]?.decision_id, last)
  assert.equal(items[1]?.governed?.decision, 'certify')
  assert.equal(items[2]?.decision_id, filled.ids.at(-1))
})

test("'manifold.export' has every decision in a cell, and no words", async () => {
  const { tenant, ids } = await fill()
  await tenant.earn('ana', ['paid', 'default'])
  const answer = await tenant.ask('GET', '/manifold/export')
  const { cells, steps, edges, decisions, meta } = answer.body
  assert.deepEqual([steps, edges, meta.nDecisions], [[], [], 7])
  const counted = new Map<string, number>()
  for (const { cell_id } of decisions) counted.set(cell_id, (counted.get(cell_id) ?? 0) + 1)
  for (const { id, count } of cells) assert.equal(counted.get(id), count)
  assert.equal(cells.length, counted.size)
  const [id] = ids
  const located = await tenant.ok('GET', `/manifold/locate/${id}`)
  const exported = decisions.find((one: { decision_id: string }) => one.decision_id === id)
  assert.deepEqual([located.cellId, located.x], [exported.cell_id, exported.x])
  for (const word of ['invoice', 'patient', 'ana']) assert.ok(!answer.text.includes(word), word)
})

test("'manifold.picture' is SVG in which handles are text and never markup", async () => {
  const { tenant } = await fill()
  await tenant.earn('<script>alert("&")</script>', ['paid', 'default'])
  await tenant.earn('a-handle-of-very-many-characters@somewhere', ['paid'])
  const { status, text, headers } = await tenant.ask('GET', '/manifold/field.svg')
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'image/svg+xml')
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.match(text, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" /)
  assert.ok(!text.includes('<script'))
  assert.match(text, /&lt;script&gt;alert\(&quot;&amp;/)
  assert.match(text, /a-handle-of-very-many…/)
  assert.match(text, /Component 1 \(\d+\.\d % of the variance\)/)
  assert.ok(!/NaN|Infinity|undefined/.test(text))
})
