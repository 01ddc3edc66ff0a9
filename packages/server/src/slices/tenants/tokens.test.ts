// Tokens and keys for one namespace: how they are made, what ends them, what is stored of them.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, startTestService, type TestService } from '../../testing/harness.ts'
import { listTables, rawSql } from '../../testing/raw-sql.ts'
import { deleteEndedCredentials } from './index.ts'

let service: TestService
let tenant: { tenant_id: string; api_key: string }

before(async () => {
  service = await startTestService()
  tenant = await service.createTenant()
})
after(() => service.stop())

const DAY_S = 86_400
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

test('a token has at most the rights of its maker, and ends with it', async () => {
  const until = new Date(Date.now() + 60_000).toISOString()
  const limits = { allowed_stores: ['default', 'b'], max_trust_tier: 'basic', expires_at: until }
  const maker = await makeKey({ scopes: ['memory:read'], ...limits })
  for (const more of [{}, { scopes: ['memory:read'], store_id: 'c' }])
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

test("'keys.create' with a namespace shows it to administrators, in full", async () => {
  const { tenant_id } = tenant
  for (const [given, shown] of [
    ['ada', `${tenant_id}/ada`],
    [`${tenant_id}/ada`, `${tenant_id}/ada`],
    [tenant_id, tenant_id],
    [null, null],
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
