// The edge over real connections: shapes of answers, slashes, limits, streams.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import { formatTime } from '../platform/clock.ts'
import {
  makeTenant,
  OPERATOR_KEY,
  type Sent,
  send,
  startTestServer,
  type TestServer,
} from './testing/edge-server.ts'

let service: TestServer
let key: string
let tenant_id: string

before(async () => {
  service = await startTestServer()
  const tenant = await makeTenant(service.url)
  key = tenant.api_key
  tenant_id = tenant.tenant_id
})

after(() => service.stop())

const ECHO = '/probe/stores/s1/echo'
const ask = (method: string, path: string, sent: Sent = {}) =>
  send(`${service.url}${path}`, method, { key, ...sent })

test('both slash forms are answered directly, without a redirect', async () => {
  for (const path of ['/health', '/health/', '/v1/keys', '/v1/keys/'])
    assert.equal((await ask('GET', path)).status, 200, path)
})

test('every answer carries a request id: the caller’s when harmless, else a new one', async () => {
  const given = await ask('GET', '/health', { headers: { 'x-request-id': 'abc-1.2_Z' } })
  assert.equal(given.headers.get('x-request-id'), 'abc-1.2_Z')
  const refused = await ask('GET', '/nope', { headers: { 'x-request-id': 'has space' } })
  assert.match(refused.headers.get('x-request-id') ?? '', /^[0-9a-f]{16}$/)
  assert.equal(refused.body.request_id, refused.headers.get('x-request-id'))
})

test('unknown routes, wrong methods and bad URLs answer problem+json in our shape', async () => {
  const cases = [
    ['GET', '/nope', 404, 'route_not_found'],
    ['GET', '/v1//keys', 404, 'route_not_found'],
    ['PUT', '/v1/keys/', 405, 'method_not_allowed'],
    ['OPTIONS', '/v1/cloud/tenants/x', 405, 'method_not_allowed'],
    ['GET', '/%zz', 400, 'bad_request'],
  ] as const
  for (const [method, path, status, code] of cases) {
    const got = await ask(method, path)
    assert.equal(got.status, status, path)
    assert.equal(got.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    assert.equal(got.body.error, code)
    assert.equal(got.body.type, `/errors/${code}`)
    assert.equal(got.body.status, status)
    assert.equal(typeof got.body.detail, 'string')
  }
  assert.equal((await ask('PUT', '/v1/keys')).headers.get('allow'), 'GET, HEAD, POST')
  const key = await ask('GET', '/v1/keys/some-id')
  assert.equal(key.headers.get('allow'), 'DELETE')
})

test('HEAD answers as GET does, without the body, and only where there is a GET', async () => {
  for (const path of ['/health', '/healthz', '/readyz', '/v1/keys', '/openapi.json', '/docs/']) {
    const [head, get] = [await ask('HEAD', path), await ask('GET', path)]
    assert.deepEqual([head.status, head.text], [200, ''], path)
    for (const name of ['content-type', 'cache-control'])
      assert.equal(head.headers.get(name), get.headers.get(name), path)
    assert.match(head.headers.get('content-length') ?? '', /^[1-9]\d*$/, path)
  }
  const lines = await ask('HEAD', '/probe/lines?count=2000&fail_at=1500')
  assert.deepEqual([lines.status, lines.text], [200, ''])
  assert.equal(lines.headers.get('content-type'), 'application/x-ndjson')
  assert.equal((await ask('HEAD', ECHO)).status, 405)
  assert.equal((await ask('HEAD', '/nope')).status, 404)
  assert.equal((await send(`${service.url}/v1/keys`, 'HEAD')).status, 401)
})

test('a path whose last parameter is percent-encoded still names its method in Allow', async () => {
  const got = await ask('GET', '/v1/keys/a%2Fb')
  assert.equal(got.status, 405)
})

test('headers that overflow get a 431 in our shape', async () => {
  const text = await rawExchange(
    `GET /health HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(40_000)}\r\n\r\n`,
  )
  assert.match(text, /^HTTP\/1\.1 431 /)
  assert.match(text, /"error":"bad_request"/)
})

test('text that is not HTTP gets a 400 in our shape, and is logged', async (t) => {
  const { mock } = t.mock.method(service.kernel.logger, 'info')
  const text = await rawExchange('nonsense\r\n\r\n')
  assert.match(text, /^HTTP\/1\.1 400 /)
  assert.match(text, /application\/problem\+json/)
  const { request_id } = JSON.parse(text.slice(text.indexOf('{')))
  const line = { operation: 'none', status: 400, error: 'bad_request', request_id }
  assert.deepEqual(mock.calls[0]?.arguments, ['request', line])
})

test('the credential is judged before the body is read', async () => {
  const got = await send(`${service.url}${ECHO}`, 'POST', { raw: '{broken' })
  assert.equal(got.status, 401)
  assert.equal(got.headers.get('www-authenticate'), 'Bearer realm="custos"')
})

test('parameters are coerced, defaulted and passed; bodies are never coerced', async () => {
  const got = await ask('POST', `${ECHO}?full=true&limit=3`, {
    body: { items: [{ content: 'a' }], options: {} },
  })
  assert.equal(got.status, 200)
  assert.deepEqual(got.body.params, { store_id: 's1' })
  assert.deepEqual(got.body.query, { limit: 3, full: true })
  assert.deepEqual(got.body.body.items, [{ content: 'a', weight: 7 }])
  assert.deepEqual(got.body.body.options, { depth: 2 })
  assert.equal((await ask('POST', ECHO, { body: {} })).body.query.limit, 5)

  const wrong = await ask('POST', ECHO, { body: { flag: 'true' } })
  assert.equal(wrong.status, 422)
  assert.deepEqual(wrong.body.detail[0].loc, ['body', 'flag'])
  assert.equal(wrong.body.detail[0].type, 'bool_type')
})

test('query parameters that are not strict decimals, or come twice, are refused', async () => {
  for (const limit of ['1.0', '1e1', '0x1', '+1', ' 1', '01', '', '99999999999999999999']) {
    const got = await ask('POST', `${ECHO}?limit=${encodeURIComponent(limit)}`, { body: {} })
    assert.equal(got.status, 422, limit)
    assert.deepEqual(got.body.detail[0].loc, ['query', 'limit'])
  }
  assert.equal((await ask('POST', `${ECHO}?limit=1&limit=2`, { body: {} })).status, 422)
  for (const [limit, status] of [
    [0, 422],
    [1, 200],
    [10, 200],
    [11, 422],
  ] as const)
    assert.equal((await ask('POST', `${ECHO}?limit=${limit}`, { body: {} })).status, status)
  assert.equal((await ask('POST', `${ECHO}?full=1`, { body: {} })).status, 422)
})

test('times without an offset are refused, and U+0000 in queries', async () => {
  assert.equal((await ask('POST', `${ECHO}?from=2026-01-01T00:00:00`, { body: {} })).status, 422)
  assert.equal((await ask('POST', `${ECHO}?from=2026-01-01T00:00:00Z`, { body: {} })).status, 200)
  assert.equal((await ask('POST', `${ECHO}?from=%00`, { body: {} })).status, 422)
  assert.equal((await ask('POST', `${ECHO}?%00=1`, { body: {} })).status, 422)
})

test('validation lists say where and what, never the input', async () => {
  const got = await ask('POST', ECHO, {
    body: { items: [{ content: 'secret-word' }, {}, 3], note: 'secret-word', label: 'a\u0007' },
  })
  assert.equal(got.status, 422)
  assert.equal(got.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(got.body.error, 'validation')
  assert.ok(!got.text.includes('secret-word'))
  const found = got.body.detail.map((entry: { loc: unknown; type: string }) => [
    entry.loc,
    entry.type,
  ])
  assert.deepEqual(found, [
    [['body', 'items', 0, 'content'], 'string_too_long'],
    [['body', 'items', 1, 'content'], 'missing'],
    [['body', 'items', 2], 'dict_type'],
    [['body', 'note'], 'int_type'],
    [['body', 'label'], 'string_format'],
  ])
  for (const entry of got.body.detail)
    assert.deepEqual(Object.keys(entry).sort(), ['loc', 'msg', 'type'])
})

test('bodies that would be changed or misread on the way are refused', async () => {
  const deep = (levels: number) => `{"free":${'['.repeat(levels)}${']'.repeat(levels)}}`
  const cases: [string, string][] = [
    ['{"free": 9007199254740992}', 'int_out_of_range'],
    ['{"free": 9223372036854775808}', 'int_out_of_range'],
    ['{"free": -9007199254740993}', 'int_out_of_range'],
    ['{"free": 1e999}', 'finite_number'],
    ['{"free": "a\\u0000"}', 'string_nul'],
    ['{"free": "\\ud800"}', 'string_unicode'],
    ['{"free": {"\\udc00": 1}}', 'string_unicode'],
    ['{"__proto__": {"a": 1}}', 'key_forbidden'],
    ['{"free": {"\\u005f_proto__": 1}}', 'key_forbidden'],
    ['{"free": {"constructor": {"prototype": {}}}}', 'key_forbidden'],
    [deep(limits.json_depth), 'nesting_too_deep'],
  ]
  for (const [raw, type] of cases) {
    const got = await ask('POST', ECHO, { raw })
    assert.equal(got.status, 422, raw)
    assert.equal(got.body.detail[0].type, type, raw)
  }
  const fine = [
    '{"free": 9007199254740991, "note": -9007199254740991}',
    '{"free": "\\ud83d\\ude00"}',
    '{"free": {"constructor": "Acme"}}',
    deep(limits.json_depth - 1),
  ]
  for (const raw of fine) assert.equal((await ask('POST', ECHO, { raw })).status, 200, raw)
})

test('malformed JSON, foreign encodings and NaN answer json_invalid', async () => {
  for (const raw of ['{', '', '{"a": NaN}', "{'a': 1}", Buffer.from([0x22, 0xff, 0x22])]) {
    const got = await ask('POST', ECHO, { raw, headers: { 'content-type': 'application/json' } })
    assert.equal(got.status, 422)
    const type = raw === '' ? 'missing' : 'json_invalid'
    assert.equal(got.body.detail[0].type, type)
    assert.equal(got.body.detail[0].loc[0], 'body')
  }
})

test('a body of another content type or encoding is refused with 415', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/x-ndjson']) {
    const got = await ask('POST', ECHO, { raw: '{}', headers: { 'content-type': type } })
    assert.equal(got.status, 415, type)
    assert.equal(got.body.error, 'unsupported_media_type')
  }
  const charset = { 'content-type': 'Application/JSON; charset=utf-8' }
  assert.equal((await ask('POST', ECHO, { raw: '{}', headers: charset })).status, 200)
  const zipped = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const refused = await ask('POST', ECHO, { raw: '{}', headers: zipped })
  assert.deepEqual([refused.status, refused.body.detail], [415, 'The body must not be compressed'])
})

test('a body is taken up to its limit and not a byte further', async () => {
  const max = 4_096
  const body = (bytes: number) => `{"free":"${'x'.repeat(bytes - 11)}"}`
  for (const [bytes, status] of [
    [max - 1, 200],
    [max, 200],
    [max + 1, 413],
  ] as const) {
    const got = await ask('POST', ECHO, { raw: body(bytes) })
    assert.equal(got.status, status, String(bytes))
    if (status === 413) assert.equal(got.body.error, 'body_too_large')
  }
  const chunked = await rawExchange(
    `POST ${ECHO} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n` +
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n' +
      `1388\r\n${'x'.repeat(0x1388)}\r\n0\r\n\r\n`,
  )
  assert.match(chunked, /^HTTP\/1\.1 413 /)
})

test('the general body limit is 8 MiB', async () => {
  const got = await ask('POST', '/v1/keys', { raw: ' '.repeat(limits.body_bytes + 1) })
  assert.equal(got.status, 413)
})

test('a private key is refused wherever a client might put one', async () => {
  const bodies = [
    { signing_key: 'x' },
    { options: { signing_key: 'x' } },
    { items: [{ content: 'a', signing_key: 'x' }] },
    { items: [{ content: 'a', options: { signing_key: 'x' } }] },
  ]
  for (const body of bodies) {
    const got = await ask('POST', ECHO, { body })
    assert.equal(got.status, 422)
    assert.equal(got.body.error, 'signing_key_refused')
  }
  assert.equal((await ask('POST', ECHO, { body: { signing_key: null } })).status, 200)
})

test('a body may be left out only where the contract says so', async () => {
  const none = await ask('POST', ECHO)
  assert.equal(none.status, 422)
  assert.deepEqual(none.body.detail[0], { loc: ['body'], msg: 'Field required', type: 'missing' })
  const optional = await ask('POST', '/probe/add')
  assert.equal(optional.status, 201)
  assert.equal(optional.body.added, 1)
})

test('a stream of lines arrives whole, with its file name made safe', async () => {
  const got = await ask('GET', '/probe/lines?count=2000')
  assert.equal(got.status, 200)
  assert.equal(got.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(got.headers.get('content-disposition'), 'attachment; filename="lines__1_.ndjson"')
  const lines = got.text.trimEnd().split('\n')
  assert.equal(lines.length, 2_000)
  assert.equal(JSON.parse(lines[1_999] ?? '').i, 1_999)
})

test('a stream that fails is cut off so that truncation is seen', async () => {
  await assert.rejects(ask('GET', '/probe/lines?count=2000&fail_at=1500'))
  const atOnce = await ask('GET', '/probe/lines?count=10&fail_at=0')
  assert.equal(atOnce.status, 500)
})

test('an uploaded stream is limited by bytes and its refusal reaches the sender', async () => {
  const headers = { 'content-type': 'application/x-ndjson' }
  const fits = await ask('POST', '/probe/upload', { raw: 'x'.repeat(100_000), headers })
  assert.deepEqual(fits.body, { bytes: 100_000 })
  const over = await ask('POST', '/probe/upload', { raw: 'x'.repeat(100_001), headers })
  assert.equal(over.status, 413)
  const json = await ask('POST', '/probe/upload', { body: {} })
  assert.equal(json.status, 415)
})

test('an unforeseen failure says nothing about its cause', async () => {
  const got = await ask('GET', '/probe/broken?how=secret-word')
  assert.equal(got.status, 500)
  assert.equal(got.body.error, 'internal')
  assert.ok(!got.text.includes('secret-word'))
})

test('a refusal may carry a detail object, members and an integer Retry-After', async () => {
  const got = await ask('GET', '/probe/broken?how=detail')
  assert.equal(got.status, 422)
  assert.equal(got.headers.get('retry-after'), '2')
  assert.equal(got.body.capability, 'x')
  assert.equal(got.body.detail.capability, 'x')
  assert.equal(got.body.error, 'capability_not_supported')
})

const ALL_OK = { database: 'ok', storage: 'ok', keyring: 'ok', log: 'ok', clock: 'ok' }

test("'platform.health', 'platform.healthz', 'platform.readyz' are public and silent", async () => {
  const bare = (path: string) => send(`${service.url}${path}`, 'GET')
  assert.deepEqual(Object.keys((await bare('/health')).body), ['status', 'version'])
  assert.ok((await bare('/healthz')).body.uptime_seconds > 0)
  const ready = await bare('/readyz')
  assert.deepEqual(ready.body.checks, { ...ALL_OK })
  assert.equal(ready.body.clock_ahead, null)
})

test('a service that cannot sign its log is not ready, without saying more than that', async () => {
  const other = await startTestServer()
  try {
    await other.kernel.keyring.retireSigningKey('checkpoint', formatTime(other.kernel.clock.now()))
    const got = await send(`${other.url}/readyz`, 'GET')
    assert.equal(got.status, 503)
    assert.equal(got.body.error, 'unavailable')
    assert.deepEqual(got.body.checks, { ...ALL_OK, log: 'failing' })
  } finally {
    await other.stop()
  }
})

test('a flood of readiness probes writes once a second', async () => {
  const before = service.kernel.db.stats().units
  const probe = () => send(`${service.url}/readyz`, 'GET')
  const answers = await Promise.all(Array.from({ length: 40 }, probe))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.ok(service.kernel.db.stats().units - before <= 2)
})

test("'monitoring.stats' gives a tenant its own numbers and an operator all of them", async () => {
  const own = (await ask('GET', '/v1/monitoring/stats')).body
  assert.equal(own.tenant_id, tenant_id)
  assert.equal(own.log_size, 1)
  assert.equal(own.process, undefined)
  assert.equal(own.tenants, undefined)
  await makeTenant(service.url)
  const all = (await ask('GET', '/v1/monitoring/stats', { key: OPERATOR_KEY })).body
  assert.equal(all.tenant_id, null)
  assert.equal(all.tenants, 2)
  assert.equal(all.log_size, 2)
  assert.ok(all.process.rss_bytes > 0)
})

/** What the server answers to bytes no HTTP client would send. */
function rawExchange(text: string): Promise<string> {
  const { port } = new URL(service.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
  })
}

test('a stop does not wait for a connection that sends no request', async () => {
  const stopped = await startTestServer()
  const { hostname, port } = new URL(stopped.url)
  const socket = connect(Number(port), hostname)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  // Answered after the connection arrived.
  await send(`${stopped.url}/healthz`, 'GET')
  const begun = performance.now()
  await stopped.stop()
  await closed
  assert.ok(performance.now() - begun < 30_000)
})

test('a stop closes a connection with the answer that was under way, whole', async () => {
  for (const under of ['before its headers', 'after its headers']) {
    const { socket, head, said, stop } = await connectToStop()
    if (under === 'before its headers') {
      socket.write(`POST /probe/upload HTTP/1.1\r\n${head}Expect: 100-continue\r\n`)
      socket.write('Content-Type: application/x-ndjson\r\nContent-Length: 9\r\n\r\n')
      await until(() => said().includes('100 Continue'))
    } else {
      socket.write(`GET /probe/lines?count=40000 HTTP/1.1\r\n${head}\r\n`)
      await until(() => socket.isPaused())
    }
    const begun = performance.now()
    await stop(() => {
      if (under === 'before its headers') socket.write('123456789')
    })
    const ending = under === 'before its headers' ? '{"bytes":9}' : '}\n\r\n0\r\n\r\n'
    assert.ok(said().endsWith(ending), under)
    assert.ok(performance.now() - begun < 30_000, under)
  }
})

test('a stop closes a connection with the last answer to what was sent at once', async () => {
  const { socket, head, said, stop } = await connectToStop()
  const lines = `GET /probe/lines?count=40000 HTTP/1.1\r\n${head}\r\n`
  socket.write(`${lines}${lines}`)
  await until(() => socket.isPaused())
  await stop()
  assert.equal(said().split('HTTP/1.1 200 OK').length, 3)
  assert.ok(said().endsWith('}\n\r\n0\r\n\r\n'))
})

/** A connection to a server that is to stop; it reads no further than the first answer's start. */
async function connectToStop() {
  const server = await startTestServer()
  const { hostname, port } = new URL(server.url)
  const { api_key } = await makeTenant(server.url)
  const socket = connect(Number(port), hostname)
  let [text, paused] = ['', false]
  socket.on('data', (chunk) => {
    text += chunk
    if (paused || !text.includes(' 200 OK')) return
    paused = true
    socket.pause()
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    socket,
    head: `Host: a\r\nAuthorization: Bearer ${api_key}\r\n`,
    said: () => text,
    /** Goes on reading once the stop has begun, and resolves when both have ended. */
    async stop(send: () => void = () => {}) {
      const end = server.stop()
      await until(() => refused(Number(port), hostname))
      paused = true
      socket.resume()
      send()
      await Promise.all([end, closed])
    },
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}

const refused = (port: number, host: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, host, () => socket.destroy())
    socket.once('error', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
