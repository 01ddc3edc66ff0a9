// The index of a store answers as the rows do, built or updated in any way.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { markErasing, unmarkErasing } from '../index.ts'
import { findStore } from '../stores/stores.sql.ts'
import { searchSteps } from './store-index.ts'
import { storeIndexes } from './store-indexes.ts'

// The types of Node without those of a browser do not name it.
declare const WebAssembly: { Memory: { prototype: { grow(pages: number): number } } }

const shipped = { ...searchSteps }

let scene: Scene

before(async () => {
  scene = await openScene()
})

after(() => scene.stop())

const freshStore = async (): Promise<string> =>
  (await scene.api('POST', '/v1/stores', {})).body.store_id

async function retrieved(store_id: string, query: string): Promise<unknown[]> {
  const body = { query, budget_tokens: 100_000 }
  const ask = () => scene.api('POST', `/v1/stores/${store_id}/retrieve`, body)
  let answer = await ask()
  // A busy machine may take longer to build an index than a request waits for it.
  for (let tries = 0; answer.body.error === 'index_building' && tries < 60; tries += 1) {
    await delay(500)
    answer = await ask()
  }
  assert.equal(answer.status, 200, answer.text)
  return answer.body.memories.map(({ ref, score }: { ref: number; score: number }) => [ref, score])
}

async function fill(store_id: string): Promise<number[]> {
  const items = Array.from({ length: 40 }, (_, i) => ({
    content: `walk ${i} by the ${i % 2 === 0 ? 'river' : 'sea'}`,
    options: { metadata: { session_id: `s${i % 3}` } },
  }))
  const { refs } = (await scene.api('POST', `/v1/stores/${store_id}/write_batch`, { items })).body
  for (const old_ref of refs.slice(0, 5))
    await scene.api('POST', `/v1/stores/${store_id}/supersede`, {
      old_ref,
      content: `run ${old_ref}`,
    })
  for (const ref of refs.slice(5, 9))
    await scene.api('POST', `/v1/stores/${store_id}/delete`, { ref })
  return refs
}

test('an index updated write by write answers bit for bit as one built from rows', async () => {
  const store_id = await freshStore()
  await retrieved(store_id, 'warm')
  await fill(store_id)
  const queries = ['walk by the river', 'run', 'sea 12', '']
  const fed = []
  for (const query of queries) fed.push(await retrieved(store_id, query))
  storeIndexes(scene.service.kernel).drop(scene.tenant_id, store_id)
  for (const [i, query] of queries.entries())
    assert.deepEqual(await retrieved(store_id, query), fed[i], query)
})

test('a write is answered and found when the memory of its index cannot grow', async (t) => {
  const store_id = await freshStore()
  await retrieved(store_id, 'warm')
  const grow = t.mock.method(WebAssembly.Memory.prototype, 'grow', () => {
    throw new RangeError('memory')
  })
  // Vectors of all stores of a process share few memories: how many writes fit differs.
  let written = 0
  let last = 0
  while (grow.mock.callCount() === 0) {
    const items = Array.from({ length: 100 }, (_, i) => ({ content: `walk ${written + i}` }))
    const { status, text, body } = await scene.api('POST', `/v1/stores/${store_id}/write_batch`, {
      items,
    })
    assert.equal(status, 200, text)
    written += items.length
    last = body.refs.at(-1)
  }
  grow.mock.restore()
  const found = await retrieved(store_id, `walk ${written - 1}`)
  assert.ok(found.some((one) => Array.isArray(one) && one[0] === last))
})

test('an index uses the languages of its store, updated write by write or built', async () => {
  const { kernel } = scene.service
  const createIn = async (languages: string[]) => {
    const { store_id } = (await scene.api('POST', '/v1/stores', { languages, embedder: 'none' }))
      .body
    return store_id
  }
  const find = async (store_id: string) => {
    const body = { query: 'Welche Kätzchen schliefen in Häusern?', min_score: 0.01, explain: true }
    const { memories, explain } = (await scene.api('POST', `/v1/stores/${store_id}/retrieve`, body))
      .body
    const terms = explain.query.terms.map(({ term }: { term: string }) => term)
    return { found: memories.length, terms }
  }
  const german = ['katzch', 'schlief', 'haus']
  const [de, en] = [await createIn(['de', 'en']), await createIn(['en'])]
  assert.deepEqual(await find(de), { found: 0, terms: german })
  for (const store_id of [de, en])
    await scene.api('POST', `/v1/stores/${store_id}/write`, { content: 'Das ist ein Haus' })
  assert.deepEqual(await find(de), { found: 1, terms: german })
  assert.equal((await find(en)).found, 0)
  storeIndexes(kernel).drop(scene.tenant_id, de)
  assert.deepEqual(await find(de), { found: 1, terms: german })
})

test('an index built during writes contains exactly the facts of its log position', async () => {
  const { kernel } = scene.service
  const store_id = await freshStore()
  const items = Array.from({ length: 150 }, (_, i) => ({ content: `note ${i} on tea` }))
  const { refs } = (await scene.api('POST', `/v1/stores/${store_id}/write_batch`, { items })).body
  const [first, , third] = refs
  let looks = 0
  // Once the first page has been read, and again later, the store changes.
  const read: Kernel['db']['read'] = async (tenant_id, look) => {
    const found = await kernel.db.read(tenant_id, look)
    looks += 1
    if (looks === 1) {
      const successor = { old_ref: first, content: 'a note on coffee' }
      await scene.api('POST', `/v1/stores/${store_id}/supersede`, successor)
    }
    if (looks === 2) await scene.api('POST', `/v1/stores/${store_id}/delete`, { ref: third })
    return found
  }
  const db = Object.assign(Object.create(kernel.db), { read })
  const slow: Kernel = { ...kernel, db, settings: { ...kernel.settings, index_wait_ms: 60_000 } }
  const head = async () =>
    (await kernel.db.read(scene.tenant_id, (r) => findStore(r, store_id)))?.head_seq ?? -1
  const built = await storeIndexes(slow).loadCurrent(scene.tenant_id, store_id, await head())
  assert.ok(looks > 3)
  assert.equal(built.head_seq, await head())
  const rebuilt = await storeIndexes(kernel).loadCurrent(scene.tenant_id, store_id, await head())
  const request = {
    ...{
      query: 'note tea coffee',
      vector: null,
      similar: null,
      namespace: null,
      filter: null,
      visible: null,
    },
    ...{
      at_us: kernel.clock.now(),
      now_us: kernel.clock.now(),
      limit: 1_000,
      min_score: null,
      min_confidence: 0,
    },
  }
  assert.equal(built.size, 150)
  assert.deepEqual(built.search(request), rebuilt.search(request))
})

test('an index follows erasures without reading rows, and searches go on', async (t) => {
  const { tenant_id } = scene
  const { kernel } = scene.service
  Object.assign(searchSteps, { slots_min: 0, ms: 0 })
  t.after(() => Object.assign(searchSteps, shipped))
  const store_id = await freshStore()
  const refs = await fill(store_id)
  await retrieved(store_id, 'walk')
  const position = async () =>
    (await kernel.db.read(tenant_id, (db) => findStore(db, store_id)))?.head_seq ?? -1
  const indexes = storeIndexes(kernel)
  // The first nine are in chains, which only a look at the rows can follow.
  const lone = refs.slice(10, 30)
  let isErasing = true
  const erasing = (async () => {
    for (const ref of lone) {
      assert.equal((await scene.issue(ref)).status, 200)
      assert.ok(indexes.findAt(tenant_id, store_id, await position()), 'it is at the log position')
    }
    isErasing = false
  })()
  const ask = () => scene.api('POST', `/v1/stores/${store_id}/retrieve`, { query: 'river walk' })
  for (let asked = 0; isErasing && asked < 10_000; asked += 1) {
    const answers = await Promise.all([ask(), ask(), ask(), ask()])
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  }
  await erasing
  assert.equal((await scene.issue(refs[1] ?? 0)).status, 200)
  assert.equal(indexes.findAt(tenant_id, store_id, await position()), undefined)
  const followed = await retrieved(store_id, 'walk by the sea')
  indexes.drop(tenant_id, store_id)
  assert.deepEqual(await retrieved(store_id, 'walk by the sea'), followed)
})

test('a memory whose erasure is undone is found again by every index', async () => {
  const { kernel } = scene.service
  const store_id = await freshStore()
  const [, , , , , , , , , , hidden = 0] = await fill(store_id)
  const shown = await retrieved(store_id, 'walk')
  await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [hidden]))
  assert.equal((await retrieved(store_id, 'walk')).length, shown.length - 1)
  storeIndexes(kernel).drop(scene.tenant_id, store_id)
  assert.equal((await retrieved(store_id, 'walk')).length, shown.length - 1)
  const twin = { content: 'walk 10 by the river' }
  const { body } = await scene.api('POST', `/v1/stores/${store_id}/write`, twin)
  assert.equal(body.duplicate_of, null)
  await kernel.db.transact(scene.tenant_id, (tx) => unmarkErasing(tx, [hidden]))
  const refs = (await retrieved(store_id, 'walk')).map((entry) => (entry as [number])[0])
  assert.ok(refs.includes(hidden))
})

test('a memory being erased takes no room in a budget from those that can be shown', async () => {
  const { kernel } = scene.service
  const store_id = await freshStore()
  const write = async (content: string): Promise<number> =>
    (await scene.api('POST', `/v1/stores/${store_id}/write`, { content })).body.ref
  const [first, second] = [await write('plum plum plum'), await write('plum')]
  await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [first]))
  const body = { query: 'plum', budget_tokens: 3 }
  const answer = await scene.api('POST', `/v1/stores/${store_id}/retrieve`, body)
  assert.deepEqual(
    answer.body.memories.map(({ ref }: { ref: number }) => ref),
    [second],
  )
  await kernel.db.transact(scene.tenant_id, (tx) => unmarkErasing(tx, [first]))
})

test('beyond the memory limit the index unused for longest is dropped and rebuilt', async () => {
  const tight = await openScene({ config: { index_bytes_max: 60_000 } })
  try {
    const stores: string[] = []
    for (let s = 0; s < 4; s += 1) {
      const { store_id } = (await tight.api('POST', '/v1/stores', {})).body
      stores.push(store_id)
      const items = Array.from({ length: 60 }, (_, i) => ({ content: `store ${s} item ${i}` }))
      await tight.api('POST', `/v1/stores/${store_id}/write_batch`, { items })
      await tight.api('POST', `/v1/stores/${store_id}/retrieve`, { query: 'item' })
    }
    const states = []
    for (const store_id of stores)
      states.push((await tight.api('GET', `/v1/stores/${store_id}/stats`)).body.index.state)
    assert.equal(states[0], 'absent')
    assert.equal(states[3], 'ready')
    const again = await tight.api('POST', `/v1/stores/${stores[0]}/retrieve`, { query: 'item 7' })
    assert.equal(again.body.memories[0]?.content, 'store 0 item 7')
  } finally {
    await tight.stop()
  }
})

test('a store that takes too long to index answers 503 with a time to retry', async () => {
  const store_id = await freshStore()
  await fill(store_id)
  const { kernel } = scene.service
  const slow = { ...kernel, settings: { ...kernel.settings, index_wait_ms: 0 } }
  const head = Number.MAX_SAFE_INTEGER
  await assert.rejects(storeIndexes(slow).loadCurrent(scene.tenant_id, store_id, head), {
    code: 'index_building',
    extras: { retry_after_s: 1 },
  })
  assert.ok((await retrieved(store_id, 'walk')).length > 0)
})

test('few of many searches of small stores begin in an iteration of the event loop', async () => {
  const { tenant_id, service } = scene
  const store_id = await freshStore()
  await retrieved(store_id, 'warm')
  const iterations: number[] = []
  let iteration = 0
  const count = () => {
    iteration += 1
    if (iterations.length < 12) setImmediate(count)
  }
  setImmediate(count)
  const search = async () => iterations.push(iteration)
  const begun = Array.from({ length: 12 }, () =>
    storeIndexes(service.kernel).inTurn(tenant_id, store_id, search),
  )
  await Promise.all(begun)
  const inEach = [...Map.groupBy(iterations, (at) => at).values()].map(({ length }) => length)
  assert.ok(inEach.length >= 3 && Math.max(...inEach) <= 4, `${inEach}`)
})
