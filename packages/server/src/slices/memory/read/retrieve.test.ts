// 'memory.retrieve': budgets, times, namespaces and filters; what is acknowledged is found.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})

after(() => scene.stop())

interface Retrieved {
  readonly ref: number
  readonly content: string
  readonly score: number
  readonly token_count: number
  readonly score_parts: Record<string, number>
  readonly confidence: number
  readonly superseded_by: number | null
  readonly valid_until: string | null
}

async function freshStore(options: object = {}) {
  const { store_id } = (await scene.api('POST', '/v1/stores', options)).body
  const base = `/v1/stores/${store_id}`
  const send = async (verb: string, body: object) => {
    const answer = await scene.api('POST', `${base}/${verb}`, body)
    assert.equal(answer.status, 200, `${verb}: ${answer.text}`)
    return answer.body
  }
  return {
    store_id,
    base,
    send,
    write: async (content: string, more: object = {}): Promise<number> =>
      (await send('write', { content, options: more })).ref,
    find: async (body: object): Promise<Retrieved[]> => (await send('retrieve', body)).memories,
  }
}

const refsOf = (memories: readonly Retrieved[]): number[] => memories.map(({ ref }) => ref)

test('a write is found by the next retrieve, a supersession and an erasure too', async () => {
  const store = await freshStore()
  for (let i = 0; i < 20; i += 1) {
    const ref = await store.write(`fact number ${i}`)
    const [best] = await store.find({ query: `number ${i}`, top_k: 1 })
    assert.equal(best?.ref, ref)
    const { ref: next } = await store.send('supersede', { old_ref: ref, content: `changed ${i}` })
    assert.ok(!refsOf(await store.find({ query: 'number' })).includes(ref))
    await store.send('delete', { ref: next })
    assert.ok(!refsOf(await store.find({ query: 'changed' })).includes(next))
  }
})

test('the budget is kept in tokens of the store, wherever it is given', async () => {
  for (const tokenizer of ['chars', 'o200k_base']) {
    const store = await freshStore({ tokenizer })
    for (const n of [40, 3, 20, 1, 7]) await store.write(`apple ${'pear '.repeat(n)}`.trim())
    for (const budget of [0, 1, 6, 11, 30, 100, 400]) {
      const answer = await store.send('retrieve', { query: 'apple', budget_tokens: budget })
      const spent = answer.memories.reduce((sum: number, m: Retrieved) => sum + m.token_count, 0)
      assert.ok(spent <= budget)
      assert.equal(answer.tokens_used, spent)
      assert.equal(answer.tokenizer, tokenizer)
    }
  }
  const store = await freshStore({ tokenizer: 'chars' })
  await store.write('😀'.repeat(10))
  const both = { query: '', budget_tokens: 100, options: { budget_tokens: 9 } }
  assert.deepEqual(await store.find(both), [])
  assert.equal((await store.find({ query: '', options: { budget_tokens: 10 } })).length, 1)
  const clamped: [number | null, number][] = [
    [2 ** 40, limits.budget_tokens],
    [null, limits.budget_tokens_default],
  ]
  for (const [budget_tokens, used] of clamped)
    assert.equal((await store.send('retrieve', { query: '', budget_tokens })).budget_tokens, used)
  const retrieve = (body: object) => scene.api('POST', `${store.base}/retrieve`, body)
  for (const body of [{ budget_tokens: -1 }, { options: { budget_tokens: -1 } }])
    assert.equal((await retrieve({ query: '', ...body })).status, 422)
})

test('a long first hit leaves room for the shorter ones behind it', async () => {
  const store = await freshStore({ tokenizer: 'chars' })
  const long = await store.write('kiwi kiwi kiwi kiwi kiwi kiwi kiwi kiwi')
  const short = await store.write('one kiwi')
  const answer = await store.send('retrieve', { query: 'kiwi', budget_tokens: 20 })
  assert.deepEqual(refsOf(answer.memories), [short])
  const [first] = await store.find({ query: 'kiwi', budget_tokens: 100, top_k: 1 })
  if (first?.ref === long) assert.equal(answer.dropped, 1)
})

test('results come by score and then ref, and the parts of a score add up', async () => {
  const store = await freshStore()
  for (let i = 0; i < 30; i += 1) await store.write(`${i % 3 === 0 ? 'red fox' : 'blue hare'} ${i}`)
  const found = await store.find({ query: 'red fox', budget_tokens: 10_000 })
  assert.equal(found.length, 30)
  for (const [i, memory] of found.entries()) {
    const next = found[i + 1]
    const sum = Object.values(memory.score_parts).reduce((a, b) => a + b, 0)
    assert.equal(memory.score, sum)
    if (!next) continue
    assert.ok(memory.score > next.score || (memory.score === next.score && memory.ref < next.ref))
  }
  assert.deepEqual(await store.find({ query: 'red fox', budget_tokens: 10_000 }), found)
  assert.equal((await store.find({ query: 'red fox', options: { top_k: 4 } })).length, 4)
  assert.equal((await store.find({ query: 'red fox', limit: 3, options: { top_k: 4 } })).length, 3)
  assert.equal(
    (await scene.api('POST', `${store.base}/retrieve`, { query: 'x', top_k: 0 })).status,
    422,
  )
})

test('memories with the same content spend the budget once', async () => {
  const store = await freshStore({ tokenizer: 'chars' })
  const first = await store.write('tea at noon')
  for (let i = 0; i < 60; i += 1) await store.write('tea at noon', { metadata: { copy: i } })
  const other = await store.write('tea at nine')
  const body = { query: 'tea at noon', budget_tokens: 25 }
  const answer = await store.send('retrieve', body)
  assert.deepEqual(refsOf(answer.memories), [first, other])
  assert.deepEqual([answer.duplicates, answer.dropped], [60, 0])
  const two = await store.send('retrieve', { ...body, top_k: 2, budget_tokens: 1_000 })
  assert.deepEqual(refsOf(two.memories), [first, other], 'copies do not count for top_k')
  const one = await store.send('retrieve', { ...body, top_k: 1, explain: true })
  assert.deepEqual(refsOf(one.memories), [first])
  const reasons = new Set(one.explain.dropped.map(({ reason }: { reason: string }) => reason))
  assert.deepEqual(reasons, new Set(['duplicate']))
  // The next copy takes the place of an erased one.
  await scene.issue(first)
  const [next] = await store.find(body)
  assert.equal(next?.ref, first + 1)
})

test('a compact view has the ref, content, score and tokens of each memory only', async () => {
  const store = await freshStore()
  for (const content of ['one red fox', 'two red foxes', 'a hare'])
    await store.write(content, { metadata: { from: 'field notes' } })
  const full = await store.send('retrieve', { query: 'red fox' })
  assert.deepEqual(await store.send('retrieve', { query: 'red fox', view: 'full' }), full)
  for (const body of [{ view: 'compact' }, { view: 'full', options: { view: 'compact' } }]) {
    const compact = await store.send('retrieve', { query: 'red fox', ...body })
    const short = full.memories.map(({ ref, content, score, token_count }: Retrieved) => {
      return { ref, content, score, token_count }
    })
    assert.deepEqual(compact, { ...full, memories: short })
  }
  const unknown = { query: 'red fox', view: 'tiny' }
  assert.equal((await scene.api('POST', `${store.base}/retrieve`, unknown)).status, 422)
})

test('a namespace sees all of its own facts and none of another, nor of the root', async () => {
  const store = await freshStore()
  const own = new Map<string | null, number[]>()
  for (const tenant_id of [null, 'a', 'b', 'a/b']) {
    const refs = []
    for (let i = 0; i < 5; i += 1) refs.push(await store.write(`shared words ${i}`, { tenant_id }))
    own.set(tenant_id, refs)
  }
  for (const [tenant_id, refs] of own) {
    const found = await store.find({ query: 'shared words', options: { tenant_id } })
    assert.deepEqual(
      refsOf(found).sort((x, y) => x - y),
      refs,
    )
  }
  const full = { query: 'shared', options: { namespace: `${scene.tenant_id}/a` } }
  assert.deepEqual(
    refsOf(await store.find(full)).sort((x, y) => x - y),
    own.get('a'),
  )
  assert.deepEqual(await store.find({ query: 'shared', options: { tenant_id: 'none' } }), [])
})

test('as_of selects by valid time to the microsecond', async () => {
  const store = await freshStore()
  const day = (n: number, us = '000000') => `2026-03-0${n}T12:00:00.${us}Z`
  let old_ref = await store.write('rate 0', { valid_from: day(1) })
  for (const n of [1, 2])
    old_ref = (
      await store.send('supersede', {
        old_ref,
        content: `rate ${n}`,
        options: { valid_from: day(1 + 2 * n) },
      })
    ).ref
  const at = async (as_of: string) =>
    (await store.find({ query: 'rate', options: { as_of } })).map(({ content }) => content)
  assert.deepEqual(await at('2026-03-01T11:59:59.999999Z'), [])
  assert.deepEqual(await at(day(1)), ['rate 0'])
  assert.deepEqual(await at(day(2)), ['rate 0'])
  assert.deepEqual(await at('2026-03-03T11:59:59.999999Z'), ['rate 0'])
  assert.deepEqual(await at(day(3)), ['rate 1'])
  assert.deepEqual(await at('2026-03-03T13:00:00.000000+01:00'), ['rate 1'])
  assert.deepEqual(await at(day(5, '000001')), ['rate 2'])
  const naive = { query: 'rate', options: { as_of: '2026-03-03T12:00:00' } }
  assert.equal((await scene.api('POST', `${store.base}/retrieve`, naive)).status, 422)
})

test('a fact of the future is not current before its time', async () => {
  const store = await freshStore()
  const ref = await store.write('tomorrow', { valid_from: '2199-01-01T00:00:00Z' })
  assert.deepEqual(await store.find({ query: 'tomorrow' }), [])
  const later = { query: 'tomorrow', as_of: '2199-01-01T00:00:00.000000Z' }
  assert.deepEqual(refsOf(await store.find(later)), [ref])
})

test('known_at shows what was on record then, with the version chain of that time', async () => {
  const store = await freshStore()
  const first = await store.write('the capital is Bonn', { valid_from: '1949-05-23T00:00:00Z' })
  const { written_at } = (await scene.api('GET', `${store.base}/memories/${first}`)).body
  const moved = { valid_from: '1990-10-03T00:00:00Z' }
  const correction = { old_ref: first, content: 'the capital is Berlin', options: moved }
  const { ref: second } = await store.send('supersede', correction)

  const then = {
    query: 'capital',
    options: { as_of: '2000-01-01T00:00:00Z', known_at: written_at },
  }
  const [known] = await store.find(then)
  assert.equal(known?.ref, first)
  assert.equal(known?.superseded_by, null)
  assert.equal(known?.valid_until, null)
  const [now] = await store.find({ query: 'capital', as_of: '2000-01-01T00:00:00Z' })
  assert.equal(now?.ref, second)
  const before = { query: 'capital', known_at: '2001-01-01T00:00:00Z' }
  assert.deepEqual(await store.find(before), [])
  await store.send('delete', { ref: first })
  assert.deepEqual(await store.find(then), [])
})

test('a metadata filter keeps only equal entries', async () => {
  const store = await freshStore()
  const metadata = { kind: 'note', n: 1, tags: ['a', 'b'] }
  const ref = await store.write('tagged words', { metadata })
  await store.write('tagged words too', { metadata: { kind: 'task', n: 1 } })
  const find = async (filter: object) =>
    refsOf(await store.find({ query: 'tagged', options: { metadata: filter } }))
  assert.deepEqual(await find({ kind: 'note' }), [ref])
  assert.deepEqual(await find({ kind: 'note', n: 2 }), [])
  assert.deepEqual(await find({ tags: ['a', 'b'] }), [ref])
  assert.equal((await find({ n: 1 })).length, 2)
})

test('log_seq covers what was retrieved, and decisions accept it as memory_seq', async () => {
  const store = await freshStore()
  const { ref, log_seq } = await store.send('write', { content: 'covered' })
  const answer = await store.send('retrieve', { query: 'covered' })
  assert.ok(answer.log_seq >= log_seq)
  const decision_id = await scene.decide({
    store_id: store.store_id,
    query: 'covered',
    output: 'yes',
    retrieved_refs: [ref],
    memory_seq: answer.log_seq,
  })
  await store.send('supersede', { old_ref: ref, content: 'uncovered' })
  const replay = (await scene.api('GET', `/v1/decisions/${decision_id}/replay`)).body
  assert.deepEqual(
    replay.memory_state.map(({ content }: { content: string }) => content),
    ['covered'],
  )
})

test('readers see one version of a memory at every moment of its supersessions', async () => {
  const store = await freshStore()
  let ref = await store.write('pulse 0')
  let writing = true
  const reader = async () => {
    while (writing) {
      const found = await store.find({ query: 'pulse' })
      assert.equal(found.length, 1, JSON.stringify(refsOf(found)))
      assert.equal(found[0]?.superseded_by, null)
    }
  }
  const readers = [reader(), reader(), reader()]
  try {
    for (let i = 1; i <= 120; i += 1)
      ref = (await store.send('supersede', { old_ref: ref, content: `pulse ${i}` })).ref
  } finally {
    writing = false
  }
  await Promise.all(readers)
})

test('memories below min_score are left out, wherever it is given', async () => {
  const store = await freshStore()
  for (const content of ['amber lamp', 'amber lamp on the amber desk', 'a desk', 'nothing alike'])
    await store.write(content)
  const query = 'amber lamp'
  const all = await store.find({ query })
  assert.deepEqual(refsOf(await store.find({ query, min_score: null })), refsOf(all))
  for (const { score } of all) {
    const fitting = all.filter((memory) => memory.score >= score)
    const kept = refsOf(fitting)
    assert.deepEqual(refsOf(await store.find({ query, min_score: score })), kept)
    const body = { query, min_score: 1e9, options: { min_score: score } }
    assert.deepEqual(refsOf(await store.find(body)), kept, 'the one in options wins')
  }
  assert.ok(new Set(all.map(({ score }) => score)).size > 1)
  const other = await freshStore()
  const [alike] = [await other.write('amber lamp'), await other.write('nothing of the kind')]
  const [first, second] = await other.find({ query: 'lamp' })
  assert.ok(first && second && first.score > 2 * second.score)
  const half = first.score / 2
  assert.deepEqual(refsOf(await other.find({ query: 'lamp', min_score: half })), [alike])
  const { memories, tokens_used, dropped } = await store.send('retrieve', { query, min_score: 1e9 })
  assert.deepEqual([memories, tokens_used, dropped], [[], 0, 0])
  const wrong = await scene.api('POST', `${store.base}/retrieve`, { query, min_score: '1' })
  assert.equal(wrong.status, 422)
})

test('a query that nothing is about is answered with nothing, unless it is asked for', async () => {
  for (const embedder of ['static', 'none']) {
    const store = await freshStore({ embedder })
    const mine = await store.write('Ana moved to Porto in May and works as a nurse')
    const other = await store.write('The cat sleeps on the balcony')
    for (const query of ['kubernetes ingress', 'qqqq', 'Who won the 1987 cricket world cup?']) {
      assert.deepEqual(await store.find({ query }), [], query)
      const all = await store.find({ query, min_confidence: 0 })
      assert.deepEqual(refsOf(all).sort(), [mine, other])
      for (const { confidence } of all) assert.ok(confidence < 0.008)
    }
    const found = await store.find({ query: 'Where does Ana work?' })
    assert.deepEqual(refsOf(found), [mine, other])
    const { confidence } = found[0] ?? assert.fail()
    assert.ok(confidence > (found[1]?.confidence ?? 1))
    const asked = { query: 'Where does Ana work?', options: { min_confidence: confidence } }
    assert.deepEqual(refsOf(await store.find(asked)), [mine])
    // A query without words lists what is there.
    assert.deepEqual(refsOf(await store.find({ query: '' })), [other, mine])
    const explained = await store.send('retrieve', { query: 'qqqq', explain: true })
    const reasons = explained.explain.dropped.map((one: { reason: string }) => one.reason)
    assert.deepEqual(reasons, ['below_min_confidence', 'below_min_confidence'])
    const wrong = await scene.api('POST', `${store.base}/retrieve`, {
      query: '',
      min_confidence: 2,
    })
    assert.equal(wrong.status, 422)
  }
})

test('names that memories give are found, and go with the memory', async () => {
  const store = await freshStore({ embedder: 'none' })
  const said = (content: string, speaker: string) =>
    store.write(content, { metadata: { speaker, session_id: speaker } })
  const works = await said('I restore old boats', 'Beatrice')
  const other = await said('I repair old radios', 'Carl')
  const alias = await said('call me Bea', 'Beatrice')
  const find = async () => refsOf(await store.find({ query: 'What old things does Bea fix?' }))
  assert.deepEqual(
    (await find()).filter((ref) => ref !== alias),
    [works, other],
  )
  const before = await store.find({ query: 'What does Bea restore?' })
  assert.ok(before.find(({ ref }) => ref === works)?.score_parts['speaker'])
  const erased = await scene.api('POST', `${store.base}/delete`, { ref: alias })
  assert.equal(erased.status, 200, erased.text)
  const after = await store.find({ query: 'What does Bea restore?' })
  assert.equal(after.find(({ ref }) => ref === works)?.score_parts['speaker'], 0)
})

test('memories of the days that a query names come first, and explain says which', async () => {
  const store = await freshStore({ embedder: 'none' })
  const on = (date: string) =>
    store.write(`we went to the lake ${date}`, {
      metadata: { date },
      valid_from: `${date}T00:00:00Z`,
    })
  const refs = [await on('2025-03-01'), await on('2025-07-14'), await on('2025-11-30')]
  const ask = (query: string) =>
    store.send('retrieve', { query, explain: true, options: { as_of: '2026-01-15T00:00:00Z' } })
  for (const [query, first] of [
    ['the lake last summer', 1],
    ['the lake in March 2025', 0],
    ['the lake on 30.11.2025', 2],
    ['the lake two months ago', 2],
  ] as const) {
    const { memories, explain } = await ask(query)
    assert.equal(memories[0]?.ref, refs[first], query)
    assert.ok(memories[0]?.score_parts.date > 0)
    assert.equal(explain.query.days.length, 1)
  }
  const { explain } = await ask('the lake last summer')
  assert.deepEqual(explain.query.days, [
    { expression: 'last summer', from: '2025-06-01', to: '2025-08-31' },
  ])
})

test('a memory is found by who says it and when, though its words say neither', async () => {
  for (const embedder of ['static', 'none']) {
    const store = await freshStore({ embedder })
    const now = new Date(scene.service.kernel.clock.now() / 1_000)
    const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
    const said = (content: string, speaker: string, days: number) =>
      store.write(content, { metadata: { speaker, date: daysAgo(days).slice(0, 10) } })
    for (let i = 0; i < 20; i++) await said(`Number ${i} went to the office by bus`, 'Tom', 40 + i)
    const mine = await said('I moved to Oslo', 'Rivka', 1)
    for (const query of ['Rivka', 'What did Rivka say?', 'What happened yesterday?'])
      assert.equal((await store.find({ query }))[0]?.ref, mine, `${embedder}: ${query}`)
  }
})

test('a small store answers what is only near, and a long request that names a word', async () => {
  const store = await freshStore({})
  const wifi = await store.write('The wifi password is hunter2')
  for (const query of ['How do I connect to the network?', '密码'])
    assert.deepEqual(refsOf(await store.find({ query })), [wifi], query)
  const long = `${'and then we talked about many other things at length '.repeat(60)} the password`
  assert.deepEqual(refsOf(await store.find({ query: long })), [wifi])
})

test('a label before a text is no speaker', async () => {
  const store = await freshStore({ embedder: 'none' })
  const labelled = await store.write('Note: the printer is in room 4')
  const spoken = await store.write('Noel: the printer is in room 5')
  const found = await store.find({ query: 'note noel printer' })
  const speakerOf = (ref: number) => found.find((one) => one.ref === ref)?.score_parts['speaker']
  assert.equal(speakerOf(labelled), 0)
  assert.ok((speakerOf(spoken) ?? 0) > 0)
})

test('an answer put together from kept texts is what JSON writes for the memories', async () => {
  const store = await freshStore()
  const refs: number[] = []
  for (const content of ['a "quoted" plum', 'plum\u2028jam\n\\', 'plum 東京 😀', 'an old plum'])
    refs.push(await store.write(content, { metadata: { kind: '"k"', n: 0.1, list: [1, null] } }))
  const retrieve = async (options: object = {}) => {
    const answer = await scene.api('POST', `${store.base}/retrieve`, { query: 'plum', options })
    assert.equal(answer.text, JSON.stringify(answer.body))
    return answer
  }
  const first = await retrieve()
  assert.equal((await retrieve()).text, first.text, 'read from rows, then from memory')
  assert.equal(first.body.memories.length, refs.length)
  for (const memory of first.body.memories) {
    const { body } = await scene.api('GET', `${store.base}/memories/${memory.ref}`)
    const { score, score_parts, confidence } = memory
    assert.equal(
      JSON.stringify(memory),
      JSON.stringify({ ...body, score, score_parts, confidence }),
    )
  }
  const names = ['ref', 'content', 'score', 'token_count']
  for (const memory of (await retrieve({ view: 'compact' })).body.memories)
    assert.deepEqual(Object.keys(memory), names)
  // A write elsewhere in the store leaves the texts as they are; a supersession changes its memory.
  await store.write('a pear')
  const ref = refs.at(-1)
  const { ref: next } = await store.send('supersede', { old_ref: ref, content: 'a new plum' })
  const as_of = first.body.memories.find((memory: Retrieved) => memory.ref === ref).valid_from
  const old = (await retrieve({ as_of })).body.memories.find((one: Retrieved) => one.ref === ref)
  assert.equal(old.superseded_by, next)
  assert.notEqual(old.valid_until, null)
  await store.send('delete', { ref: next })
  const { body: again } = await retrieve({ as_of })
  const reopened = again.memories.find((one: Retrieved) => one.ref === ref)
  assert.equal(reopened.superseded_by, null)
})
