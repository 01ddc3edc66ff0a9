// Plans through the API: quotas are exact, what protects people is never refused, and limits change
// with the plan.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DEFAULT_PLANS, type PlanTable } from '../../platform/kernel/plan-limits.ts'
import {
  type Answer,
  OPERATOR_KEY,
  startTestService,
  type TestService,
} from '../../testing/harness.ts'

const [starter, pro] = ['starter', 'pro'].map((plan) => DEFAULT_PLANS.get(plan))
assert.ok(starter && pro)
const PLANS: PlanTable = new Map([
  ...DEFAULT_PLANS,
  [
    'starter',
    {
      ...starter,
      memories: 10,
      stores: 2,
      requests_per_minute: null,
      governed_decisions: { included: 5, ceiling: 7 },
    },
  ],
  ['pro', { ...pro, memories: null, stores: null, requests_per_minute: 20 }],
])

let service: TestService
before(async () => {
  service = await startTestService({ config: { plans: PLANS } })
})
after(() => service.stop())

interface LimitedTenant {
  readonly tenant_id: string
  readonly api_key: string
  ask(method: string, path: string, body?: unknown): Promise<Answer>
  told(status: number, method: string, path: string, body?: unknown): Promise<Answer['body']>
}

async function makeTenant(plan: string): Promise<LimitedTenant> {
  const made = await service.request('POST', '/v1/cloud/tenants', {
    key: OPERATOR_KEY,
    body: { plan },
  })
  assert.equal(made.status, 201, made.text)
  const { tenant_id, api_key } = made.body
  const ask: LimitedTenant['ask'] = (method, path, body) =>
    service.request(method, `/v1${path}`, {
      key: api_key,
      ...(body === undefined ? {} : { body }),
    })
  return {
    tenant_id,
    api_key,
    ask,
    async told(status, method, path, body) {
      const answer = await ask(method, path, body)
      assert.equal(answer.status, status, answer.text)
      return answer.body
    },
  }
}

const change = (tenant_id: string, body: unknown) =>
  service.request('PUT', `/v1/cloud/tenants/${tenant_id}`, { key: OPERATOR_KEY, body })

const write = '/stores/default/write'
const decision = (n: number) => ({
  store_id: 'default',
  model_id: 'model-1',
  query: `question ${n}`,
  output: `answer ${n}`,
})

test('of many writes at once exactly as many succeed as the plan allows', async () => {
  const tenant = await makeTenant('starter')
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => tenant.ask('POST', write, { content: `memory ${n}` })),
  )
  const statuses = answers.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 200).length, 10)
  assert.equal(statuses.filter((status) => status === 402).length, 20)
  const { body, headers } = answers.find(({ status }) => status === 402) ?? assert.fail()
  assert.equal(body.error, 'quota_exceeded')
  const { quota, limit, used, plan, upgrade_url, period_end } = body
  assert.deepEqual(
    { quota, limit, used, plan, upgrade_url, period_end },
    {
      quota: 'memories',
      limit: 10,
      used: 10,
      plan: 'starter',
      upgrade_url: null,
      period_end: null,
    },
  )
  assert.equal(headers.get('retry-after'), null)
  const { limits } = await tenant.told(200, 'GET', '/usage/current')
  assert.deepEqual(limits[0], { quota: 'memories', limit: 10, used: 10 })
})

test('a batch is written whole or not at all, and what is erased makes room', async () => {
  const tenant = await makeTenant('starter')
  const batch = (count: number) => ({
    items: Array.from({ length: count }, (_, n) => ({ content: `memory ${n} of ${count}` })),
  })
  const { refs } = await tenant.told(200, 'POST', '/stores/default/write_batch', batch(8))
  await tenant.told(402, 'POST', '/stores/default/write_batch', batch(3))
  await tenant.told(200, 'POST', write, { content: 'the ninth' })
  const supersede = { old_ref: refs[0], content: 'a newer version counts too' }
  await tenant.told(200, 'POST', '/stores/default/supersede', supersede)
  await tenant.told(402, 'POST', write, { content: 'the eleventh' })

  const erased = await tenant.ask('POST', '/erasure/issue', {
    fact_ref: refs[1],
    requested_by: 'dpo',
    legal_basis: 'GDPR Art. 17',
  })
  assert.ok(erased.status < 300, erased.text)
  await tenant.told(200, 'POST', write, { content: 'in the place of the erased one' })
  await tenant.told(402, 'POST', write, { content: 'one too many' })
})

test('an import stops at what does not fit, and says how far it came', async () => {
  const tenant = await makeTenant('starter')
  const lines = Array.from({ length: 12 }, (_, n) => JSON.stringify({ content: `line ${n}` }))
  const answer = await service.request('POST', '/v1/stores/default/import', {
    key: tenant.api_key,
    raw: `${lines.join('\n')}\n`,
    headers: { 'content-type': 'application/x-ndjson' },
  })
  assert.equal(answer.status, 402, answer.text)
  assert.deepEqual([answer.body.error, answer.body.imported], ['quota_exceeded', 0])
  const { count } = await tenant.told(200, 'GET', '/stores/default/memories')
  assert.equal(count, 0)
})

test('the stores of a plan are counted, the default one as soon as it is written', async () => {
  const tenant = await makeTenant('starter')
  await tenant.told(200, 'POST', '/stores', { store_id: 'one' })
  await tenant.told(200, 'POST', write, { content: 'into the second' })
  const { body } = await tenant.ask('POST', '/stores', { store_id: 'three' })
  assert.deepEqual(
    [body.error, body.quota, body.limit, body.used],
    ['quota_exceeded', 'stores', 2, 2],
  )
})

test('stores of self-tests have room at the limit of a plan, as far as they are few', async () => {
  const tenant = await makeTenant('starter')
  for (const store_id of ['one', 'two']) await tenant.told(200, 'POST', '/stores', { store_id })
  for (let n = 0; n < 20; n += 1)
    await tenant.told(200, 'POST', '/stores', { store_id: `check-${n}`, self_test: true })
  await tenant.told(402, 'POST', '/stores', { store_id: 'check-20', self_test: true })
  await tenant.told(402, 'POST', '/stores', { store_id: 'three' })
  const { limits } = await tenant.told(200, 'GET', '/usage/current')
  assert.deepEqual(limits[1], { quota: 'stores', limit: 2, used: 2 })
})

test('logging ends at the ceiling, and thresholds are on the log once', async () => {
  const tenant = await makeTenant('starter')
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => tenant.ask('POST', '/decisions/log', decision(n))),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 7)
  const refused = answers.find(({ status }) => status === 402) ?? assert.fail()
  const { error, ceiling, quota, limit, used, plan, upgrade_url, message } = refused.body
  assert.deepEqual(
    { error, ceiling, quota, limit, used, plan, upgrade_url },
    {
      error: 'free_ceiling_reached',
      ceiling: 7,
      quota: 'governed_decisions',
      limit: 7,
      used: 7,
      plan: 'starter',
      upgrade_url: null,
    },
  )
  assert.equal(typeof message, 'string')

  const usage = await tenant.told(200, 'GET', '/usage/current')
  assert.deepEqual(
    [usage.governed_decisions, usage.included_allotment, usage.pct_used, usage.state],
    [7, 5, 140, 'at_or_over'],
  )
  const { breadcrumbs } = await tenant.told(200, 'GET', '/gcrumbs/breadcrumbs')
  const reached = breadcrumbs.flatMap((one: { record: string | { payload: unknown } }) => {
    const record = typeof one.record === 'string' ? JSON.parse(one.record) : (one.record ?? one)
    return record.event_type === 'quota.threshold_reached' ? [record.payload.percent] : []
  })
  assert.deepEqual(reached.sort(), [100, 80])
})

test('a judgment counts once, and one that repeats itself does not', async () => {
  const tenant = await makeTenant('starter')
  const judgment = { decision: 'certify', agent_handle: 'certifier@example', invoice_id: 'INV-7' }
  await tenant.told(200, 'POST', '/governed/decisions', judgment)
  await tenant.told(200, 'POST', '/governed/decisions', judgment)
  const { governed_decisions, breakdown } = await tenant.told(200, 'GET', '/usage/current')
  assert.deepEqual([governed_decisions, breakdown], [1, { logged: 0, certify: 1, reject: 0 }])
})

test('a rate is told, refused with seconds to wait, and never stops an erasure', async () => {
  const tenant = await makeTenant('pro')
  const first = await tenant.ask('POST', write, { content: 'the first' })
  assert.equal(first.status, 200)
  assert.equal(first.headers.get('ratelimit-policy'), '"requests";q=20;w=60')
  assert.match(first.headers.get('ratelimit') ?? '', /^"requests";r=19;t=\d+$/)
  const answers = await Promise.all(Array.from({ length: 30 }, () => tenant.ask('GET', '/stores')))
  assert.equal(answers.filter(({ status }) => status === 200).length, 19)
  const refused = answers.find(({ status }) => status === 429) ?? assert.fail()
  assert.equal(refused.body.error, 'rate_limited')
  assert.match(refused.headers.get('retry-after') ?? '', /^[0-9]+$/)
  assert.match(refused.headers.get('ratelimit') ?? '', /^"requests";r=0;t=\d+$/)
  assert.deepEqual(
    [refused.body.quota, refused.body.limit, refused.body.window_s],
    ['requests', 20, 60],
  )
  const erased = await tenant.ask('POST', '/erasure/issue', {
    fact_ref: first.body.ref,
    requested_by: 'dpo',
    legal_basis: 'GDPR Art. 17',
  })
  assert.ok(erased.status < 300, erased.text)
  await tenant.told(200, 'GET', '/gcrumbs/epochs')
  const rotated = await tenant.ask('POST', `/cloud/tenants/${tenant.tenant_id}/rotate-key`)
  assert.equal(rotated.status, 200, rotated.text)
})

test('a tenant above every limit reads, exports, proves, erases, rotates and cancels', async () => {
  const tenant = await makeTenant('starter')
  const { tenant_id } = tenant
  const { ref } = await tenant.told(200, 'POST', write, { content: 'Ana lives in Porto' })
  await tenant.told(200, 'POST', '/decisions/log', decision(1))
  const webhook = { url: 'https://hooks.invalid/', events: ['memory.erased'] }
  const { webhook_id } = await tenant.told(201, 'POST', '/webhooks', webhook)
  await tenant.told(200, 'POST', '/gcrumbs/roll', {})
  const none = {
    memories: 0,
    stores: 0,
    requests_per_minute: 0,
    webhooks: 0,
    streams: 0,
    governed_decisions: { included: 0, ceiling: 0 },
  }
  assert.equal((await change(tenant_id, { overrides: none })).status, 200)
  const refused = await tenant.ask('GET', '/stores')
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60'])

  // With a rate left growth is refused by its own limit, and nothing else is.
  assert.equal(
    (await change(tenant_id, { overrides: { ...none, requests_per_minute: 40 } })).status,
    200,
  )
  await tenant.told(402, 'POST', write, { content: 'one more' })
  await tenant.told(402, 'POST', '/stores', {})
  await tenant.told(402, 'POST', '/decisions/log', decision(2))
  await tenant.told(409, 'POST', '/webhooks', webhook)
  await tenant.told(429, 'GET', '/events/stream')
  for (const path of ['/stores', '/stores/default/memories', '/decisions/', '/webhooks'])
    await tenant.told(200, 'GET', path)

  assert.equal((await change(tenant_id, { overrides: none })).status, 200)
  const allowed: [method: string, path: string, body?: unknown][] = [
    ['GET', '/stores/default/export'],
    ['GET', '/decisions/export'],
    ['GET', '/gcrumbs/breadcrumbs'],
    ['GET', '/gcrumbs/epochs'],
    ['GET', '/gcrumbs/verify'],
    ['GET', '/stores/default/audit'],
    ['GET', '/usage/current'],
    ['POST', '/erasure/issue', { fact_ref: ref, legal_basis: 'GDPR Art. 17' }],
    ['PUT', `/webhooks/${webhook_id}`, { enabled: false }],
    ['POST', `/webhooks/${webhook_id}/rotate-secret`],
    ['DELETE', `/webhooks/${webhook_id}`],
  ]
  for (const [method, path, body] of allowed) {
    const answer = await tenant.ask(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
  }
  // There is no subscription, and nothing else stands in the way.
  const cancelled = await tenant.ask('POST', `/cloud/billing/cancel/${tenant_id}`)
  assert.equal(cancelled.body.error, 'subscription_not_found')
  const rotated = await tenant.ask('POST', `/cloud/tenants/${tenant_id}/rotate-key`)
  assert.ok(rotated.status < 300, rotated.text)
})

test("an operator changes plan and limits with 'tenants.update', a tenant never does", async () => {
  const tenant = await makeTenant('starter')
  const { tenant_id } = tenant
  assert.equal(
    (await tenant.ask('PUT', `/cloud/tenants/${tenant_id}`, { plan: 'pro' })).status,
    403,
  )
  const raised = await change(tenant_id, { overrides: { memories: 12 }, name: 'Acme' })
  assert.equal(raised.status, 200, raised.text)
  assert.deepEqual([raised.body.name, raised.body.limits.max_memories], ['Acme', 12])
  for (let n = 0; n < 12; n += 1) await tenant.told(200, 'POST', write, { content: `memory ${n}` })
  await tenant.told(402, 'POST', write, { content: 'the thirteenth' })
  const restored = await change(tenant_id, { overrides: null })
  assert.equal(restored.body.limits.max_memories, 10)
  await tenant.told(402, 'POST', write, { content: 'still too many' })
  assert.equal((await change(tenant_id, { plan: 'enterprise' })).status, 200)
  await tenant.told(200, 'POST', write, { content: 'without limits' })
  await change(tenant_id, { plan: 'starter' })
  const { limits } = await tenant.told(200, 'GET', '/usage/current')
  assert.deepEqual(limits[0], { quota: 'memories', limit: 10, used: 13 })
  // What is too much stays readable and erasable.
  await tenant.told(200, 'GET', '/stores/default/memories')
  const wrong: unknown[] = [
    { plan: 'gold' },
    { overrides: { memory: 1 } },
    { overrides: { stores: -1 } },
  ]
  for (const body of wrong) assert.equal((await change(tenant_id, body)).status, 422)
  assert.equal((await change('f'.repeat(32), { plan: 'pro' })).status, 404)
  assert.equal((await change(tenant_id, {})).status, 200)
})

test('an override ends when it was said to', async () => {
  const tenant = await makeTenant('starter')
  const past = '2020-01-01T00:00:00Z'
  const { body } = await change(tenant.tenant_id, { overrides: { stores: 9, until: past } })
  assert.equal(body.limits.max_stores, 2)
})

test('where no plan has limits, no override is shown as if it held', async () => {
  const free = await startTestService()
  try {
    const { tenant_id, api_key } = await free.createTenant()
    const path = `/v1/cloud/tenants/${tenant_id}`
    const body = { overrides: { memories: 0 } }
    const changed = await free.request('PUT', path, { key: OPERATOR_KEY, body })
    const written = await free.request('POST', '/v1/stores/default/write', {
      key: api_key,
      body: { content: 'one more' },
    })
    assert.deepEqual([written.status, changed.body.limits.max_memories], [200, null])
  } finally {
    await free.stop()
  }
})

test('usage is shown by month, by name or by number', async () => {
  const tenant = await makeTenant('starter')
  await tenant.told(200, 'POST', write, { content: 'counted' })
  const path = `/cloud/tenants/${tenant.tenant_id}/usage`
  const current = await tenant.told(200, 'GET', path)
  const month = current.period_start.slice(0, 7)
  assert.equal((await tenant.told(200, 'GET', `${path}?period=${month}`)).writes, 1)
  assert.equal((await tenant.told(200, 'GET', `${path}?period=current_period`)).writes, 1)
  assert.equal((await tenant.told(200, 'GET', `${path}?period=2031-02`)).total_operations, 0)
  for (const period of ['bogus', '2026-13', '2026-1', '', '0000-01', '1969-12', '9999-12'])
    await tenant.told(422, 'GET', `${path}?period=${period}`)
})
