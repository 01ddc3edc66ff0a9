// Tokens and keys for one namespace: how they are made, what ends them, what is stored of them.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import { type Answer, startTestService, type TestService } from '../../testing/harness.ts'
import { listTables, rawSql } from '../../testing/raw-sql.ts'
import { deleteEndedCredentials } from './index.ts'
import { copyToken } from './testing/tokens.ts'

let service: TestService
let tenant: { tenant_id: string; api_key: string }

before(async () => {
  service = await startTestService()
  tenant = await service.createTenant()
})
after(() => service.stop())

const DAY_S = 86_400
const READER = { scopes: ['memory:read'] }
const TOKEN = { store_id: 'default', namespace: 'zoe', scopes: ['memory:read', 'memory:write'] }

const ask = (method: string, path: string, key: string, body?: unknown) =>
  service.request(method, path, { key, ...(body === undefined ? {} : { body }) })
const makeKey = async (body: object) => (await ask('POST', '/v1/keys', tenant.api_key, body)).body
const makeToken = (key: string, more: object = {}): Promise<Answer> =>
  ask('POST', '/v1/keys/tokens', key, { ...TOKEN, ...more })
const read = async (key: string) => (await ask('GET', '/v1/stores/default/memories', key)).status

test("'keys.create_token' issues a token for one store and namespace, shown once", async () => {
  const headers = { 'idempotency-key': 'token-once' }
  const make = (more = {}) =>
    service.request('POST', '/v1/keys/tokens', {
      key: tenant.api_key,
      body: { ...TOKEN, ...more },
      headers,
    })
  const { status, body } = await make()
  assert.equal(status, 201)
  assert.match(body.token, /^cst_n_/)
  const { token: _, key_id: __, created_at, expires_at, ...rest } = body
  const { tenant_id } = tenant
  assert.deepEqual(rest, { ...TOKEN, namespace: `${tenant_id}/zoe` })
  assert.equal(Date.parse(expires_at) - Date.parse(created_at), 3_600_000)
  assert.equal(await read(body.token), 200)
  const again = await make()
  assert.deepEqual([again.status, again.body], [201, { ...body, token: null }])
  assert.equal((await make({ namespace: 'ada' })).body.error, 'idempotency_key_reused')
  const { keys } = (await ask('GET', '/v1/keys', tenant.api_key)).body
  assert.ok(!keys.some(({ key_id }: { key_id: string }) => key_id === body.key_id))
})

test("'keys.current' tells a key or token what it may do, and an operator nothing", async () => {
  const current = (key: string) => ask('GET', '/v1/keys/current', key)
  const own = (await current(tenant.api_key)).body
  assert.deepEqual(
    [own.tenant_id, own.class, own.scopes, own.allowed_stores, own.namespace, own.expires_at],
    [tenant.tenant_id, 'tenant', ['*'], [], null, null],
  )
  const { body: made } = await makeToken(tenant.api_key, READER)
  const { status, body } = await current(made.token)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    key_id: made.key_id,
    tenant_id: tenant.tenant_id,
    class: 'token',
    scopes: ['memory:read'],
    allowed_stores: ['default'],
    namespace: `${tenant.tenant_id}/zoe`,
    max_trust_tier: null,
    expires_at: made.expires_at,
  })
  assert.equal((await current(service.operator_key)).body.error, 'tenant_required')
})

test('a token has at most the rights of its maker, and ends with it', async () => {
  const until = new Date(Date.now() + 60_000).toISOString()
  for (const store_id of ['b', 'c']) await ask('POST', '/v1/stores', tenant.api_key, { store_id })
  const limited = { allowed_stores: ['default', 'b'], max_trust_tier: 'basic', expires_at: until }
  const maker = await makeKey({ scopes: ['memory:read'], ...limited })
  const beyond = [
    {},
    { scopes: ['memory:read'], store_id: 'c' },
    { scopes: ['memory:read'], store_id: 'not-made-yet' },
  ]
  for (const more of beyond)
    assert.equal((await makeToken(maker.api_key, more)).body.error, 'scope_missing')
  const made = await makeToken(maker.api_key, { scopes: ['memory:read'], ttl_s: DAY_S })
  assert.equal(made.status, 201)
  assert.equal(made.body.expires_at, maker.expires_at)
  const { token } = made.body
  assert.equal((await makeToken(token)).body.error, 'scope_missing', 'a token makes no token')
  assert.equal(await read(token), 200)
  await ask('DELETE', `/v1/keys/${maker.key_id}`, tenant.api_key)
  assert.equal(await read(token), 401)
})

test('a token ends when its maker is replaced, when it is revoked, and at its time', async () => {
  const maker = await makeKey({ class: 'tenant', scopes: ['keys:admin', 'memory:read'] })
  const make = async (more = {}) =>
    (await makeToken(maker.api_key, { scopes: ['memory:read'], ...more })).body
  const [first, second, brief] = [await make(), await make(), await make({ ttl_s: 1 })]
  for (const { token } of [first, second, brief]) assert.equal(await read(token), 200)
  const revoked = await ask('DELETE', `/v1/keys/${first.key_id}`, maker.api_key)
  assert.deepEqual(revoked.body, { key_id: first.key_id, revoked: true })
  assert.deepEqual([await read(first.token), await read(second.token)], [401, 200])
  await ask('POST', `/v1/cloud/tenants/${tenant.tenant_id}/rotate-key`, maker.api_key)
  assert.equal(await read(second.token), 401)
  await new Promise((resolve) => setTimeout(resolve, 1_050))
  assert.equal(await read(brief.token), 401)
})

test('tokens do not count as keys of the tenant', async () => {
  const { api_key } = await service.createTenant()
  await Promise.all(Array.from({ length: 20 }, () => makeToken(api_key)))
  const { keys } = (await ask('GET', '/v1/keys', api_key)).body
  assert.equal(keys.length, 1)
})

test('a key has a limited number of live tokens; those that ended do not count', async () => {
  const [maker, other] = [await makeKey(READER), await makeKey(READER)]
  const make = (key: string) => makeToken(key, READER)
  const [first, revoked] = [await make(maker.api_key), await make(maker.api_key)]
  await copyToken(service, first.body.key_id, limits.live_tokens_per_key - 2)
  const full = await make(maker.api_key)
  assert.deepEqual([full.status, full.body.error], [409, 'too_many_tokens'])
  assert.equal((await make(other.api_key)).status, 201)
  await ask('DELETE', `/v1/keys/${revoked.body.key_id}`, tenant.api_key)
  assert.equal((await make(maker.api_key)).status, 201)
  assert.equal((await make(maker.api_key)).status, 409)
})

test('a request that is repeated or refused leaves no secret of a namespace behind', async () => {
  const { tenant_id, api_key } = await service.createTenant()
  const secretOf = async ({ body }: Answer): Promise<number> => {
    const query = 'select secret_no from credential_limits where key_id = ?'
    return Number((await rawSql(service, query, [body.key_id]))[0]?.['secret_no'])
  }
  const kept = [await secretOf(await makeToken(api_key))]
  const requests = [
    { path: '/v1/keys/tokens', body: TOKEN, unknown: { store_id: 'not-made-yet' } },
    { path: '/v1/keys', body: { namespace: 'zoe' }, unknown: { allowed_stores: ['not-made-yet'] } },
  ]
  for (const { path, body, unknown } of requests) {
    const sent = { key: api_key, body, headers: { 'idempotency-key': path } }
    const once = () => service.request('POST', path, sent)
    const [first, ...repeated] = await Promise.all(Array.from({ length: 8 }, once))
    assert.ok(first)
    for (const answer of [...repeated, await once()])
      assert.deepEqual([answer.status, answer.body.key_id], [201, first.body.key_id])
    kept.push(await secretOf(first))
    assert.equal((await ask('POST', path, api_key, { ...body, ...unknown })).status, 404)
  }
  kept.push(await secretOf(await makeToken(api_key)))
  const from = Math.min(...kept)
  const numbers = Array.from({ length: Math.max(...kept) - from + 1 }, (_, i) => from + i)
  const secrets = await service.kernel.keyring.secrets(tenant_id, 'decision', numbers)
  assert.ok(numbers.length > kept.length)
  assert.deepEqual(
    numbers.filter((number) => secrets.get(number)),
    kept.toSorted((a, b) => a - b),
  )
})

test("'keys.create' with a namespace shows it to administrators, in full", async () => {
  const { tenant_id } = tenant
  for (const [given, shown] of [
    ['ada', `${tenant_id}/ada`],
    [`${tenant_id}/ada`, `${tenant_id}/ada`],
    [tenant_id, tenant_id],
    [undefined, null],
  ] as const) {
    const made = await makeKey({ scopes: ['memory:read'], namespace: given })
    assert.equal(made.namespace, shown)
    const { keys } = (await ask('GET', '/v1/keys?limit=1000', tenant.api_key)).body
    const listed = keys.find(({ key_id }: { key_id: string }) => key_id === made.key_id)
    assert.equal(listed.namespace, shown)
  }
})

test('what has ended is removed with the name of its namespace; what has not stays', async () => {
  const name = 'unmistakable-canary'
  const [kept, gone] = [
    await makeKey({ scopes: ['memory:read'], namespace: `${name}-kept` }),
    await makeKey({ scopes: ['memory:read'], namespace: name }),
  ]
  const brief = (await makeToken(tenant.api_key, { namespace: name, ttl_s: 1 })).body
  const long = (await makeToken(tenant.api_key, { namespace: name })).body
  await ask('DELETE', `/v1/keys/${gone.key_id}`, tenant.api_key)
  await new Promise((resolve) => setTimeout(resolve, 1_050))
  await deleteEndedCredentials(service.kernel)

  const { tenant_id } = tenant
  const rows = await rawSql(
    service,
    `select key_id from credentials where tenant_id = '${tenant_id}'`,
  )
  const ids = rows.map((row) => row['key_id'])
  assert.deepEqual(
    [kept, gone, brief, long].map(({ key_id }) => ids.includes(key_id)),
    [true, false, false, true],
  )
  assert.deepEqual([await read(kept.api_key), await read(long.token)], [200, 200])
  const again = await ask('DELETE', `/v1/keys/${gone.key_id}`, tenant.api_key)
  assert.equal(again.body.error, 'key_not_found')
  for (const table of await listTables(service)) {
    const text = JSON.stringify(await rawSql(service, `select * from ${table}`))
    assert.ok(!text.includes(name), `${table} holds the namespace in clear`)
  }
})

test('a key whose namespace cannot be read any longer may do nothing', async () => {
  const made = await makeKey({ scopes: ['memory:read'], namespace: 'lost' })
  const [row] = await rawSql(
    service,
    `select secret_no from credential_limits where key_id = '${made.key_id}'`,
  )
  const { keyring } = service.kernel
  await keyring.destroySecrets(tenant.tenant_id, 'decision', [Number(row?.['secret_no'])])
  assert.equal(await read(made.api_key), 401)
  const { keys } = (await ask('GET', '/v1/keys?limit=1000', tenant.api_key)).body
  assert.ok(!keys.some(({ key_id }: { key_id: string }) => key_id === made.key_id))
})
