// The key operations through the API: what may be granted, shown and revoked.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import {
  makeStores,
  makeTenant,
  type Sent,
  send,
  startTestServer,
  type TestServer,
} from '../../http/testing/edge-server.ts'
import { formatTime } from '../../platform/clock.ts'
import { updateKeyUse } from '../../platform/db/control.sql.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { flushKeyUses, issueKey, OPERATOR_RIGHTS } from './index.ts'

let service: TestServer
let key: string

before(async () => {
  service = await startTestServer()
  key = (await makeTenant(service.url)).api_key
})

after(() => service.stop())

const ask = (method: string, path: string, sent: Sent = {}) =>
  send(`${service.url}${path}`, method, { key, ...sent })
const create = (body: unknown, by = key) => ask('POST', '/v1/keys', { key: by, body })

test("'keys.create' issues each class with its default scopes", async () => {
  const codes = [
    ['tenant', 't'],
    ['read_only', 'r'],
    ['service', 's'],
  ] as const
  for (const [credentialClass, letter] of codes) {
    const { status, body } = await create({ class: credentialClass, name: 'n' })
    assert.equal(status, 201)
    assert.ok(body.api_key.startsWith(`cst_${letter}_`))
    assert.ok(body.api_key.startsWith(body.prefix))
    assert.equal(body.class, credentialClass)
    assert.deepEqual([body.expires_at, body.max_trust_tier, body.allowed_stores], [null, null, []])
  }
})

test("'keys.create' under one key issues one key and shows it once", async () => {
  const { api_key } = await makeTenant(service.url)
  const headers = { 'idempotency-key': 'issued-once' }
  const make = (body: object, by = api_key) => ask('POST', '/v1/keys', { key: by, body, headers })
  const body = { name: 'n', scopes: ['keys:admin'], expires_at: '2100-01-01T00:00:00Z' }
  const first = await make(body)
  const again = await make(body)
  assert.deepEqual([again.status, again.body], [201, { ...first.body, api_key: null }])
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal((await make({ ...body, name: 'm' })).body.error, 'idempotency_key_reused')
  const { keys } = (await ask('GET', '/v1/keys', { key: api_key })).body
  assert.equal(keys.length, 2)

  const bound = { scopes: ['keys:admin'], max_trust_tier: 'basic' }
  const limited = await ask('POST', '/v1/keys', { key: api_key, body: bound })
  const other = await make(body, limited.body.api_key)
  assert.notEqual(other.body.api_key, null, 'a key with other limits made its own')
})

test("'keys.create' refuses what cannot be granted at all", async () => {
  const cases: [body: unknown, error: string][] = [
    [{ class: 'operator' }, 'validation'],
    [{ scopes: ['everything'] }, 'validation'],
    [{ scopes: [] }, 'validation'],
    [{ scopes: ['admin:platform'] }, 'scope_missing'],
    [{ class: 'read_only', scopes: ['memory:write'] }, 'rejected'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'rejected'],
    [{ expires_at: '2100-01-01T00:00:00' }, 'validation'],
    [{ max_trust_tier: 'emperor' }, 'validation'],
    [{ allowed_stores: ['a\u0000'] }, 'validation'],
    [{ allowed_stores: [] }, 'validation'],
    [{ namespace: null }, 'validation'],
    [{ allowed_stores: ['default', 'not-made-yet'] }, 'store_not_found'],
  ]
  for (const [body, error] of cases)
    assert.equal((await create(body)).body.error, error, JSON.stringify(body))
})

test('a tenant has at most so many live keys; revoked ones do not count', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const { kernel } = service
  await kernel.db.transact(tenant_id, async (tx) => {
    const fresh = { ...OPERATOR_RIGHTS, tenant_id, class: 'service', name: '' } as const
    for (let i = 1; i < limits.keys_per_tenant - 1; i += 1)
      await issueKey(kernel, tx, fresh, { rights: OPERATOR_RIGHTS })
  })
  const last = await create({}, api_key)
  assert.equal(last.status, 201)
  const over = await create({}, api_key)
  assert.deepEqual([over.status, over.body.error], [422, 'rejected'])
  await ask('DELETE', `/v1/keys/${last.body.key_id}`, { key: api_key })
  assert.equal((await create({}, api_key)).status, 201)
})

test('a key cannot grant more than it has: scopes, stores, trust and time', async () => {
  await makeStores(service.url, key, ['a', 'b'])
  const own = await create({
    scopes: ['keys:admin', 'memory:read'],
    allowed_stores: ['a', 'b'],
    max_trust_tier: 'verified',
    expires_at: '2090-01-01T00:00:00Z',
  })
  const by = own.body.api_key
  const missing = [
    { scopes: ['memory:write'] },
    { scopes: ['*'] },
    {},
    { scopes: ['memory:read'], allowed_stores: ['a', 'c'] },
    { scopes: ['memory:read'], max_trust_tier: 'root' },
  ]
  for (const body of missing) {
    const got = await create(body, by)
    assert.deepEqual([got.status, got.body.error], [403, 'scope_missing'], JSON.stringify(body))
  }
  const narrower = await create({ scopes: ['memory:read'], expires_at: '2095-01-01T00:00:00Z' }, by)
  assert.equal(narrower.status, 201)
  assert.deepEqual(narrower.body.allowed_stores, ['a', 'b'])
  assert.equal(narrower.body.max_trust_tier, 'verified')
  assert.equal(narrower.body.expires_at, '2090-01-01T00:00:00.000000Z')
  const one = await create({ scopes: ['memory:read'], allowed_stores: ['b'] }, by)
  assert.deepEqual(one.body.allowed_stores, ['b'])
})

test("'keys.list' pages through all keys and never shows one", async () => {
  const { api_key } = await makeTenant(service.url)
  for (let i = 0; i < 4; i += 1) await create({ name: `k${i}` }, api_key)
  const at = (query: string) => ask('GET', `/v1/keys${query}`, { key: api_key })
  const first = await at('?limit=2')
  assert.deepEqual([first.body.count, first.body.limit, first.body.offset], [2, 2, 0])
  const second = await at(`?limit=2&cursor=${first.body.next_cursor}`)
  const last = await at('?limit=2&offset=4')
  assert.equal(last.body.next_cursor, null)
  const pages = [first, second, last].flatMap(({ body }) => body.keys)
  const names = pages.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['default', 'k0', 'k1', 'k2', 'k3'])
  assert.ok(!JSON.stringify(pages).includes('api_key'))
  for (const [limit, status] of [
    [0, 422],
    [1, 200],
    [1000, 200],
    [1001, 422],
  ] as const)
    assert.equal((await at(`?limit=${limit}`)).status, status)
  assert.equal((await at('?offset=-1')).status, 422)
  assert.equal((await at('?cursor=x')).status, 422)
})

test('a page of keys goes on behind the last one, also when one before it is gone', async () => {
  const { api_key } = await makeTenant(service.url)
  const made: string[] = []
  for (const name of ['a', 'b', 'c']) made.push((await create({ name }, api_key)).body.key_id)
  const at = async (query: string) => (await ask('GET', `/v1/keys${query}`, { key: api_key })).body
  const names = ({ keys }: { keys: { name: string }[] }) => keys.map(({ name }) => name)
  const first = await at('?limit=2')
  assert.deepEqual(names(first), ['default', 'a'])
  assert.deepEqual(names(await at('?limit=2&cursor=2')), ['b', 'c'], 'as of an earlier version')
  await rawSql(service, 'delete from credentials where key_id = ?', [String(made[0])])
  const next = await at(`?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual([names(next), next.next_cursor], [['b', 'c'], null])
})

test("'keys.revoke' works at once, twice answers false, foreign keys are unknown", async () => {
  const made = await create({ scopes: ['keys:admin'] })
  assert.equal((await ask('GET', '/v1/keys', { key: made.body.api_key })).status, 200)
  const { key_id } = made.body
  const foreign = (await makeTenant(service.url)).api_key
  const refused = await ask('DELETE', `/v1/keys/${key_id}`, { key: foreign })
  assert.deepEqual([refused.status, refused.body.error], [404, 'key_not_found'])

  assert.deepEqual((await ask('DELETE', `/v1/keys/${key_id}`)).body, { key_id, revoked: true })
  assert.equal((await ask('GET', '/v1/keys', { key: made.body.api_key })).status, 401)
  assert.deepEqual((await ask('DELETE', `/v1/keys/${key_id}/`)).body, { key_id, revoked: false })
  assert.equal((await ask('DELETE', '/v1/keys/unknown')).status, 404)
})

test('a key cannot revoke keys that may do more than it, only its like and itself', async () => {
  const { api_key: first } = await makeTenant(service.url)
  const made = async (body: object) => (await create(body, first)).body
  const deputy = await made({ scopes: ['keys:admin'], expires_at: '2090-01-01T00:00:00Z' })
  const revoke = (key_id: string) => ask('DELETE', `/v1/keys/${key_id}`, { key: deputy.api_key })
  const { keys } = (await ask('GET', '/v1/keys', { key: first })).body
  const above = [
    keys[0].key_id,
    (await made({ class: 'tenant', scopes: ['keys:admin'] })).key_id,
    (await made({ scopes: ['keys:admin'] })).key_id,
    (await made({ scopes: ['memory:read'], expires_at: '2080-01-01T00:00:00Z' })).key_id,
  ]
  for (const key_id of above) {
    const { status, body } = await revoke(key_id)
    assert.deepEqual([status, body.error], [403, 'scope_missing'])
  }
  assert.equal((await ask('GET', '/v1/keys', { key: first })).status, 200)
  const like = await made({ scopes: ['keys:admin'], expires_at: '2080-01-01T00:00:00Z' })
  assert.deepEqual((await revoke(like.key_id)).body, { key_id: like.key_id, revoked: true })
  const own = { key_id: deputy.key_id, revoked: true }
  assert.deepEqual((await revoke(deputy.key_id)).body, own, 'itself')
})

test('a key cannot grant a class above its own', async () => {
  const deputy = await create({ scopes: ['keys:admin'] })
  const above = await create({ class: 'tenant', scopes: ['keys:admin'] }, deputy.body.api_key)
  assert.deepEqual([above.status, above.body.error], [403, 'scope_missing'])
})

test('a key revoked while it is being looked up is not remembered as valid', async () => {
  const made = await create({ scopes: ['keys:admin'] })
  const use = () => ask('GET', '/v1/keys', { key: made.body.api_key })
  await Promise.all([use(), use(), ask('DELETE', `/v1/keys/${made.body.key_id}`), use(), use()])
  assert.equal((await use()).status, 401)
})

test("'keys.list' shows the last use of each key", async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const { body: fresh } = await create({ scopes: ['keys:admin'] }, api_key)
  const uses = async () => {
    const { keys } = (await ask('GET', '/v1/keys', { key: api_key })).body
    return new Map<string, string | null>(
      keys.map((one: { key_id: string; last_used_at: string | null }) => [
        one.key_id,
        one.last_used_at,
      ]),
    )
  }
  assert.deepEqual([...(await uses()).values()], [null, null])
  const before = service.kernel.clock.now()
  assert.equal((await ask('GET', '/v1/keys/current', { key: fresh.api_key })).status, 200)
  await flushKeyUses(service.kernel)
  const first = (await uses()).get(fresh.key_id)
  assert.ok(typeof first === 'string' && first >= formatTime(before))
  // What another process saw later stays.
  const later = service.kernel.clock.now() + 60_000_000
  await service.kernel.db.transact(tenant_id, (tx) =>
    updateKeyUse(tx, { key_id: fresh.key_id, used_us: later }),
  )
  await ask('GET', '/v1/keys/current', { key: fresh.api_key })
  await flushKeyUses(service.kernel)
  assert.equal((await uses()).get(fresh.key_id), formatTime(later))
  // A refused key is not used, and a token is not listed.
  await ask('GET', '/v1/keys/current', { key: `${fresh.api_key}x` })
  assert.equal((await uses()).size, 2)
})
