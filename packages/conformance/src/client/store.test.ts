// A store on the wire: what is read of answers of every shape, and what is not taken for one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStore, MalformedAnswer, openStore, RequestRefused, type Store } from './store.ts'
import type { Wire } from './wire.ts'

const answering =
  (body: unknown, status = 200): Wire =>
  async () => ({ status, body })
const storeOf = (body: unknown, status?: number) => openStore(answering(body, status), 's')

const calls: readonly [string, unknown, (store: Store) => Promise<unknown>][] = [
  ['capabilities without a list', { capabilities: 'audit' }, (s) => s.capabilities()],
  ['capabilities that are no names', { capabilities: [1] }, (s) => s.capabilities()],
  ['a write without a ref', { id: 1 }, (s) => s.write('x', {})],
  ['a ref that is an object', { ref: {} }, (s) => s.supersede(1, 'x', {})],
  ['a delete that says neither', { ok: true }, (s) => s.erase(1)],
  ['a delete that says a word', { deleted: 'yes' }, (s) => s.erase(1)],
  ['no memories', { items: [] }, (s) => s.retrieve('x', { budget_tokens: 1 })],
  ['a memory without content', { memories: [{ ref: 1 }] }, (s) => s.audit()],
  ['a memory without a ref', { memories: [{ content: 'x' }] }, (s) => s.audit()],
  ['a list in place of an object', [], (s) => s.flush()],
  ['no body', undefined, (s) => s.flush()],
]

for (const [what, body, call] of calls)
  test(`${what} is no answer of the protocol`, async () => {
    await assert.rejects(call(storeOf(body)), MalformedAnswer)
  })

for (const store_id of [undefined, '', 7, 'a b', 'x'.repeat(257), 'line\nbreak', '\ud800'])
  test(`a store called ${JSON.stringify(store_id)?.slice(0, 20)} is not worked with`, async () => {
    await assert.rejects(createStore(answering({ store_id }), 'n'), MalformedAnswer)
  })

test('names of capabilities that could not stand in a result are left out', async () => {
  const names = [
    'audit',
    '\ud800',
    'x'.repeat(300),
    ...Array.from({ length: 200 }, (_, i) => `c${i}`),
  ]
  const read = await storeOf({ capabilities: names }).capabilities()
  assert.equal(read.length, 100)
  assert.deepEqual(read.slice(0, 2), ['audit', 'c0'])
})

test('a refusal names the operation, the status and a code that is a word', async () => {
  for (const [error, code] of [
    ['capability_not_supported', 'capability_not_supported'],
    ['Content was: Aria lives in Rome', null],
    [{ a: 1 }, null],
  ]) {
    await assert.rejects(storeOf({ error }, 422).erase(1), (refused) => {
      assert.ok(refused instanceof RequestRefused)
      assert.deepEqual([refused.status, refused.code], [422, code])
      assert.doesNotMatch(refused.message, /Aria/)
      return true
    })
  }
})

test('what is sent is what the stock client sends, and nothing more', async () => {
  const sent: unknown[] = []
  const wire: Wire = async (method, path, body) => {
    sent.push([method, path, body])
    return { status: 200, body: { ref: 1, deleted: true, memories: [] } }
  }
  const store = openStore(wire, 'a/b')
  await store.write('x', {})
  await store.supersede('r', 'y', { valid_from: 't', tenant_id: 'n', metadata: { k: 'v' } })
  await store.erase(1)
  await store.retrieve('q', { budget_tokens: 5, as_of: 't' })
  await store.audit()
  await store.flush()
  const base = '/v1/stores/a%2Fb'
  const none = { valid_from: null, tenant_id: null, metadata: {} }
  const given = { valid_from: 't', tenant_id: 'n', metadata: { k: 'v' } }
  const asked = { budget_tokens: 5, as_of: 't', tenant_id: null, top_k: null }
  assert.deepEqual(sent, [
    ['POST', `${base}/write`, { content: 'x', options: none }],
    ['POST', `${base}/supersede`, { old_ref: 'r', content: 'y', options: given }],
    ['POST', `${base}/delete`, { ref: 1 }],
    ['POST', `${base}/retrieve`, { query: 'q', options: asked }],
    ['GET', `${base}/audit`, undefined],
    ['POST', `${base}/flush`, {}],
  ])
})
