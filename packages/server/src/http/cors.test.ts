// A page of another origin can call only where the configuration lists its origin, and never with
// cookies.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeTenant, send, startTestServer, type TestServer } from './testing/edge-server.ts'

const LISTED = 'https://app.example'
const OTHER = 'https://other.example'

let service: TestServer
let local: TestServer
let closed: TestServer
let key: string

before(async () => {
  service = await startTestServer({ cors_origins: [LISTED] })
  local = await startTestServer({ auth: 'local', cors_origins: [LISTED] })
  closed = await startTestServer()
  key = (await makeTenant(service.url)).api_key
})
after(async () => {
  await service.stop()
  await local.stop()
  await closed.stop()
})

const preflight = (url: string, origin: string) =>
  fetch(`${url}/v1/keys`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST' },
  })

const allowedOrigin = ({ headers }: { headers: Headers }) =>
  headers.get('access-control-allow-origin')

test('a preflight of a listed origin is answered without a credential', async () => {
  const { status, headers } = await preflight(service.url, LISTED)
  assert.equal(status, 204)
  assert.equal(headers.get('access-control-allow-origin'), LISTED)
  assert.match(headers.get('access-control-allow-methods') ?? '', /DELETE/)
  assert.match(headers.get('access-control-allow-headers') ?? '', /authorization.*idempotency-key/)
  assert.equal(headers.get('vary'), 'origin')
  assert.equal(headers.get('access-control-allow-credentials'), null)
})

test('answers and refusals are readable for a listed origin, cookies never go along', async () => {
  const cases: [path: string, key: string | undefined, status: number][] = [
    ['/v1/keys', key, 200],
    ['/v1/keys', undefined, 401],
    ['/v1/absent', key, 404],
  ]
  for (const [path, given, status] of cases) {
    const sent = { headers: { origin: LISTED }, ...(given ? { key: given } : {}) }
    const answer = await send(`${service.url}${path}`, 'GET', sent)
    assert.equal(answer.status, status)
    assert.equal(allowedOrigin(answer), LISTED)
    assert.match(
      answer.headers.get('access-control-expose-headers') ?? '',
      /idempotency-replayed.*ratelimit.*retry-after.*x-request-id/,
    )
    assert.equal(answer.headers.get('access-control-allow-credentials'), null)
    assert.equal(answer.headers.get('vary'), 'origin')
  }
})

test('another origin, no origin and "null" get no permission', async () => {
  const near = [OTHER, 'null', `${LISTED}.evil.example`, 'http://app.example', `${LISTED}:444`]
  for (const origin of near) {
    const answer = await send(`${service.url}/v1/keys`, 'GET', { key, headers: { origin } })
    assert.equal(allowedOrigin(answer), null, origin)
    assert.equal(answer.headers.get('vary'), 'origin')
    const asked = await preflight(service.url, origin)
    assert.equal(asked.status, 405)
    assert.equal(allowedOrigin(asked), null, origin)
  }
  assert.equal(allowedOrigin(await send(`${service.url}/v1/keys`, 'GET', { key })), null)
})

test('by default no origin is allowed', async () => {
  assert.equal((await preflight(closed.url, LISTED)).status, 405)
  const answer = await send(`${closed.url}/v1/keys`, 'GET', { headers: { origin: LISTED } })
  assert.equal(allowedOrigin(answer), null)
  assert.equal(answer.headers.get('vary'), null)
})

test('local mode still refuses a listed origin without a credential', async () => {
  const from = { headers: { origin: LISTED } }
  const { api_key } = await makeTenant(local.url)
  const refused = await send(`${local.url}/v1/keys`, 'GET', from)
  assert.equal(refused.body.error, 'origin_refused')
  assert.equal((await send(`${local.url}/v1/keys`, 'GET', { ...from, key: api_key })).status, 200)
  const elsewhere = { headers: { origin: OTHER }, key: api_key }
  assert.equal((await send(`${local.url}/v1/keys`, 'GET', elsewhere)).status, 403)
})

test('what varies by Accept and by origin says both', async () => {
  const { headers } = await send(`${service.url}/`, 'GET', { headers: { origin: LISTED } })
  assert.equal(headers.get('vary'), 'origin, accept')
})
