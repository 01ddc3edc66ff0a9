// 'memory.ingestion_stats' and 'memory.stats': near duplicates, and memories never retrieved.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { OPERATOR_KEY } from '../../../testing/harness.ts'
import { createDatabase } from '../../../testing/postgres.ts'
import { rawSql } from '../../../testing/raw-sql.ts'
import { startShared } from '../../../testing/services-on-one-database.ts'
import { StoreIndex } from '../index/store-index.ts'
import { StoreIndexes, storeIndexes } from '../index/store-indexes.ts'
import { flushRetrievedFacts } from '../index.ts'
import { loadStoreCounts as countStore } from './store-reads.ts'

interface Counts {
  readonly near_duplicates: number | null
  readonly never_retrieved: number | null
}

const ATTEMPTS = 60

/** Asks until the count is there, as a caller would. */
async function countsOf(scene: Scene, path = 'ingestion/stats'): Promise<Counts> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { status, body } = await scene.api('GET', `/v1/stores/${scene.store_id}/${path}`)
    assert.equal(status, 200)
    const { near_duplicates, never_retrieved } = body
    if (near_duplicates !== null && never_retrieved !== null)
      return { near_duplicates, never_retrieved }
  }
  assert.fail('it is never counted')
}

async function openedScene(t: TestContext): Promise<Scene> {
  const scene = await openScene()
  t.after(() => scene.stop())
  return scene
}

const retrieve = async (scene: Scene, query: string, top_k: number): Promise<number[]> => {
  const path = `/v1/stores/${scene.store_id}/retrieve`
  const { body } = await scene.api('POST', path, { query, top_k })
  return body.memories.map(({ ref }: { ref: number }) => ref)
}

const recorded = async ({ service, store_id }: Scene): Promise<number[]> => {
  const sql = 'select ref from retrieved_facts where store_id = ? order by ref'
  return (await rawSql(service, sql, [store_id])).map(({ ref }) => Number(ref))
}

test('counts include current memories, each once, and follow every change', async (t) => {
  const scene = await openedScene(t)
  assert.deepEqual(await countsOf(scene), { near_duplicates: 0, never_retrieved: 0 })
  const tea = await scene.write('green tea')
  const again = await scene.write('tea, green!')
  await scene.write('tea, green!', { tenant_id: 'apart' })
  const cake = await scene.write('carrot cake')
  await scene.write('tea in a year', { valid_from: '2199-01-01T00:00:00Z' })
  assert.deepEqual(await countsOf(scene), { near_duplicates: 2, never_retrieved: 4 })
  assert.deepEqual(await retrieve(scene, 'carrot cake', 1), [cake])
  assert.deepEqual(await retrieve(scene, 'carrot cake', 1), [cake])
  assert.deepEqual(await countsOf(scene), { near_duplicates: 2, never_retrieved: 3 })
  const pie = await scene.supersede(cake, 'carrot pie')
  assert.deepEqual(await countsOf(scene), { near_duplicates: 2, never_retrieved: 4 })
  assert.equal((await retrieve(scene, 'carrot', 3)).length, 3)
  assert.deepEqual(await countsOf(scene, 'stats'), { near_duplicates: 2, never_retrieved: 1 })
  await scene.issue(again)
  assert.deepEqual(await countsOf(scene), { near_duplicates: 0, never_retrieved: 1 })
  await flushRetrievedFacts(scene.service.kernel)
  assert.deepEqual(await recorded(scene), [tea, cake, pie])
})

test('which memories were retrieved is known after a restart', async () => {
  let scene = await openScene()
  try {
    const refs: number[] = []
    for (const content of ['one ship', 'two ships', 'a harbour'])
      refs.push(await scene.write(content))
    const seen = await retrieve(scene, 'harbour', 1)
    assert.deepEqual(seen, refs.slice(2))
    await scene.stop({ keep: true })
    scene = await openScene({ data_dir: scene.service.data_dir }, scene)
    assert.deepEqual(await recorded(scene), seen)
    assert.deepEqual(await countsOf(scene), { near_duplicates: 0, never_retrieved: 2 })
    await retrieve(scene, 'ships', 3)
    await flushRetrievedFacts(scene.service.kernel)
    assert.deepEqual(await recorded(scene), refs)
    assert.deepEqual(await countsOf(scene), { near_duplicates: 0, never_retrieved: 0 })
  } finally {
    await scene.stop()
  }
})

test('erasing a memory removes its retrieval record, even a pending one', async (t) => {
  const scene = await openedScene(t)
  const { kernel } = scene.service
  const refs: number[] = []
  for (let i = 0; i < 40; i += 1) refs.push(await scene.write(`river ${i}`))
  const [first = 0, second = 0, ...rest] = refs
  assert.equal((await retrieve(scene, 'river', 100)).length, 40)
  await scene.issue(first)
  await flushRetrievedFacts(kernel)
  assert.deepEqual(await recorded(scene), refs.slice(1))
  await scene.issue(second)
  assert.deepEqual(await recorded(scene), rest)
  await flushRetrievedFacts(kernel)
  assert.deepEqual(await recorded(scene), rest)
  const { job_id } = (await scene.api('DELETE', `/v1/stores/${scene.store_id}`)).body
  for (let waits = 0; waits < 200; waits += 1) {
    if ((await scene.api('GET', `/v1/jobs/${job_id}`)).body.state === 'done') break
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  await flushRetrievedFacts(kernel)
  assert.deepEqual(await recorded(scene), [])
})

test('reading the stats of many stores builds no index', async (t) => {
  const scene = await openedScene(t)
  await scene.write('quiet')
  storeIndexes(scene.service.kernel).drop(scene.tenant_id, scene.store_id)
  const { body } = await scene.api('GET', `/v1/stores/${scene.store_id}/stats`)
  assert.equal(body.index.state, 'absent')
  assert.deepEqual([body.near_duplicates, body.never_retrieved], [null, null])
  await countsOf(scene)
  assert.equal((await countsOf(scene, 'stats')).never_retrieved, 1)
})

test('a count yields to other requests every few milliseconds', async (t) => {
  const scene = await openedScene(t)
  const { tenant_id, store_id, service } = scene
  const items = Array.from({ length: 600 }, (_, i) => ({ content: `${i} green bottles` }))
  const path = `/v1/stores/${store_id}/write_batch`
  const { log_seq } = (await scene.api('POST', path, { items })).body
  await retrieve(scene, 'bottles', 1)
  // A clock on which every step takes a millisecond.
  let now = performance.now()
  t.mock.method(performance, 'now', () => ++now)
  let turns = 0
  const turn = () => {
    turns += 1
    ticking = setImmediate(turn)
  }
  let ticking = setImmediate(turn)
  const store = { tenant_id, store_id, head_seq: log_seq }
  const counts = await countStore(service.kernel, store, { build: true })
  clearImmediate(ticking)
  assert.deepEqual(counts, { near_duplicates: 0, never_retrieved: 599 })
  assert.ok(turns >= 100, `${turns} turns`)
})

test('a request that cannot wait for a count gets the last one', async (t) => {
  const scene = await openedScene(t)
  const { tenant_id, store_id, service } = scene
  await scene.write('amber lamp')
  const seen = async (wait_ms?: number) => {
    const { body } = await scene.api('POST', `/v1/stores/${store_id}/retrieve`, {
      query: '',
      top_k: 1,
    })
    const store = { tenant_id, store_id, head_seq: body.log_seq }
    const options = wait_ms === undefined ? {} : { wait_ms }
    return Object.values(await countStore(service.kernel, store, { build: true, ...options }))
  }
  assert.deepEqual(await seen(0), [null, null])
  assert.deepEqual(await seen(), [0, 0])
  await scene.write('amber lamp')
  assert.deepEqual(await seen(0), [0, 0])
  const [near_duplicates] = await seen()
  assert.equal(near_duplicates, 2)
})

test('a count that began before a write is not the answer to a later request', async (t) => {
  const scene = await openedScene(t)
  const { tenant_id, store_id, service } = scene
  const headOf = async (): Promise<number> =>
    (await scene.api('POST', `/v1/stores/${store_id}/retrieve`, { query: '' })).body.log_seq
  const count = async (head_seq: number) => {
    const store = { tenant_id, store_id, head_seq }
    return (await countStore(service.kernel, store, { build: true, wait_ms: 60_000 }))
      .near_duplicates
  }
  await scene.write('amber lamp')
  const before = await headOf()
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const { db } = service.kernel
  const read = db.read.bind(db)
  const holding = t.mock.method(db, 'read', async (...args: Parameters<typeof read>) => {
    holding.mock.restore()
    held.resolve()
    await release.promise
    return read(...args)
  })
  const early = count(before)
  await held.promise
  await scene.write('amber lamp')
  const late = count(await headOf())
  release.resolve()
  assert.deepEqual([await early, await late], [0, 2])
})

test('a count is repeated once a memory becomes valid or ends', async (t) => {
  const scene = await openedScene(t)
  const { tenant_id, store_id, service } = scene
  await scene.write('closing time')
  const begins = { valid_from: '2199-01-01T00:00:00Z' }
  await scene.write('closing time', begins)
  const { log_seq } = (await scene.api('POST', `/v1/stores/${store_id}/retrieve`, { query: '' }))
    .body
  await flushRetrievedFacts(service.kernel)
  const start_us = Date.UTC(2199, 0, 1) * 1_000
  let at_us = start_us - 1
  const kernel = { ...service.kernel, clock: { now: () => at_us } }
  const store = { tenant_id, store_id, head_seq: log_seq }
  const seen = async () => Object.values(await countStore(kernel, store, { build: true }))
  assert.deepEqual(await seen(), [0, 0])
  at_us = start_us
  assert.deepEqual(await seen(), [2, 1])
  at_us = start_us - 1
  assert.deepEqual(await seen(), [0, 0])
})

test('a retrieval at one process counts at the other once it is recorded', async (t) => {
  const database = await createDatabase()
  const one = await startShared(database.url, {})
  const two = await startShared(database.url, {})
  t.after(async () => {
    await Promise.all([one.stop(), two.stop()])
    await database.drop()
  })
  const send = async (service: { url: string }, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${service.url}${path}`, { method, headers, ...sent })
    assert.ok(answer.ok, path)
    return JSON.parse(await answer.text())
  }
  let key = OPERATOR_KEY
  key = (await send(one, 'POST', '/v1/cloud/tenants', { name: 'shared' })).api_key
  const base = '/v1/stores/default'
  for (const content of ['elm', 'oak', 'ash']) await send(one, 'POST', `${base}/write`, { content })
  const never = async (service: { url: string }): Promise<number | null> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const { never_retrieved } = await send(service, 'GET', `${base}/ingestion/stats`)
      if (never_retrieved !== null) return never_retrieved
    }
    return null
  }
  assert.deepEqual([await never(one), await never(two)], [3, 3])
  await send(one, 'POST', `${base}/retrieve`, { query: 'oak', top_k: 1 })
  await send(two, 'POST', `${base}/retrieve`, { query: 'oak', top_k: 1 })
  await send(one, 'POST', `${base}/retrieve`, { query: 'elm', top_k: 1 })
  assert.equal(await never(one), 1)
  await Promise.all([flushRetrievedFacts(one.kernel), flushRetrievedFacts(two.kernel)])
  assert.deepEqual([await never(one), await never(two)], [1, 1])
})

test('two stores are counted at once, others later, each once for all requests', async (t) => {
  const scene = await openedScene(t)
  const { tenant_id, service } = scene
  const stores: { tenant_id: string; store_id: string; head_seq: number }[] = []
  for (let i = 0; i < 6; i += 1) {
    const { store_id } = (await scene.api('POST', '/v1/stores', {})).body
    const { log_seq } = (
      await scene.api('POST', `/v1/stores/${store_id}/write`, { content: `lamp ${i}` })
    ).body
    stores.push({ tenant_id, store_id, head_seq: log_seq })
  }
  let at_once = 0
  let most = 0
  const original = StoreIndex.prototype.countNearDuplicates
  const counting = t.mock.method(
    StoreIndex.prototype,
    'countNearDuplicates',
    async function (this: StoreIndex, ...args: Parameters<typeof original>) {
      at_once += 1
      most = Math.max(most, at_once)
      await new Promise((resolve) => setImmediate(resolve))
      at_once -= 1
      return original.apply(this, args)
    },
  )
  const count = (store: (typeof stores)[number]) =>
    countStore(service.kernel, store, { build: true, wait_ms: 60_000 })
  const all = [...stores, ...stores].map(count)
  for (const counts of await Promise.all(all))
    assert.deepEqual(counts, { near_duplicates: 0, never_retrieved: 1 })
  assert.equal(most, 2)
  assert.equal(counting.mock.callCount(), stores.length)
})

test('requests during an outdated count wait for one common count after it', async (t) => {
  const scene = await openedScene(t)
  const { tenant_id, store_id, service } = scene
  const write = async () =>
    (await scene.api('POST', `/v1/stores/${store_id}/write`, { content: 'amber lamp' })).body
      .log_seq
  const count = (head_seq: number) =>
    countStore(service.kernel, { tenant_id, store_id, head_seq }, { build: true, wait_ms: 60_000 })
  const original = StoreIndex.prototype.countNearDuplicates
  const begun = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  t.mock.method(
    StoreIndex.prototype,
    'countNearDuplicates',
    async function (this: StoreIndex, ...args: Parameters<typeof original>) {
      begun.resolve()
      const made = await original.apply(this, args)
      await release.promise
      return made
    },
  )
  const heads = [await write()]
  const seen = heads.map(count)
  await begun.promise
  for (let i = 0; i < 4; i += 1) {
    heads.push(await write())
    seen.push(count(heads.at(-1)))
  }
  const asked = t.mock.method(StoreIndexes.prototype, 'loadCurrent')
  release.resolve()
  const made = (await Promise.all(seen)).map(({ near_duplicates }) => near_duplicates)
  assert.deepEqual(made, [0, 5, 5, 5, 5])
  const wanted = asked.mock.calls.map((call) => call.arguments[2])
  assert.deepEqual(wanted, heads.slice(-1))
})
