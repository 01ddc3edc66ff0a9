// Spans of calls: one a call, named by the conventions for memory operations, without contents.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Custos } from '@custos/client'
import { otelHooks } from '@custos/client/otel'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const hooks = otelHooks({ tracer: provider.getTracer('test') })

let service: TestService
let custos: Custos

before(async () => {
  service = await startTestService()
  const { api_key: apiKey } = await service.createTenant('otel')
  custos = new Custos({ url: service.url, apiKey, hooks })
})
beforeEach(() => exporter.reset())
after(async () => {
  await provider.shutdown()
  await service.stop()
})

test('a write is one span of the client with its ids and no content', async () => {
  const { ref } = await custos.memory.write('default', { content: 'Ana lives in Porto' })
  const [span, ...others] = exporter.getFinishedSpans()
  assert.ok(span)
  assert.equal(others.length, 0)
  assert.equal(span.name, 'create_memory')
  assert.equal(span.kind, SpanKind.CLIENT)
  const { hostname, port } = new URL(service.url)
  const { attributes } = span
  assert.equal(attributes['gen_ai.provider.name'], 'custos')
  assert.equal(attributes['gen_ai.operation.name'], 'create_memory')
  assert.equal(attributes['gen_ai.memory.store.id'], 'default')
  assert.equal(attributes['gen_ai.memory.record.id'], String(ref))
  assert.equal(attributes['server.address'], hostname)
  assert.equal(attributes['server.port'], Number(port))
  assert.equal(attributes['custos.operation'], 'memory.write')
  assert.equal(typeof attributes['custos.log_seq'], 'number')
  assert.equal(typeof attributes['custos.request_id'], 'string')
  assert.ok(!JSON.stringify([span.name, attributes, span.events]).includes('Porto'))
})

test('a refusal ends its span as an error with the code of the service', async () => {
  await assert.rejects(custos.memory.stats('absent'))
  const [span] = exporter.getFinishedSpans()
  assert.ok(span)
  assert.equal(span.status.code, SpanStatusCode.ERROR)
  assert.equal(span.attributes['error.type'], 'store_not_found')
})

test('retries are events of one span', async () => {
  let calls = 0
  const answer: typeof fetch = async () => {
    calls += 1
    const headers = { 'retry-after': '0' }
    if (calls > 2) return Response.json({})
    return Response.json({ error: 'unavailable' }, { status: 503, headers })
  }
  await new Custos({ url: service.url, fetch: answer, hooks }).memory.stats('default')
  const [span, ...others] = exporter.getFinishedSpans()
  assert.ok(span)
  assert.equal(others.length, 0)
  assert.deepEqual(
    span.events.map(({ name, attributes }) => [name, attributes?.['custos.attempt']]),
    [
      ['retry', 1],
      ['retry', 2],
    ],
  )
  assert.equal(span.events[0]?.attributes?.['error.type'], 'unavailable')
  assert.equal(span.status.code, SpanStatusCode.UNSET)
})
