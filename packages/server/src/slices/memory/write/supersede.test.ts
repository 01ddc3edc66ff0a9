// 'memory.supersede': one open head, one winner, a complete history; and chains repaired by
// erasure.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'

let scene: Scene
let base: string

before(async () => {
  scene = await openScene()
  base = `/v1/stores/${scene.store_id}`
})

after(() => scene.stop())

const supersede = (old_ref: number, content: string, options = {}) =>
  scene.api('POST', `${base}/supersede`, { old_ref, content, options })
const shown = async (ref: number) => (await scene.api('GET', `${base}/memories/${ref}`)).body
const contents = async (query: string, options = {}): Promise<string[]> => {
  const { body } = await scene.api('POST', `${base}/retrieve`, { query, options })
  // The rest of a budget is filled with memories that do not match: they are of other tests.
  return body.memories
    .map(({ content }: { content: string }) => content)
    .filter((content: string) => content.startsWith(query))
}

/** Versions of one fact with the given starts; their refs, oldest first. */
async function chain(word: string, starts: readonly string[]): Promise<number[]> {
  const [first = '', ...later] = starts
  const refs = [await scene.write(`${word} version 0`, { valid_from: first })]
  for (const [i, valid_from] of later.entries()) {
    const { body } = await supersede(refs.at(-1) ?? 0, `${word} version ${i + 1}`, { valid_from })
    refs.push(body.ref)
  }
  return refs
}

const JAN = '2026-01-01T00:00:00.000001Z'
const FEB = '2026-02-01T00:00:00.000002Z'
const MAR = '2026-03-01T00:00:00.000003Z'

test('the successor takes over at one instant and the old version stays in the audit', async () => {
  const [a = 0, b = 0] = await chain('lamp', [JAN, FEB])
  const [old, head] = [await shown(a), await shown(b)]
  assert.equal(old.superseded_by, b)
  assert.equal(old.valid_until, FEB)
  assert.equal(head.valid_from, FEB)
  assert.equal(head.valid_until, null)
  assert.deepEqual(await contents('lamp', { top_k: 5 }), ['lamp version 1'])
  assert.deepEqual(await contents('lamp', { top_k: 5, as_of: FEB }), ['lamp version 1'])
  const before = '2026-02-01T00:00:00.000001Z'
  assert.deepEqual(await contents('lamp', { top_k: 5, as_of: before }), ['lamp version 0'])
  assert.deepEqual(await contents('lamp', { top_k: 5, as_of: '2025-12-31T00:00:00Z' }), [])
  const { memories } = (await scene.api('GET', `${base}/audit`)).body
  const refs = memories.map(({ ref }: { ref: number }) => ref)
  assert.ok(refs.includes(a) && refs.includes(b))
})

test('without valid_from the successor begins when it is written', async () => {
  const a = await scene.write('undated')
  const { body } = await supersede(a, 'undated two')
  const head = await shown(body.ref)
  assert.equal(head.valid_from, head.written_at)
  assert.equal((await shown(a)).valid_until, head.written_at)
  assert.equal(body.old_ref, a)
  assert.equal(body.status, 'stored')
})

test('of many requests that supersede one head one wins; the others get the head', async () => {
  const a = await scene.write('contested')
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => supersede(a, `contender ${i}`)),
  )
  const winners = answers.filter(({ status }) => status === 200)
  assert.equal(winners.length, 1)
  for (const { status, body } of answers.filter(({ status }) => status !== 200)) {
    assert.equal(status, 409)
    assert.equal(body.error, 'superseded')
    assert.equal(body.head, winners[0]?.body.ref)
  }
  const { memories } = (await scene.api('GET', `${base}/audit`)).body
  const kept = memories.filter(({ content }: { content: string }) => /^contender/.test(content))
  assert.equal(kept.length, 1)
})

test('a successor that does not begin after its predecessor changes nothing', async () => {
  const a = await scene.write('ordered', { valid_from: FEB })
  for (const valid_from of [JAN, FEB]) {
    const { status, body } = await supersede(a, 'too early', { valid_from })
    assert.equal(status, 422)
    assert.equal(body.error, 'order_inverted')
  }
  const tomorrow = '2199-01-01T00:00:00.000000Z'
  const future = await scene.write('later', { valid_from: tomorrow })
  assert.equal((await supersede(future, 'now')).body.error, 'order_inverted')
  assert.equal((await shown(a)).superseded_by, null)
})

test('a future version leaves the present one current until its time', async () => {
  const a = await scene.write('rate is five', { valid_from: JAN })
  const from = '2199-01-01T00:00:00.000000Z'
  const { body } = await supersede(a, 'rate is six', { valid_from: from })
  assert.deepEqual(await contents('rate', { top_k: 3 }), ['rate is five'])
  assert.deepEqual(await contents('rate', { top_k: 3, as_of: from }), ['rate is six'])
  assert.equal((await supersede(a, 'again')).body.head, body.ref)
})

test('an unknown ref, or one of another store or namespace, makes a plain write', async () => {
  const { store_id } = (await scene.api('POST', '/v1/stores', {})).body
  const foreign = await scene.api('POST', `/v1/stores/${store_id}/write`, { content: 'there' })
  const inSpace = await scene.write('spaced', { tenant_id: 'space' })
  for (const [old_ref, options] of [
    [987_654_321, {}],
    [foreign.body.ref, {}],
    [inSpace, { tenant_id: 'elsewhere' }],
  ] as const) {
    const { status, body } = await supersede(old_ref, `plain ${old_ref}`, options)
    assert.equal(status, 200)
    assert.equal(body.warning, 'unknown_ref')
    assert.equal((await shown(body.ref)).superseded_by, null)
  }
  assert.equal((await shown(inSpace)).superseded_by, null)
})

test('a successor stays in the namespace of its predecessor', async () => {
  const a = await scene.write('kept apart', { tenant_id: 'apart' })
  const { body } = await supersede(a, 'still apart')
  assert.equal(body.warning, undefined)
  assert.equal((await shown(body.ref)).tenant_id, `${scene.tenant_id}/apart`)
})

test('erasing the current version makes the one before it current again', async () => {
  const [a = 0, b = 0] = await chain('door', [JAN, FEB])
  assert.equal((await scene.api('POST', `${base}/delete`, { ref: b })).body.deleted, true)
  const head = await shown(a)
  assert.equal(head.superseded_by, null)
  assert.equal(head.valid_until, null)
  assert.deepEqual(await contents('door', { top_k: 5 }), ['door version 0'])
  assert.equal((await supersede(a, 'door version 2')).status, 200)
})

test('erasing a middle version leaves a gap that its neighbours skip', async () => {
  const [a = 0, b = 0, c = 0] = await chain('gate', [JAN, FEB, MAR])
  await scene.api('POST', `${base}/delete`, { ref: b })
  const first = await shown(a)
  assert.equal(first.superseded_by, c)
  assert.equal(first.valid_until, FEB)
  assert.deepEqual(await contents('gate', { top_k: 5, as_of: FEB }), [])
  assert.equal((await supersede(a, 'gate again')).body.head, c)
})

test('erasing the oldest version leaves the others unchanged', async () => {
  const [a = 0, b = 0, c = 0] = await chain('wall', [JAN, FEB, MAR])
  await scene.api('POST', `${base}/delete`, { ref: a })
  assert.equal((await shown(b)).superseded_by, c)
  assert.equal((await scene.api('GET', `${base}/memories/${a}`)).status, 404)
  assert.deepEqual(await contents('wall', { top_k: 5, as_of: JAN }), [])
  await scene.api('POST', `${base}/delete`, { ref: c })
  await scene.api('POST', `${base}/delete`, { ref: b })
  assert.deepEqual(await contents('wall', { top_k: 5 }), [])
})

test('a retried supersession gets the same reply and adds nothing', async () => {
  const a = await scene.write('retried')
  const send = () =>
    scene.api(
      'POST',
      `${base}/supersede`,
      { old_ref: a, content: 'retried two' },
      { 'idempotency-key': 'supersede-1' },
    )
  const [first, again] = [await send(), await send()]
  assert.equal(first.status, 200)
  assert.deepEqual(again.body, first.body)
})
