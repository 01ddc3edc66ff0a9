// 'memory.retrieve' with explain: the parts of every score, and why a memory was left out.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EXPLAIN_PACKED_MAX, EXPLAIN_TERMS_MAX, type Explanation } from '@custos/contract'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { StoreIndex } from '../index/store-index.ts'
import { markErasing, unmarkErasing } from '../index.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})

after(() => scene.stop())

interface Retrieved {
  readonly memories: readonly {
    readonly ref: number
    readonly score: number
    readonly token_count: number
    readonly score_parts: Readonly<Record<string, number>>
  }[]
  readonly dropped: number
  readonly ranking: string
  readonly explain: Explanation
}

async function freshStore(options: object = {}) {
  const { store_id } = (await scene.api('POST', '/v1/stores', options)).body
  const send = async (verb: string, body: object) => {
    const answer = await scene.api('POST', `/v1/stores/${store_id}/${verb}`, body)
    assert.equal(answer.status, 200, `${verb}: ${answer.text}`)
    return answer.body
  }
  return {
    write: async (content: string, more: object = {}): Promise<number> =>
      (await send('write', { content, options: more })).ref,
    send,
    explain: (body: object): Promise<Retrieved> => send('retrieve', { explain: true, ...body }),
  }
}

const sumOf = (terms: readonly { score: number }[]): number =>
  terms.reduce((sum, { score }) => sum + score, 0)

function assertAddsUp({ memories, explain }: Retrieved): void {
  assert.equal(explain.packed.length, memories.length)
  for (const [i, memory] of memories.entries()) {
    const { ref, score, own, lent, further, likeness, ...rest } = explain.packed[i] ?? assert.fail()
    assert.deepEqual([ref, score], [memory.ref, memory.score])
    const { speaker, date, question, message, session, recency } = rest
    const terms = { lexical: sumOf(own), neighbour: sumOf(lent), dense: likeness?.score ?? 0 }
    const parts = { ...terms, speaker, date, question, message, session, recency }
    assert.deepEqual(parts, memory.score_parts)
    assert.equal(further, 0)
    const sum = Object.values(parts).reduce((total, part) => total + part, 0)
    assert.equal(sum, score)
  }
}

const reasons = ({ explain }: Retrieved) =>
  explain.dropped.map(({ ref, reason }) => [ref, reason] as const)

test('scores of terms and of the likeness add up to the score, in every ranking', async () => {
  for (const embedder of ['static', 'none']) {
    const store = await freshStore({ embedder })
    const talk = ['Mia keeps bees', 'how many hives?', 'seven hives by the lake', 'a cold winter']
    for (const [i, content] of talk.entries())
      await store.write(content, { metadata: { session_id: 's', i } })
    for (let i = 0; i < 40; i += 1) await store.write(`note ${i} about bees, honey and ${i % 7}`)
    const queries = [
      'how many hives of bees has Mia?',
      'bees',
      'winter 2023-05-07',
      'zzz',
      '',
      'the',
    ]
    for (const query of queries) {
      const answer = await store.explain({ query })
      assertAddsUp(answer)
      assert.equal(answer.explain.ranking, answer.ranking)
      assert.equal(answer.explain.space === null, embedder === 'none')
      const { explain, ...plain } = answer
      assert.deepEqual(plain, await store.send('retrieve', { query }))
      assert.equal(explain.candidates.visible, 44)
    }
    const { explain } = await store.explain({ query: 'how many hives of bees has Mia?' })
    const [first] = explain.packed
    assert.ok(first && first.own.length > 0 && first.lent.length > 0)
    assert.equal(first.rank, 1)
    const lentTerms = new Set(first.lent.map(({ term }) => term))
    for (const { term } of first.own) assert.ok(!lentTerms.has(term))
    assert.equal(first.likeness === null, embedder === 'none')
    if (first.likeness) assert.equal(first.likeness.cosine, first.likeness.dot / 127 ** 2)
  }
})

test('explain shows how the query was analysed, with counts of its own namespace', async () => {
  const store = await freshStore()
  for (let i = 0; i < 3; i += 1) await store.write(`apples ${i}`)
  await store.write('apples of another', { tenant_id: 'other' })
  await store.write('pears on 2023-05-07')
  const query = 'Which apples were eaten on 2023-05-07?'
  const { explain } = await store.explain({ query })
  const read = new Map(explain.query.terms.map(({ term, memories }) => [term, memories]))
  assert.equal(read.get('appl'), 3)
  assert.equal(read.get('may'), 1)
  assert.deepEqual(explain.query.dates, [{ date: '2023-05-07', terms: ['7', 'may', '2023'] }])
  for (const { memories, weight } of explain.query.terms) assert.equal(weight > 0, memories > 0)
  assert.deepEqual({ ...explain.candidates, matched: 0 }, { visible: 4, matched: 0, ranked: 4 })
  const elsewhere = await store.explain({ query, options: { tenant_id: 'nowhere' } })
  assert.deepEqual(elsewhere.explain.candidates, { visible: 0, matched: 0, ranked: 0 })
  assert.ok(elsewhere.explain.query.terms.every(({ memories }) => memories === 0))
})

test('explain is accepted at the top level and in options, which take precedence', async () => {
  const store = await freshStore()
  await store.write('tea')
  const asked: [object, boolean][] = [
    [{}, false],
    [{ explain: false }, false],
    [{ explain: null }, false],
    [{ explain: true }, true],
    [{ options: { explain: true } }, true],
    [{ explain: true, options: { explain: false } }, false],
    [{ explain: false, options: { explain: true } }, true],
  ]
  for (const [body, expected] of asked) {
    const answer = await store.send('retrieve', { query: 'tea', ...body })
    assert.equal('explain' in answer, expected, JSON.stringify(body))
  }
  const path = '/v1/stores/default/retrieve'
  assert.equal((await scene.api('POST', path, { query: 'x', explain: 'yes' })).status, 422)
  const empty = await scene.api('POST', path, { query: 'new tea', explain: true })
  assert.deepEqual(empty.body.explain.packed, [])
  assert.equal(empty.body.explain.query.terms.length, 2)
})

test('a memory that was left out is listed with the reason', async () => {
  const store = await freshStore({ tokenizer: 'chars', embedder: 'none' })
  const long = await store.write('kiwi kiwi kiwi kiwi kiwi kiwi kiwi kiwi')
  const short = await store.write('one kiwi')
  const other = await store.write('nothing')

  const tight = await store.explain({ query: 'kiwi', budget_tokens: 8 })
  assert.deepEqual(
    tight.explain.packed.map(({ ref }) => ref),
    [short],
  )
  assert.ok(reasons(tight).some(([ref, reason]) => ref === long && reason === 'over_budget'))

  const few = await store.explain({ query: 'kiwi', top_k: 1 })
  const [best] = few.memories
  assert.deepEqual(
    reasons(few),
    [long, short, other].filter((ref) => ref !== best?.ref).map((ref) => [ref, 'beyond_top_k']),
  )

  const high = await store.explain({ query: 'kiwi', min_score: 0.001 })
  assert.deepEqual(reasons(high), [[other, 'below_min_score']])
  const [dropped] = high.explain.dropped
  assert.deepEqual(dropped, {
    ref: other,
    rank: 3,
    score: 0,
    token_count: 'nothing'.length,
    reason: 'below_min_score',
  })

  const items = Array.from({ length: 200 }, (_, i) => ({ content: `full ${i}` }))
  const full = await freshStore({ tokenizer: 'chars' })
  await full.send('write_batch', { items })
  const filled = await full.explain({ query: 'full', budget_tokens: 20 })
  assert.ok(reasons(filled).some(([, reason]) => reason === 'budget_filled'))
  assert.equal(filled.explain.dropped.length, 50)
})

test('of a memory being erased an explanation shows only that something was left out', async () => {
  const store = await freshStore()
  const first = await store.write('plum plum plum')
  const second = await store.write('plum pie')
  const third = await store.write('plum jam and a long description of how it is made at home')
  const { kernel } = scene.service
  await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [first, third]))
  try {
    const answer = await store.explain({ query: 'plum', budget_tokens: 4 })
    assertAddsUp(answer)
    assert.deepEqual(
      answer.memories.map(({ ref }) => ref),
      [second],
    )
    const hidden = { ref: null, rank: null, score: null, token_count: null, reason: 'hidden' }
    assert.deepEqual(answer.explain.dropped, [hidden, hidden])
  } finally {
    await kernel.db.transact(scene.tenant_id, (tx) => unmarkErasing(tx, [first, third]))
  }
})

test('explain follows as_of and known_at as the reply does', async () => {
  const store = await freshStore()
  const ref = await store.write('the tariff is 3', { valid_from: '2020-01-01T00:00:00Z' })
  const { ref: next } = await store.send('supersede', { old_ref: ref, content: 'the tariff is 4' })
  const then = await store.explain({ query: 'tariff', as_of: '2021-01-01T00:00:00Z' })
  assert.deepEqual(
    then.explain.packed.map((one) => one.ref),
    [ref],
  )
  assertAddsUp(then)
  const now = await store.explain({ query: 'tariff', known_at: '2199-01-01T00:00:00Z' })
  assert.equal(now.explain.packed.length, now.memories.length)
  assertAddsUp(await store.explain({ query: 'tariff' }))
  assert.deepEqual(
    (await store.explain({ query: 'tariff' })).memories.map((one) => one.ref),
    [next],
  )
})

test('of a long reply and a long query the first memories and terms are explained', async (t) => {
  const store = await freshStore({ tokenizer: 'chars', embedder: 'none' })
  const long = 'a kiwi that is too long for what is left of the budget'.repeat(40)
  const items = Array.from({ length: 400 }, (_, i) => ({ content: `kiwi w${i}x w${i + 1}x` }))
  await store.send('write_batch', { items: [...items, { content: long }] })
  const query = `kiwi ${Array.from({ length: 500 }, (_, i) => `w${i}x`).join(' ')}`
  const looked = t.mock.method(StoreIndex.prototype, 'explain')
  const { memories, explain } = await store.explain({ query, budget_tokens: 1_000 * 7 })
  assert.equal(memories.length, 400)
  const [call] = looked.mock.calls
  assert.equal(call?.arguments[1].length, EXPLAIN_PACKED_MAX + 50)
  assert.equal(explain.query.terms.length, EXPLAIN_TERMS_MAX)
  assert.equal(explain.query.further_terms, 501 - EXPLAIN_TERMS_MAX)
  assert.equal(explain.packed.length, EXPLAIN_PACKED_MAX)
  for (const [i, { ref, rank, score, own, lent, further }] of explain.packed.entries()) {
    const { session } = explain.packed[i] ?? assert.fail()
    assert.deepEqual([ref, score, rank], [memories[i]?.ref, memories[i]?.score, i + 1])
    assert.equal(sumOf(own) + sumOf(lent) + further + session, score)
  }
  assert.ok(explain.packed.some(({ further }) => further > 0))
  assert.deepEqual(
    explain.dropped.map(({ reason }) => reason),
    ['over_budget'],
  )
})
