// Who may call: credentials, the scope matrix, local mode.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { formatTime } from '../../platform/clock.ts'
import { createOperatorKey, mintApiKey, revokeOperatorKey } from '../../slices/tenants/index.ts'
import {
  makeStores,
  makeTenant,
  OPERATOR_KEY,
  type Sent,
  send,
  startTestServer,
  type TestServer,
} from '../testing/edge-server.ts'

let service: TestServer
let local: TestServer
let tenant: { tenant_id: string; api_key: string }
let other: { tenant_id: string; api_key: string }

before(async () => {
  service = await startTestServer()
  local = await startTestServer({
    auth: 'local',
    allowed_hosts: ['memory.internal', 'http://localhost:3000'],
  })
  tenant = await makeTenant(service.url)
  other = await makeTenant(service.url)
})

after(async () => {
  await service.stop()
  await local.stop()
})

const ask = (path: string, sent: Sent = {}) => send(`${service.url}${path}`, 'GET', sent)
const code = async (path: string, sent: Sent = {}) => {
  const { status, body } = await ask(path, sent)
  return `${status} ${body?.error ?? 'ok'}`
}

test('a key is taken from either header; two different ones are refused', async () => {
  const key = tenant.api_key
  const bearer = { authorization: `Bearer ${key}` }
  assert.equal(await code('/v1/keys', { headers: bearer }), '200 ok')
  assert.equal(await code('/v1/keys', { headers: { authorization: `bearer ${key}` } }), '200 ok')
  assert.equal(await code('/v1/keys', { headers: { 'x-api-key': key } }), '200 ok')
  assert.equal(await code('/v1/keys', { headers: { ...bearer, 'x-api-key': key } }), '200 ok')
  const both = { ...bearer, 'x-api-key': other.api_key }
  assert.equal(await code('/v1/keys', { headers: both }), '401 credentials_differ')
})

test('what is no credential answers 401 and says how to authenticate', async () => {
  const wrong = [
    {},
    { authorization: 'Bearer ' },
    { authorization: 'Bearer' },
    { authorization: 'Basic YTpi' },
    { authorization: `Bearer ${tenant.api_key.slice(0, -1)}x` },
    { authorization: `Bearer ${mintApiKey(service.kernel.ids, 'tenant')}` },
    { 'x-api-key': `${OPERATOR_KEY}x` },
  ]
  for (const headers of wrong) {
    const got = await ask('/v1/keys', { headers })
    assert.equal(got.status, 401, JSON.stringify(headers))
    assert.equal(got.body.error, 'unauthenticated')
    assert.equal(got.headers.get('www-authenticate'), 'Bearer realm="custos"')
  }
})

test('operators and tenants are apart: neither passes for the other', async () => {
  assert.equal(await code('/v1/keys', { key: OPERATOR_KEY }), '403 tenant_required')
  assert.equal(await code('/v1/cloud/tenants', { key: tenant.api_key }), '403 operator_required')
  assert.equal(await code('/v1/cloud/tenants', { key: OPERATOR_KEY }), '200 ok')
})

test('an operator reaches any tenant, a tenant only itself; others look unknown', async () => {
  const path = `/v1/cloud/tenants/${tenant.tenant_id}`
  assert.equal(await code(path, { key: OPERATOR_KEY }), '200 ok')
  assert.equal(await code(path, { key: tenant.api_key }), '200 ok')
  const foreign = await ask(path, { key: other.api_key })
  const unknown = await ask('/v1/cloud/tenants/unknown', { key: other.api_key })
  assert.equal(foreign.status, 404)
  const { request_id: _a, ...foreignBody } = foreign.body
  const { request_id: _b, ...unknownBody } = unknown.body
  assert.deepEqual(foreignBody, unknownBody)
  assert.equal(
    await code('/v1/cloud/tenants/unknown', { key: OPERATOR_KEY }),
    '404 tenant_not_found',
  )
})

test('a key without the scope is refused with 403 and told which one it lacks', async () => {
  const made = await send(`${service.url}/v1/keys`, 'POST', {
    key: tenant.api_key,
    body: { class: 'read_only' },
  })
  const got = await ask('/v1/keys', { key: made.body.api_key })
  assert.equal(got.status, 403)
  assert.equal(got.body.error, 'scope_missing')
  assert.match(got.body.detail, /keys:admin/)
})

test('a store outside the key’s list looks like one that does not exist', async () => {
  await makeStores(service.url, tenant.api_key, ['mine'])
  const made = await send(`${service.url}/v1/keys`, 'POST', {
    key: tenant.api_key,
    body: { allowed_stores: ['mine'] },
  })
  const echo = (store: string) =>
    send(`${service.url}/probe/stores/${store}/echo`, 'POST', {
      key: made.body.api_key,
      body: {},
    })
  assert.equal((await echo('mine')).status, 200)
  const refused = await echo('yours')
  assert.equal(refused.status, 404)
  assert.equal(refused.body.error, 'store_not_found')
})

test('an expired key is refused from that moment, also when it was cached', async () => {
  const expires_us = service.kernel.clock.now() + 300_000
  const expires_at = formatTime(expires_us)
  const made = await send(`${service.url}/v1/keys`, 'POST', {
    key: tenant.api_key,
    body: { expires_at, scopes: ['keys:admin'] },
  })
  assert.equal(made.status, 201)
  assert.equal(await code('/v1/keys', { key: made.body.api_key }), '200 ok')
  await new Promise((resolve) => setTimeout(resolve, 350))
  assert.equal(await code('/v1/keys', { key: made.body.api_key }), '401 unauthenticated')
})

test('a stored operator key works until it is revoked, and at once no longer', async () => {
  const issued = await createOperatorKey(service.kernel, { name: 'night shift' })
  assert.match(issued.api_key, /^cst_o_/)
  assert.equal(await code('/v1/cloud/tenants', { key: issued.api_key }), '200 ok')
  assert.equal(await revokeOperatorKey(service.kernel, issued.key_id), true)
  assert.equal(await code('/v1/cloud/tenants', { key: issued.api_key }), '401 unauthenticated')
  assert.equal(await revokeOperatorKey(service.kernel, issued.key_id), false)
  assert.equal(await revokeOperatorKey(service.kernel, 'unknown'), null)
})

test('many wrong keys do not push the right one out', async () => {
  const { ids } = service.kernel
  const wrong = Array.from({ length: 50 }, () => mintApiKey(ids, 'service'))
  for (const key of wrong) assert.equal(await code('/v1/keys', { key }), '401 unauthenticated')
  assert.equal(await code('/v1/keys', { key: tenant.api_key }), '200 ok')
})

test('local mode acts as the tenant "local" without a credential, and is no operator', async () => {
  const at = (path: string, sent: Sent = {}) => send(`${local.url}${path}`, 'GET', sent)
  assert.equal((await at('/v1/cloud/tenants/local')).body.plan, 'local')
  assert.equal((await at('/v1/keys', { headers: { authorization: 'Bearer ' } })).status, 200)
  assert.equal((await at('/v1/cloud/tenants')).status, 403)
  assert.equal((await at('/v1/cloud/tenants', { key: OPERATOR_KEY })).status, 200)
  assert.equal((await at('/v1/keys', { key: 'nonsense' })).status, 401)
  assert.equal((await at('/v1/keys', { headers: { authorization: 'Basic YTpi' } })).status, 401)
  const made = await makeTenant(local.url)
  assert.equal((await at(`/v1/cloud/tenants/${made.tenant_id}`, { key: made.api_key })).status, 200)
})

test('local mode refuses foreign hosts and origins, and bodies a form could send', async () => {
  const cases: [headers: Record<string, string>, status: number][] = [
    [{ host: 'evil.example' }, 403],
    [{ host: '127.0.0.1.evil.example' }, 403],
    [{ host: 'localhost@evil.example' }, 403],
    [{ host: 'localhost:9999' }, 200],
    [{ host: '[::1]:8420' }, 200],
    [{ host: '127.9.9.9' }, 200],
    [{ host: 'Memory.Internal:80' }, 200],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost:4000' }, 403],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ origin: local.url }, 200],
  ]
  for (const [headers, status] of cases)
    assert.equal(await statusOf('GET', '/v1/keys', headers), status, JSON.stringify(headers))
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const headers = { 'content-type': type }
    const got = await send(`${local.url}/v1/keys`, 'POST', { raw: '{}', headers })
    assert.equal(got.status, 415, type)
    const bare = `${local.url}/v1/cloud/tenants/local/rotate-key`
    assert.equal((await send(bare, 'POST', { raw: 'a=b', headers })).status, 415, type)
  }
})

/** `fetch` does not let a test choose the Host header. */
function statusOf(method: string, path: string, headers: Record<string, string>): Promise<number> {
  const { port } = new URL(local.url)
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })
}
