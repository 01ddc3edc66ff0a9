// What the client does when connections break, answers are refused and callers give up.

import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { ConnectionError, Custos, CustosError, isRefusal, TimeoutError } from '@custos/client'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

const ROUNDS = 100

let service: TestService
let apiKey: string

before(async () => {
  service = await startTestService()
  apiKey = (await service.createTenant('faults')).api_key
})

after(() => service.stop())

type Fault = 'before' | 'after' | undefined

/** A server in front of the service that breaks the first attempt of some requests. */
async function startFaulty(faultOf: (request: IncomingMessage) => Fault): Promise<Server> {
  const seen = new Set<string>()
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const key = String(request.headers['idempotency-key'])
    const fault = seen.has(key) ? undefined : faultOf(request)
    seen.add(key)
    if (fault === 'before') {
      request.socket.destroy()
      return
    }
    const answer = await fetch(`${service.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {
        authorization: String(request.headers.authorization),
        'content-type': String(request.headers['content-type'] ?? 'application/json'),
        'idempotency-key': key,
      },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    })
    const text = await answer.text()
    if (fault === 'after') request.socket.destroy()
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

function urlOf(server: Server): string {
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return `http://127.0.0.1:${address.port}`
}

/** A server that answers each request with the next of these, and the last one from then on. */
async function startScripted(...answers: readonly { status: number; body?: unknown }[]) {
  let asked = 0
  const server = createServer((_, response) => {
    const { status, body = {} } = answers[Math.min(asked, answers.length - 1)] ?? { status: 500 }
    asked += 1
    const headers = { 'content-type': 'application/json', 'retry-after': '0' }
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, custos: new Custos({ url: urlOf(server), apiKey }), asked: () => asked }
}

test('a write whose connection breaks before or after the commit exists once', async () => {
  let count = 0
  const faulty = await startFaulty(() => {
    count += 1
    return count % 2 === 0 ? 'before' : 'after'
  })
  try {
    const custos = new Custos({ url: urlOf(faulty), apiKey })
    const contents = Array.from({ length: ROUNDS }, (_, i) => `round ${i}`)
    const written = await Promise.all(
      contents.map((content) => custos.memory.write('default', { content })),
    )
    assert.equal(new Set(written.map(({ ref }) => ref)).size, ROUNDS)
  } finally {
    await stop(faulty)
  }
  const direct = new Custos({ url: service.url, apiKey })
  const stored: string[] = []
  for await (const { content } of direct.memory.memories.all('default')) stored.push(content)
  assert.deepEqual(stored.sort(), Array.from({ length: ROUNDS }, (_, i) => `round ${i}`).sort())
})

test('what is busy is asked again, what is full or refused is not', async () => {
  const cases = [
    { answers: [{ status: 503, body: { error: 'index_building' } }, { status: 200 }], asked: 2 },
    { answers: [{ status: 429, body: { error: 'rate_limited' } }, { status: 200 }], asked: 2 },
    { answers: [{ status: 503, body: { error: 'unavailable' } }, { status: 200 }], asked: 2 },
    {
      answers: [{ status: 503, body: { error: 'payment_unavailable' } }, { status: 200 }],
      asked: 2,
    },
    { answers: [{ status: 504 }, { status: 200 }], asked: 2 },
    { answers: [{ status: 503, body: { error: 'storage_full' } }], asked: 1 },
    { answers: [{ status: 503, body: { error: 'read_only' } }], asked: 1 },
    { answers: [{ status: 500, body: { error: 'internal' } }], asked: 1 },
    { answers: [{ status: 409, body: { error: 'idempotency_key_reused' } }], asked: 1 },
    { answers: [{ status: 502 }], asked: 3 },
  ]
  for (const { answers, asked } of cases) {
    const scripted = await startScripted(...answers)
    const result = scripted.custos.memory.stats('default')
    if (answers.at(-1)?.status === 200) await result
    else await assert.rejects(result, CustosError)
    assert.equal(scripted.asked(), asked, JSON.stringify(answers))
    await stop(scripted.server)
  }
})

test('a 429 without Retry-After is not asked again, as its limit may last for a day', async () => {
  let asked = 0
  const answer: typeof fetch = async () => {
    asked += 1
    return Response.json({ error: 'rate_limited' }, { status: 429 })
  }
  const custos = new Custos({ url: service.url, apiKey, fetch: answer })
  await assert.rejects(custos.memory.stats('default'), (error) => isRefusal(error, 'rate_limited'))
  assert.equal(asked, 1)
})

test('Retry-After is waited for', async () => {
  const times: number[] = []
  const answer: typeof fetch = async () => {
    times.push(performance.now())
    if (times.length > 1) return Response.json({})
    const headers = { 'retry-after': '1' }
    return Response.json({ error: 'rate_limited' }, { status: 429, headers })
  }
  await new Custos({ url: service.url, apiKey, fetch: answer }).memory.stats('default')
  const [first = 0, second = 0] = times
  assert.ok(second - first >= 990, `${second - first} ms`)
})

test('a wait that Retry-After names is no shorter than one that nobody names', async () => {
  const times: number[] = []
  const answer: typeof fetch = async () => {
    times.push(performance.now())
    if (times.length > 1) return Response.json({})
    const headers = { 'retry-after': '0' }
    return Response.json({ error: 'unavailable' }, { status: 503, headers })
  }
  await new Custos({ url: service.url, apiKey, fetch: answer }).memory.stats('default')
  const [first = 0, second = 0] = times
  assert.ok(second - first >= 300, `${second - first} ms`)
})

test('Retry-After may be a date, as proxies write it; another text is none', async () => {
  const waits: (number | undefined)[] = []
  for (const after of [
    new Date(Date.now() + 3_000).toUTCString(),
    'Fri, 31 Dec 1999 23:59:59 GMT',
    '7',
    ...['soon', 'soon 5', '5, 5', '-5', '', '1.5', '1e3', '2030-01-01', 'Fri, 5'],
  ]) {
    const answer: typeof fetch = async () => {
      const headers = { 'retry-after': after }
      return Response.json({ error: 'rate_limited' }, { status: 429, headers })
    }
    const custos = new Custos({ url: service.url, apiKey, fetch: answer, retries: 0 })
    const refused = await custos.memory.stats('default').then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.ok(isRefusal(refused, 'rate_limited'))
    waits.push(refused.retryAfterMs)
  }
  const [soon = 0, past, seconds, ...none] = waits
  assert.ok(soon > 1_000 && soon <= 3_000, `${soon} ms`)
  assert.deepEqual([past, seconds], [0, 7_000])
  assert.deepEqual(none, Array(9).fill(undefined))
})

test('a POST that is neither idempotent nor a read is sent once', async () => {
  const scripted = await startScripted({ status: 503, body: { error: 'unavailable' } })
  const sent = scripted.custos.retention.run('default')
  await assert.rejects(sent, (error) => isRefusal(error, 'unavailable'))
  assert.equal(scripted.asked(), 1)
  await stop(scripted.server)
})

test('a caller who aborts gets the reason, and no answer in time is a TimeoutError', async () => {
  const silent = createServer(() => undefined)
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const custos = new Custos({ url: urlOf(silent), apiKey, retries: 0 })
  const controller = new AbortController()
  const reason = new Error('enough')
  const waiting = custos.memory.stats('default', { signal: controller.signal })
  controller.abort(reason)
  await assert.rejects(waiting, (error) => error === reason)
  await assert.rejects(
    custos.memory.stats('default', { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  )
  await assert.rejects(custos.memory.stats('default', { timeoutMs: 20 }), TimeoutError)
  await stop(silent)
})

test('an export that breaks off within a line is an error', async () => {
  const cut = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end('{"custos_export":1}\n{"ref":')
  })
  await new Promise<void>((resolve) => cut.listen(0, '127.0.0.1', resolve))
  const custos = new Custos({ url: urlOf(cut), apiKey })
  const read: unknown[] = []
  await assert.rejects(async () => {
    for await (const line of custos.memory.export('default')) read.push(line)
  }, ConnectionError)
  assert.deepEqual(read, [{ custos_export: 1 }])
  await stop(cut)
})

test('a list is complete, and shows nothing twice, while others write', async () => {
  const custos = new Custos({ url: service.url, apiKey })
  const { store_id } = await custos.memory.createStore({ name: 'many' })
  const store = custos.store(store_id)
  for (let batch = 0; batch < 5; batch += 1)
    await store.writeMany(Array.from({ length: 500 }, (_, i) => ({ content: `${batch}/${i}` })))
  const writes: Promise<unknown>[] = []
  const seen: string[] = []
  for await (const { content } of custos.memory.memories.all(store_id, { limit: 500 })) {
    if (seen.length % 100 === 0) writes.push(store.write({ content: `later ${seen.length}` }))
    seen.push(content)
  }
  await Promise.all(writes)
  assert.equal(new Set(seen).size, seen.length)
  assert.equal(seen.filter((content) => !content.startsWith('later')).length, 2_500)
})

test('the credential is in no error, no text and no inspection of the client', async () => {
  const secret = 'cst_secret-0123456789'
  const custos = new Custos({ url: service.url, apiKey: secret, headers: { 'x-own': secret } })
  const shown = [inspect(custos, { depth: 9, showHidden: true }), String(custos)]
  shown.push(JSON.stringify(custos))
  const failures = [
    () => custos.memory.listStores(),
    () => new Custos({ url: 'http://127.0.0.1:9', apiKey: secret, retries: 0 }).memory.listStores(),
    () => new Custos({ url: service.url, apiKey: `${secret}\n` }).memory.listStores(),
    () => new Custos({ url: 'http://example.com', apiKey: secret }),
  ]
  for (const fail of failures)
    await assert.rejects(
      async () => fail(),
      (error) => {
        shown.push(inspect(error, { depth: 9, showHidden: true }))
        return error instanceof CustosError
      },
    )
  for (const text of shown) assert.ok(!text.includes(secret), text)
})

test('an id that would lead to another path is refused before it is sent', async () => {
  const custos = new Custos({ url: service.url, apiKey })
  for (const id of ['', '.', '..'])
    assert.throws(() => custos.memory.getStore(id), /store_id is missing or not an id/)
})

test('a frame or a line that is no JSON ends the reading with an error of the client', async () => {
  let asked = 0
  const server = createServer((request, response) => {
    asked += 1
    const isStream = request.url?.includes('stream')
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'text/plain' })
    response.end(isStream ? 'id: 0.1\nevent: x\ndata: {"a":\n\n' : '{"a":\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const custos = new Custos({ url: urlOf(server), apiKey })
    const reads: readonly AsyncIterable<unknown>[] = [
      custos.streams.events({ from: 'start' }),
      custos.memory.export('default'),
    ]
    for (const read of reads)
      await assert.rejects(
        async () => {
          for await (const _ of read);
        },
        (error) => {
          assert.ok(error instanceof CustosError, String(error))
          assert.match(error.message, /did not answer like a Custos service/)
          return true
        },
      )
    assert.equal(asked, reads.length)
  } finally {
    await stop(server)
  }
})
