// The log line of a request, and its span: what they say, and what they never say.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, before, type TestContext, test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import type { Logger } from './logger.ts'
import { openTracer } from './tracer.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traced = { traceparent: `00-${TRACE}-${PARENT}-01` }

interface Line {
  readonly level: string
  readonly event: string
  readonly fields: Readonly<Record<string, unknown>>
}

interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly parentSpanId?: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly status: { readonly code?: number }
}

const lines: Line[] = []
const spans: Span[] = []
let received = ''
let service: TestService
let stopped: Promise<void> | undefined

const stop = (): Promise<void> => {
  stopped ??= service.stop()
  return stopped
}

const note =
  (level: string) =>
  (event: string, fields: object = {}): void => {
    lines.push({ level, event, fields: { ...fields } })
  }
const logger: Logger = {
  debug: note('debug'),
  info: note('info'),
  warn: note('warn'),
  error: note('error'),
  flush() {},
}

const collector = createServer(async (request, response) => {
  const body: unknown = await json(request)
  received += JSON.stringify({ url: request.url, body })
  for (const { scopeSpans } of Object(body).resourceSpans)
    for (const scope of scopeSpans) spans.push(...scope.spans)
  response.setHeader('content-type', 'application/json').end('{}')
})

before(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const { port } = collector.address() as AddressInfo
  const otlp_endpoint = `http://127.0.0.1:${port}`
  service = await startTestService({ logger, config: { otlp_endpoint } })
})
after(async () => {
  await stop()
  collector.close()
  collector.closeAllConnections()
})

const lineOf = (request_id: string): Line =>
  lines.find(({ fields }) => fields['request_id'] === request_id) ?? assert.fail(request_id)

async function ask(request_id: string, method: string, path: string, more: object = {}) {
  const headers = { 'x-request-id': request_id, ...traced }
  return service.request(method, path, { headers, ...more })
}

test('a refusal is logged with its code, a request with its trace, a probe at debug', async () => {
  const { api_key: key } = await service.createTenant()
  await ask('unknown-store', 'GET', '/v1/stores/nowhere', { key })
  await ask('no-credential', 'GET', '/v1/stores')
  await ask('no-route', 'GET', '/v1/nothing', { key })
  await ask('a-read', 'GET', '/v1/stores', { key })
  await ask('a-probe', 'GET', '/readyz')
  await ask('a-scrape', 'GET', '/metrics', { key: service.operator_key })
  const told = (id: string) => {
    const { level, fields } = lineOf(id)
    return [level, fields['operation'], fields['status'], fields['error'], fields['trace_id']]
  }
  assert.deepEqual(told('unknown-store'), [
    'info',
    'memory.get_store',
    404,
    'store_not_found',
    TRACE,
  ])
  assert.deepEqual(told('no-credential'), [
    'info',
    'memory.list_stores',
    401,
    'unauthenticated',
    TRACE,
  ])
  assert.deepEqual(told('no-route'), ['info', 'none', 404, 'route_not_found', TRACE])
  assert.deepEqual(told('a-read'), ['info', 'memory.list_stores', 200, undefined, TRACE])
  assert.deepEqual(told('a-probe'), ['debug', 'platform.readyz', 200, undefined, TRACE])
  assert.deepEqual(told('a-scrape').slice(0, 3), ['debug', 'metrics', 200])
})

test('spans have the names and attributes of the conventions, and no content', async () => {
  const { api_key: key } = await service.createTenant()
  const body = { content: 'The peculiar content' }
  const written = await ask('span-write', 'POST', '/v1/stores/default/write', { key, body })
  assert.equal(written.status, 200, written.text)
  const query = { query: 'peculiar question', budget_tokens: 200 }
  await ask('span-read', 'POST', '/v1/stores/default/retrieve', { key, body: query })
  await ask('span-refused', 'GET', '/v1/stores/peculiar-store', { key })
  assert.ok(lines.some(({ event, level }) => event === 'service.started' && level === 'info'))
  await stop()
  assert.equal(lines.at(-1)?.event, 'service.stopped')

  const spanOf = (request_id: string) => {
    const found = spans.find(({ attributes }) =>
      attributes.some(({ value }) => Object(value).stringValue === request_id),
    )
    assert.ok(found, request_id)
    const pairs = found.attributes.map(({ key, value }) => [key, Object.values(value)[0]])
    return { ...found, attributes: Object.fromEntries(pairs) }
  }
  const write = spanOf('span-write')
  assert.deepEqual(
    [write.name, write.kind, write.traceId, write.parentSpanId],
    ['create_memory', 2, TRACE, PARENT],
  )
  assert.deepEqual(write.attributes, {
    'gen_ai.provider.name': 'custos',
    'gen_ai.operation.name': 'create_memory',
    'gen_ai.memory.store.id': 'default',
    'gen_ai.memory.record.id': String(written.body.ref),
    'http.request.method': 'POST',
    'http.route': '/v1/stores/{store_id}/write',
    'http.response.status_code': 200,
    'custos.operation': 'memory.write',
    'custos.request_id': 'span-write',
    'custos.log_seq': written.body.log_seq,
  })
  const read = spanOf('span-read')
  assert.equal(read.name, 'search_memory')
  assert.equal(read.attributes['custos.budget_tokens'], 200)
  assert.equal(read.attributes['gen_ai.memory.record.count'], 1)
  assert.ok(read.attributes['custos.tokens_used'] > 0)
  const refused = spanOf('span-refused')
  assert.equal(refused.name, 'memory.get_store')
  assert.equal(refused.attributes['error.type'], 'store_not_found')
  assert.equal(refused.attributes['gen_ai.memory.store.id'], undefined)
  assert.equal(refused.status.code ?? 0, 0)
  assert.ok(received.includes('"/v1/traces"') && received.includes('"service.name"'))
  for (const text of [received, JSON.stringify(lines)])
    for (const secret of ['eculiar', key]) assert.ok(!text.includes(secret), secret)
})

/** Ends `count` spans at once; returns how many the log says were lost. */
async function lossesOf(t: TestContext, count: number, status: number): Promise<number> {
  const collector = createServer((_, response) => response.writeHead(status).end())
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  t.after(() => collector.close())
  const { port } = collector.address() as AddressInfo
  const tracer = await openTracer(`http://127.0.0.1:${port}`, { version: 'x', logger })
  const ended = { name: 'peculiar', started_ms: 0, parent: null, attributes: {}, failed: false }
  const before = lines.length
  for (let i = 0; i < count; i += 1) tracer.record(ended)
  await tracer.stop()
  const losses = lines.slice(before).filter(({ event }) => event === 'traces.not_sent')
  return losses.reduce((sum, { fields }) => sum + Number(fields['spans_lost']), 0)
}

test('spans that the collector does not take are counted in the log', async (t) => {
  assert.equal(await lossesOf(t, 2, 400), 2)
  assert.equal(await lossesOf(t, 2, 200), 0)
})

test('spans that find no room in the queue are counted in the log', async (t) => {
  // The queue has room for 2,048, and the first 512 have left it.
  assert.equal(await lossesOf(t, 3_000, 200), 3_000 - 2_048 - 512)
  assert.equal(await lossesOf(t, 3_000, 400), 3_000)
})
