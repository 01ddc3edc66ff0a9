// The wire: patience with a busy server, its limits, and what happens when nothing answers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConformanceError, openWire } from './wire.ts'

const url = 'http://server.test/'

/** Answers in order, the last for ever; keeps what was sent. */
function answering(...answers: readonly (() => Response)[]) {
  const sent: { url: string; init: RequestInit | undefined }[] = []
  const send: typeof fetch = async (input, init) => {
    sent.push({ url: String(input), init })
    const answer = answers[Math.min(sent.length, answers.length) - 1]
    return answer?.() ?? new Response(null, { status: 500 })
  }
  return { sent, send }
}

const busy = (status: number) => () =>
  new Response('{}', { status, headers: { 'retry-after': '0' } })
const fine = () => Response.json({ fine: true })

for (const status of [429, 503])
  test(`a ${status} is waited for as long as it asks, and the next answer counts`, async () => {
    const { sent, send } = answering(busy(status), busy(status), fine)
    const wire = openWire({ url, fetch: send })
    assert.deepEqual(await wire('GET', '/x'), { status: 200, body: { fine: true } })
    assert.equal(sent.length, 3)
  })

test('a server that stays busy is answered with that, after five times', async () => {
  const { sent, send } = answering(busy(429))
  assert.equal((await openWire({ url, fetch: send })('GET', '/x')).status, 429)
  assert.equal(sent.length, 5)
})

test('a refusal is no reason to ask again', async () => {
  const { sent, send } = answering(() => Response.json({ error: 'x' }, { status: 409 }))
  assert.equal((await openWire({ url, fetch: send })('POST', '/x', {})).status, 409)
  assert.equal(sent.length, 1)
})

test('credential and JSON body are sent, and nothing else; without them neither', async () => {
  const { sent, send } = answering(fine)
  await openWire({ url, api_key: 'k', fetch: send })('POST', '/v1/stores', { name: 'n' })
  await openWire({ url, fetch: send })('GET', '/health')
  const [first, second] = sent
  assert.equal(first?.url, 'http://server.test/v1/stores')
  assert.deepEqual(first?.init?.headers, {
    authorization: 'Bearer k',
    'content-type': 'application/json',
  })
  assert.equal(first?.init?.body, '{"name":"n"}')
  assert.deepEqual(second?.init?.headers, {})
  assert.equal(second?.init?.body, undefined)
})

test('what is no JSON is an answer without a body', async () => {
  const { send } = answering(() => new Response('<html>', { status: 200 }))
  assert.deepEqual(await openWire({ url, fetch: send })('GET', '/x'), {
    status: 200,
    body: undefined,
  })
})

test('nothing answering is an error of the run that names the server and the reason', async () => {
  const send: typeof fetch = async () => {
    throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
  }
  const asked = openWire({ url, fetch: send })('GET', '/x')
  await assert.rejects(asked, (error) => {
    assert.ok(error instanceof ConformanceError)
    assert.equal(error.message, 'no answer from http://server.test: connect ECONNREFUSED')
    return true
  })
})

test('a signal ends a request that is under way and every one after', async () => {
  const ending = new AbortController()
  const send: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      ending.abort(new Error('enough'))
    })
  const wire = openWire({ url, fetch: send, signal: ending.signal })
  await assert.rejects(wire('GET', '/x'), /enough/)
  await assert.rejects(wire('GET', '/x'), /enough/)
})
