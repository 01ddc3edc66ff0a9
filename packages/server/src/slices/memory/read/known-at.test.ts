// 'memory.retrieve' with `known_at`: a large store is read without blocking others.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import {
  type EmbeddingServer,
  SERVICE_DIMENSIONS,
  startEmbeddingServer,
} from '../../../testing/embedding-server.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { completeVersions, type RecordedVersions, withVersionsKnownAt } from './memory-reads.ts'

const COUNT = 2_500
const PAGES = 3
/** A time that has not come: all there is now is on record then. */
const FUTURE_US = 7_258_118_400_000_000

let service: EmbeddingServer
let scene: Scene
let store_id: string

before(async () => {
  service = await startEmbeddingServer()
  const own = { url: service.url, model: 'm', key: null, dimensions: SERVICE_DIMENSIONS }
  const http = { ...own, timeout_ms: 2_000 }
  scene = await openScene({ config: { embedder: { default_name: 'static', http, onnx: null } } })
  store_id = (await scene.api('POST', '/v1/stores', { tokenizer: 'chars' })).body.store_id
  const lines = Array.from({ length: COUNT }, (_, i) => JSON.stringify({ content: `line ${i}` }))
  const answer = await scene.service.request('POST', `/v1/stores/${store_id}/import`, {
    raw: lines.join('\n'),
    key: scene.api_key,
    headers: { 'content-type': 'application/x-ndjson' },
  })
  assert.equal(answer.status, 200, answer.text)
})

after(async () => {
  await scene.stop()
  await service.stop()
})

/** The service's kernel, told of each look at the data. */
function watched(onRead: () => Promise<void> | void, index_wait_ms = 2_000): Kernel {
  const { kernel } = scene.service
  const read: Kernel['db']['read'] = async (tenant_id, look) => {
    await onRead()
    return kernel.db.read(tenant_id, look)
  }
  const db = new Proxy(kernel.db, {
    get: (target, key) => (key === 'read' ? read : Reflect.get(target, key, target)),
  })
  return { ...kernel, db, settings: { ...kernel.settings, index_wait_ms } }
}

const whileKnown = <T>(kernel: Kernel, act: (known: RecordedVersions) => Promise<T>) =>
  withVersionsKnownAt(kernel, { tenant_id: scene.tenant_id, store_id, us: FUTURE_US }, act)

const knownBy = (kernel: Kernel) => whileKnown(kernel, async (known) => known)

test('each page of versions is read on its own snapshot', async () => {
  let looks = 0
  const kernel = watched(() => {
    looks += 1
  })
  const { rows } = await knownBy(kernel)
  assert.deepEqual([rows.size, looks], [COUNT, PAGES + 1])
})

test('two reads run at a time; one that waits too long is told to retry', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let looks = 0
  const kernel = watched(() => {
    looks += 1
    return released
  }, 50)
  const reads = Array.from({ length: 5 }, () => knownBy(kernel))
  const late = await Promise.allSettled(reads.slice(2))
  for (const one of late) {
    assert.ok(one.status === 'rejected' && one.reason instanceof Refusal)
    assert.deepEqual([one.reason.code, one.reason.extras.retry_after_s], ['unavailable', 1])
  }
  assert.equal(looks, 2)
  release()
  for (const { rows } of await Promise.all(reads.slice(0, 2))) assert.equal(rows.size, COUNT)
  // The places are free again.
  await Promise.all([knownBy(kernel), knownBy(kernel)])
})

/** Two reads that hold their places until they are let go of. */
async function holdPlaces(kernel: Kernel) {
  let letGo = () => {}
  const over = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const held: Promise<void>[] = []
  await Promise.all(
    [0, 1].map(
      () =>
        new Promise<void>((reached, reject) => {
          const one = whileKnown(kernel, () => {
            reached()
            return over
          })
          one.catch(reject)
          held.push(one)
        }),
    ),
  )
  return async () => {
    letGo()
    await Promise.all(held)
  }
}

test('a permit is released once the versions are no longer in use', async () => {
  const kernel = watched(() => {}, 50)
  const letGo = await holdPlaces(kernel)
  await assert.rejects(knownBy(kernel), { code: 'unavailable' })
  await letGo()
  assert.equal((await knownBy(kernel)).rows.size, COUNT)
})

test('a query is embedded and its index built before it waits for a permit', async () => {
  const { kernel } = scene.service
  const { store_id: other } = (await scene.api('POST', '/v1/stores', { embedder: 'http' })).body
  await scene.api('POST', `/v1/stores/${other}/write`, { content: 'boats at the quay' })
  storeIndexes(kernel).drop(scene.tenant_id, other)
  const letGo = await holdPlaces(kernel)
  const query = { query: 'boats', known_at: '2199-01-01T00:00:00Z' }
  const answer = scene.api('POST', `/v1/stores/${other}/retrieve`, query)
  const index = () => storeIndexes(kernel).describe(scene.tenant_id, other).state
  for (let look = 0; look < 150 && index() !== 'ready'; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 10))
  const before = [index(), service.asked.at(-1)?.input]
  await letGo()
  assert.equal((await answer).status, 200)
  assert.deepEqual(before, ['ready', ['boats']])
})

test('versions written and superseded during the read are on record in the snapshot', async () => {
  const { kernel } = scene.service
  const known = await knownBy(kernel)
  const path = `/v1/stores/${store_id}`
  const { ref } = (await scene.api('POST', `${path}/write`, { content: 'first' })).body
  const correction = { old_ref: ref, content: 'second' }
  const next = (await scene.api('POST', `${path}/supersede`, correction)).body.ref
  const rows = await kernel.db.read(scene.tenant_id, (db) => completeVersions(db, store_id, known))
  assert.equal(rows.size, COUNT + 2)
  assert.equal(rows.get(ref)?.superseded_by, next)
  assert.deepEqual(rows, (await knownBy(kernel)).rows)
})
