// The embedder over HTTP against a service on loopback that does everything wrong.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Asked,
  type Behaviour,
  type EmbeddingServer,
  reply,
  SERVICE_DIMENSIONS,
  startEmbeddingServer,
} from '../../testing/embedding-server.ts'
import { createHashingEmbedder } from '../../testing/hashing-embedder.ts'
import { EmbedderRefused, EmbedderUnavailable } from './embedder.ts'
import { createHttpEmbedder } from './http-embedder.ts'

const KEY = 'secret-key-of-the-service'
const TEXT = 'Caroline lives in Porto'

async function withService(
  act: (service: EmbeddingServer, make: Make) => Promise<void>,
): Promise<void> {
  const service = await startEmbeddingServer()
  const make: Make = (options = {}) =>
    createHttpEmbedder({
      url: service.url,
      model: 'model-x',
      key: KEY,
      dimensions: SERVICE_DIMENSIONS,
      timeout_ms: 5_000,
      ...options,
    })
  try {
    await act(service, make)
  } finally {
    await service.stop()
  }
}
type Make = (
  options?: Partial<Parameters<typeof createHttpEmbedder>[0]>,
) => ReturnType<typeof createHttpEmbedder>

/** What the hashing embedder gives, through numbers that are not of unit length. */
const expected = (texts: readonly string[]) => createHashingEmbedder().embed(texts)

const unchanged = (vector: Int8Array | null, wanted: Int8Array | undefined) => {
  assert.ok(vector && wanted)
  // Truncated twice, so one less at most.
  for (const [at, value] of vector.entries())
    assert.ok(Math.abs(value - (wanted[at] ?? 0)) <= 1, `place ${at}`)
}

test('texts go in batches, with model and key, and come back in their order', async () => {
  await withService(async (service, make) => {
    const texts = Array.from({ length: 70 }, (_, i) => `text number ${i} of ${i * i}`)
    const vectors = await make().embed(texts)
    const wanted = await expected(texts)
    assert.equal(vectors.length, 70)
    for (const [i, vector] of vectors.entries()) unchanged(vector, wanted[i])
    assert.deepEqual(service.asked.map(({ input }) => input.length).toSorted(), [32, 32, 6])
    const [first] = service.asked
    assert.equal(first?.authorization, `Bearer ${KEY}`)
    assert.equal(first?.model, 'model-x')
    assert.equal(first?.path, '/v1/embeddings')
  })
})

test('no more than four requests are under way at once', async () => {
  await withService(async (service, make) => {
    let [now, most] = [0, 0]
    let full = () => {}
    const filled = new Promise<void>((resolve) => {
      full = resolve
    })
    service.behave(async () => {
      now += 1
      most = Math.max(most, now)
      if (now === 4) full()
      // The first four stay until all of them are there, and a fifth would be.
      await filled
      await new Promise((resolve) => setTimeout(resolve, 50))
      now -= 1
      return false
    })
    await make().embed(Array.from({ length: 32 * 9 }, (_, i) => `text ${i}`))
    assert.equal(service.asked.length, 9)
    assert.equal(most, 4)
  })
})

/** Fails `times` times, then answers. */
const failing = (times: number, fail: Behaviour): Behaviour => {
  let left = times
  return (asked, response) => {
    left -= 1
    return left >= 0 ? fail(asked, response) : false
  }
}

for (const status of [429, 500, 503])
  test(`a ${status} is tried again and the answer taken`, async () => {
    await withService(async (service, make) => {
      service.behave(failing(2, (_, response) => reply(response, status, {})))
      const [vector] = await make().embed([TEXT])
      unchanged(vector ?? null, (await expected([TEXT]))[0])
      assert.equal(service.asked.length, 3)
    })
  })

test('after three failures it gives up, and for a while nobody is let through', async () => {
  await withService(async (service, make) => {
    service.behave((_, response) => reply(response, 500, {}))
    const embedder = make()
    await assert.rejects(embedder.embed([TEXT]), (error) => {
      assert.ok(error instanceof EmbedderUnavailable)
      assert.equal(error.reason, 'status_500')
      return true
    })
    // And once for a harmless word.
    assert.equal(service.asked.length, 4)
    await assert.rejects(embedder.embed([TEXT]), { reason: 'failed_before' })
    assert.equal(service.asked.length, 4)
  })
})

test('Retry-After is kept to: longer than a caller waits, it is not asked again', async () => {
  await withService(async (service, make) => {
    service.behave((_, response) => reply(response, 429, {}, { 'retry-after': '30' }))
    await assert.rejects(make({ timeout_ms: 2_000 }).embed([TEXT]), (error) => {
      assert.ok(error instanceof EmbedderUnavailable)
      assert.equal(error.retry_after_ms, 30_000)
      return true
    })
    assert.equal(service.asked.length, 1)
  })
})

test('Retry-After within the time is waited for', async () => {
  await withService(async (service, make) => {
    const since = performance.now()
    service.behave(failing(1, (_, response) => reply(response, 429, {}, { 'retry-after': '1' })))
    await make().embed([TEXT])
    assert.ok(performance.now() - since >= 990)
  })
})

test('a service that hangs, before or within its answer, costs the timeout at most', async () => {
  await withService(async (service, make) => {
    const hangs: Behaviour[] = [
      () => true,
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('{"data":[')
        return true
      },
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const drip = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(drip))
        return true
      },
    ]
    for (const hang of hangs) {
      service.behave(hang)
      await assert.rejects(make({ timeout_ms: 200 }).embed([TEXT]), { reason: 'timeout' })
    }
  })
})

const altered =
  (
    service: EmbeddingServer,
    alter: (answer: Awaited<ReturnType<EmbeddingServer['answerTo']>>, asked: Asked) => unknown,
  ): Behaviour =>
  async (asked, response) =>
    reply(response, 200, alter(await service.answerTo(asked), asked))

const withNumber = (text: string) => (answer: { data: { embedding: number[] }[] }) =>
  JSON.stringify(answer).replace(/"embedding":\[-?\d+/, `"embedding":[${text}`)

/** Reasons that no single text can be the cause of. */
const NO_TEXT = ['index', 'too_large', 'redirect', 'status_401', 'status_404']

test('an answer that is not what was asked for is refused, in one word', async () => {
  await withService(async (service, make) => {
    const cases: [string, Behaviour][] = [
      [
        'dimensions',
        altered(service, ({ data }) => ({
          data: data.map((item) => ({ ...item, embedding: item.embedding.slice(1) })),
        })),
      ],
      ['count', altered(service, ({ data }) => ({ data: data.slice(1) }))],
      ['count', altered(service, ({ data }) => ({ data: [...data, ...data] }))],
      [
        'index',
        altered(service, ({ data }) => ({ data: data.map((item) => ({ ...item, index: 0 })) })),
      ],
      [
        'index',
        altered(service, ({ data }) => ({
          data: data.map((item) => ({ ...item, index: item.index + 1 })),
        })),
      ],
      ['not_json', altered(service, withNumber('NaN'))],
      ['not_finite', altered(service, withNumber('1e999'))],
      ['not_finite', altered(service, withNumber('1e200'))],
      ['not_finite', altered(service, withNumber('null'))],
      ['not_finite', altered(service, withNumber('"1"'))],
      ['not_json', (_, response) => reply(response, 200, '<html>secret words</html>')],
      ['shape', (_, response) => reply(response, 200, { data: 'none' })],
      ['shape', (_, response) => reply(response, 200, { data: [1, 2] })],
      ['too_large', (_, response) => reply(response, 200, 'x'.repeat(1_000_000))],
      [
        'too_large',
        (_, response) => {
          response.writeHead(200)
          for (let at = 0; at < 64; at += 1) response.write('x'.repeat(64 * 1024))
          response.end()
          return true
        },
      ],
      ['redirect', (_, response) => reply(response, 307, '', { location: service.url })],
      ['status_401', (_, response) => reply(response, 401, {})],
      ['status_404', (_, response) => reply(response, 404, {})],
    ]
    for (const [reason, behaviour] of cases) {
      service.asked.length = 0
      service.behave(behaviour)
      await assert.rejects(make().embed([TEXT, 'another text']), (error) => {
        assert.ok(error instanceof EmbedderRefused, `${reason}: ${error}`)
        assert.equal(error.reason, reason)
        const said = `${error.message} ${error.stack}`
        for (const word of ['Porto', 'another', 'secret', KEY]) assert.ok(!said.includes(word))
        return true
      })
      // Not again, but for a harmless word where one of the texts might have been the cause.
      const inputs = service.asked.map(({ input }) => input)
      const asked = NO_TEXT.includes(reason) ? [] : [['word']]
      assert.deepEqual(inputs, [[TEXT, 'another text'], ...asked], reason)
    }
  })
})

test('a text that the service does not take costs the others of its batch nothing', async () => {
  await withService(async (service, make) => {
    service.behave((asked, response) =>
      asked.input.includes('poison') ? reply(response, 400, {}) : false,
    )
    const texts = [...Array.from({ length: 9 }, (_, i) => `text ${i}`), 'poison', 'last']
    const vectors = await make().embed(texts)
    assert.deepEqual(
      vectors.map((vector) => vector === null),
      texts.map((text) => text === 'poison'),
    )
  })
})

/** Fails where a text is poison, in one of the ways services do. */
const POISONED: [string, Behaviour][] = [
  ['status 400', (_, response) => reply(response, 400, {})],
  ['status 500', (_, response) => reply(response, 500, {})],
  ['a number that is null', (_, response) => reply(response, 200, { data: [vectorOf(null)] })],
  ['NaN', (_, response) => reply(response, 200, '{"data":[{"index":0,"embedding":[NaN]}]}')],
  ['no embedding', (_, response) => reply(response, 200, { data: [{ embedding: null }] })],
]
const vectorOf = (number: number | null) => ({
  index: 0,
  embedding: Array.from({ length: SERVICE_DIMENSIONS }, () => number),
})
const onPoison =
  (fail: Behaviour): Behaviour =>
  (asked, response) =>
    asked.input.includes('poison') && fail(asked, response)

for (const [kind, fail] of POISONED)
  test(`a text that a service fails at with ${kind} is found, and nobody else pays`, async () => {
    await withService(async (service, make) => {
      service.behave(onPoison(fail))
      const embedder = make()
      const texts = [...Array.from({ length: 40 }, (_, i) => `text ${i}`), 'poison', 'last']
      const vectors = await embedder.embed(texts, { patient: true })
      const wanted = await expected(texts)
      for (const [i, text] of texts.entries())
        if (text === 'poison') assert.equal(vectors[i], null)
        else unchanged(vectors[i] ?? null, wanted[i])
      // The breaker is closed.
      assert.ok((await embedder.embed([TEXT]))[0])
    })
  })

test('where somebody waits, a text with a 5xx is left for later, and others go on', async () => {
  await withService(async (service, make) => {
    service.behave(onPoison((_, response) => reply(response, 500, {})))
    const embedder = make()
    await assert.rejects(embedder.embed(['poison']), (error) => {
      assert.ok(error instanceof EmbedderUnavailable)
      assert.equal(error.reason, 'status_500')
      return true
    })
    assert.ok((await embedder.embed([TEXT]))[0])
  })
})

test('a service that fails while a text is looked for is not taken for a text', async () => {
  await withService(async (service, make) => {
    let asked = 0
    service.behave(({ input }, response) => {
      if (input[0] === 'word') asked += 1
      return input[0] === 'word' && asked === 1 ? false : reply(response, 500, {})
    })
    const embedder = make()
    const texts = ['one', 'two', 'three']
    await assert.rejects(embedder.embed(texts, { patient: true }), { reason: 'status_500' })
    assert.equal(asked, 2)
    await assert.rejects(embedder.embed([TEXT]), { reason: 'failed_before' })
  })
})

test('a service that refuses every text refuses a harmless word too, and says so', async () => {
  await withService(async (service, make) => {
    service.behave((_, response) => reply(response, 400, {}))
    const embedder = make()
    const texts = Array.from({ length: 128 }, (_, i) => `text ${i}`)
    await assert.rejects(embedder.embed(texts), (error) => {
      assert.ok(error instanceof EmbedderRefused)
      assert.equal(error.reason, 'status_400')
      return true
    })
    assert.ok(service.asked.length <= 5, `${service.asked.length}`)
    await assert.rejects(embedder.embed([TEXT]), { reason: 'failed_before' })
  })
})

test('a long text is cut to what models take, between characters', async () => {
  await withService(async (service, make) => {
    await make().embed(['é😀'.repeat(20_000), 'x'.repeat(24_001), 'x'.repeat(8_000)])
    const inputs = service.asked.flatMap(({ input }) => input)
    assert.deepEqual(
      inputs.map((text) => Buffer.byteLength(text)),
      [24_000, 24_000, 8_000],
    )
    assert.ok(inputs.every((text) => text.isWellFormed()))
  })
})

test('what its caller stops ends at once and says nothing against the service', async () => {
  await withService(async (service, make) => {
    const controller = new AbortController()
    service.behave(() => {
      controller.abort(new Error('stopped'))
      return true
    })
    const embedder = make({ timeout_ms: 60_000 })
    await assert.rejects(embedder.embed([TEXT], { signal: controller.signal }), /stopped/)
    service.behave(null)
    assert.ok((await embedder.embed([TEXT]))[0])
  })
})

test('a service that is not there is unavailable, without a word of its address', async () => {
  await withService(async (service, make) => {
    await service.stop()
    await assert.rejects(make().embed([TEXT]), (error) => {
      assert.ok(error instanceof EmbedderUnavailable)
      assert.equal(error.reason, 'unreachable')
      assert.ok(!`${error.message}${error.stack}`.includes(new URL(service.url).host))
      return true
    })
  })
})
