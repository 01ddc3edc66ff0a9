// The tenant operations through the API.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  makeStores,
  makeTenant,
  OPERATOR_KEY,
  type Sent,
  send,
  startTestServer,
  type TestServer,
} from '../../http/testing/edge-server.ts'
import { ensureTenant, readMeter } from './index.ts'

let service: TestServer

before(async () => {
  service = await startTestServer()
})

after(() => service.stop())

const ask = (method: string, path: string, sent: Sent = {}) =>
  send(`${service.url}${path}`, method, sent)
const create = (body: unknown) => ask('POST', '/v1/cloud/tenants', { key: OPERATOR_KEY, body })

test("'tenants.create' shows the key once, 'tenants.get' never, and the log begins", async () => {
  const { status, body } = await create({ name: 'Acme', plan: 'pro' })
  assert.equal(status, 201)
  assert.equal(body.id, body.tenant_id)
  assert.deepEqual([body.name, body.plan], ['Acme', 'pro'])
  assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  const unlimited = {
    max_memories: null,
    max_stores: null,
    max_requests_per_minute: null,
    max_governed_decisions: null,
  }
  assert.deepEqual(body.limits, unlimited)
  assert.match(body.api_key, /^cst_t_/)

  const stats = await ask('GET', '/v1/monitoring/stats', { key: body.api_key })
  assert.equal(stats.body.log_size, 1)
  const shown = await ask('GET', `/v1/cloud/tenants/${body.id}`, { key: body.api_key })
  const { api_key: _, ...rest } = body
  assert.deepEqual(shown.body, rest)
})

test("'tenants.create' takes defaults, and refuses unknown plans and bad names", async () => {
  const { body } = await ask('POST', '/v1/cloud/tenants', { key: OPERATOR_KEY })
  assert.equal(body.plan, 'starter')
  assert.equal(body.name, body.tenant_id)
  const cases: [body: unknown, status: number][] = [
    [{ plan: 'gold' }, 422],
    [{ plan: 'local' }, 422],
    [{ name: '' }, 422],
    [{ name: 'a\nb' }, 422],
    [{ name: 'x'.repeat(199) }, 201],
    [{ name: 'x'.repeat(200) }, 201],
    [{ name: 'x'.repeat(201) }, 422],
    [[], 422],
  ]
  for (const [given, status] of cases)
    assert.equal((await create(given)).status, status, JSON.stringify(given).slice(0, 60))
})

test("'tenants.create' under one key makes one tenant and shows its key once", async () => {
  const make = (name: string, once: string) =>
    ask('POST', '/v1/cloud/tenants', {
      key: OPERATOR_KEY,
      body: { name },
      headers: { 'idempotency-key': once },
    })
  const count = async () =>
    (await ask('GET', '/v1/cloud/tenants', { key: OPERATOR_KEY })).body.length
  const before = await count()
  const [first, other] = [await make('Once', 'made-once'), await make('Once', 'made-too')]
  const again = await make('Once', 'made-once')
  assert.deepEqual([again.status, again.body], [201, { ...first.body, api_key: null }])
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.notEqual(other.body.tenant_id, first.body.tenant_id)
  assert.equal((await make('Twice', 'made-once')).body.error, 'idempotency_key_reused')
  assert.equal(await count(), before + 2)
  const { keys } = (await ask('GET', '/v1/keys', { key: first.body.api_key })).body
  assert.equal(keys.length, 1)
})

test("'tenants.list' is a bare array, oldest first, without keys", async () => {
  const fresh = await makeTenant(service.url)
  const { body, text } = await ask('GET', '/v1/cloud/tenants/', { key: OPERATOR_KEY })
  assert.ok(Array.isArray(body))
  assert.equal(body.at(-1).tenant_id, fresh.tenant_id)
  assert.ok(!text.includes('cst_'))
  assert.ok(!text.includes('api_key'))
})

test("'tenants.rotate_key' revokes every tenant key at once and leaves scoped keys", async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const second = await ask('POST', '/v1/keys', { key: api_key, body: { class: 'tenant' } })
  const scoped = await ask('POST', '/v1/keys', { key: api_key, body: { scopes: ['keys:admin'] } })
  assert.equal((await ask('GET', '/v1/keys', { key: second.body.api_key })).status, 200)

  const path = `/v1/cloud/tenants/${tenant_id}/rotate-key`
  const { status, body } = await ask('POST', path, { key: api_key })
  assert.equal(status, 200)
  assert.equal(body.tenant_id, tenant_id)
  assert.equal(body.api_key, body.new_api_key)
  assert.equal(body.revoked, 2)
  for (const key of [api_key, second.body.api_key])
    assert.equal((await ask('GET', '/v1/keys', { key })).status, 401)
  assert.equal((await ask('GET', '/v1/keys', { key: body.api_key })).status, 200)
  assert.equal((await ask('GET', '/v1/keys', { key: scoped.body.api_key })).status, 200)

  const byOperator = await ask('POST', path, { key: OPERATOR_KEY })
  assert.equal(byOperator.status, 200)
  assert.equal((await ask('GET', '/v1/keys', { key: body.api_key })).status, 401)
  const unknown = await ask('POST', '/v1/cloud/tenants/nobody/rotate-key', { key: OPERATOR_KEY })
  assert.equal(unknown.body.error, 'tenant_not_found')
  const keyed = await ask('POST', '/v1/cloud/tenants/nobody/rotate-key', {
    key: OPERATOR_KEY,
    headers: { 'idempotency-key': 'rotate-nobody' },
  })
  assert.equal(keyed.body.error, 'tenant_not_found')
})

test("'tenants.rotate_key' by a restricted key replaces that key and grants no more", async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const made = await ask('POST', '/v1/keys', {
    key: api_key,
    body: { scopes: ['keys:admin'], name: 'rotator', expires_at: '2100-01-01T00:00:00Z' },
  })
  const path = `/v1/cloud/tenants/${tenant_id}/rotate-key`
  const rotated = await ask('POST', path, { key: made.body.api_key })
  assert.equal(rotated.body.revoked, 1)
  assert.equal((await ask('GET', '/v1/keys', { key: made.body.api_key })).status, 401)
  assert.equal((await ask('GET', '/v1/keys', { key: api_key })).status, 200)
  const { keys } = (await ask('GET', '/v1/keys', { key: rotated.body.api_key })).body
  const own = keys.find((key: { key_id: string }) => key.key_id === rotated.body.key_id)
  assert.deepEqual(
    [own.name, own.class, own.scopes, own.expires_at],
    ['rotator', 'service', ['keys:admin'], '2100-01-01T00:00:00.000000Z'],
  )
  const usageOnly = await ask('POST', '/v1/keys', { key: api_key, body: {} })
  assert.equal((await ask('POST', path, { key: usageOnly.body.api_key })).status, 403)
})

test("'tenants.rotate_key' by a key with any restriction lifts none of them", async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  await makeStores(service.url, api_key, ['a'])
  const path = `/v1/cloud/tenants/${tenant_id}/rotate-key`
  const whole = { class: 'tenant', scopes: ['*'] }
  const restrictions = [
    { max_trust_tier: 'verified' },
    { expires_at: '2100-01-01T00:00:00.000000Z' },
    { allowed_stores: ['a'] },
    { class: 'service' },
  ]
  for (const restriction of restrictions) {
    const body = { ...whole, ...restriction }
    const made = await ask('POST', '/v1/keys', { key: api_key, body })
    const rotated = await ask('POST', path, { key: made.body.api_key })
    assert.deepEqual([rotated.status, rotated.body.revoked], [200, 1])
    assert.equal((await ask('GET', '/v1/keys', { key: made.body.api_key })).status, 401)
    const { keys } = (await ask('GET', '/v1/keys', { key: api_key })).body
    const fresh = keys.find((key: { key_id: string }) => key.key_id === rotated.body.key_id)
    const { key_id: _a, api_key: _b, prefix: _c, created_at: _d, ...granted } = made.body
    for (const [name, value] of Object.entries(granted)) assert.deepEqual(fresh[name], value, name)
  }
  assert.equal((await ask('GET', '/v1/keys', { key: api_key })).status, 200)
})

test("'tenants.rotate_key' under one key rotates once and shows the new key once", async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const path = `/v1/cloud/tenants/${tenant_id}/rotate-key`
  const headers = { 'idempotency-key': 'rotated-once' }
  const first = await ask('POST', path, { key: OPERATOR_KEY, headers })
  const again = await ask('POST', path, { key: OPERATOR_KEY, headers })
  const hidden = { api_key: null, new_api_key: null }
  assert.deepEqual([again.status, again.body], [200, { ...first.body, ...hidden }])
  assert.equal((await ask('GET', '/v1/keys', { key: api_key })).status, 401)
  assert.equal((await ask('GET', '/v1/keys', { key: first.body.api_key })).status, 200)
})

test('two rotations by one restricted key leave one key, not two', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const made = await ask('POST', '/v1/keys', { key: api_key, body: { scopes: ['keys:admin'] } })
  const path = `/v1/cloud/tenants/${tenant_id}/rotate-key`
  const rotate = () => ask('POST', path, { key: made.body.api_key })
  const statuses = (await Promise.all([rotate(), rotate()])).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 401])
})

test("'tenants.usage' counts writes with their commit and reads once flushed", async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const path = `/v1/cloud/tenants/${tenant_id}/usage`
  await ask('POST', '/probe/add', { key: api_key, body: { by: 5 } })
  await ask('POST', '/probe/add', { key: api_key, body: { by: 7 } })
  await ask('POST', '/probe/add', { key: api_key, body: { by: 13 } })
  await ask('GET', '/v1/keys', { key: api_key })
  await readMeter(service.kernel).flush()

  const { body } = await ask('GET', path, { key: api_key })
  assert.deepEqual(body.operations, { 'keys.list': 1, 'probe.add': 2 })
  assert.deepEqual(
    [body.writes, body.reads, body.deletes, body.supersedes, body.total_bytes],
    [2, 1, 0, 0, 12],
  )
  assert.equal(body.total_operations, 3)
  assert.equal(body.period, 'current_month')
  assert.ok(body.period_start < body.period_end)

  const before = await ask('GET', `${path}?period=previous_month`, { key: OPERATOR_KEY })
  assert.equal(before.body.total_operations, 0)
  assert.equal(before.body.period_end, body.period_start)
  assert.equal((await ask('GET', `${path}?period=year`, { key: api_key })).status, 422)
})

test("'tenants.current_usage' tells the calling tenant its plan and month", async () => {
  const { api_key } = await makeTenant(service.url)
  const { status, body } = await ask('GET', '/v1/usage/current', { key: api_key })
  assert.equal(status, 200)
  assert.equal(body.plan, 'starter')
  assert.equal(body.period.source, 'calendar_month')
  assert.deepEqual([body.included_allotment, body.pct_used, body.state], [null, null, 'normal'])
  assert.equal(body.governed_decisions, 0)
  const operator = await ask('GET', '/v1/usage/current', { key: OPERATOR_KEY })
  assert.equal(operator.body.error, 'tenant_required')
})

test('the key of a tenant that began in local mode comes from its rotation', async () => {
  await ensureTenant(service.kernel, { tenant_id: 'local' })
  const path = '/v1/cloud/tenants/local/rotate-key'
  const { status, body } = await ask('POST', path, { key: OPERATOR_KEY })
  assert.deepEqual([status, body.revoked], [200, 0])
  const own = await ask('GET', '/v1/cloud/tenants/local', { key: body.api_key })
  assert.equal(own.body.plan, 'local')
})

test('making a tenant that exists changes nothing and logs nothing', async () => {
  const { kernel } = service
  await ensureTenant(kernel, { tenant_id: 'again' })
  await Promise.all([
    ensureTenant(kernel, { tenant_id: 'again' }),
    ensureTenant(kernel, { tenant_id: 'again', plan: 'pro' }),
  ])
  const shown = await ask('GET', '/v1/cloud/tenants/again', { key: OPERATOR_KEY })
  assert.equal(shown.body.plan, 'local')
})
