// 'memory.create_store', 'memory.write', 'memory.retrieve', 'memory.stats': a store's embedder, and
// what happens when it fails or is not configured.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type EmbeddingServer,
  reply,
  SERVICE_DIMENSIONS,
  startEmbeddingServer,
} from '../../../testing/embedding-server.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import type { TestOptions } from '../../../testing/harness.ts'

/** A service that offers `http` beside `static`. */
function remoteConfig(
  { url }: { url: string },
  more: { model?: string; timeout_ms?: number; default_name?: 'http' | 'static' } = {},
): TestOptions {
  const { model = 'model-x', timeout_ms = 2_000, default_name = 'static' } = more
  const http = { url, model, key: null, dimensions: SERVICE_DIMENSIONS, timeout_ms }
  return { config: { embedder: { default_name, http, onnx: null } } }
}

async function withRemote(
  act: (scene: Scene, service: EmbeddingServer) => Promise<void>,
  options: (service: EmbeddingServer) => TestOptions = (service) => remoteConfig(service),
): Promise<void> {
  const service = await startEmbeddingServer()
  try {
    const scene = await openScene(options(service))
    try {
      await act(scene, service)
    } finally {
      await scene.stop()
    }
  } finally {
    await service.stop()
  }
}

async function newStore(scene: Scene, embedder?: string): Promise<string> {
  const { status, body, text } = await scene.api('POST', '/v1/stores', embedder ? { embedder } : {})
  assert.equal(status, 200, text)
  return body.store_id
}

async function write(scene: Scene, store_id: string, content: string): Promise<number> {
  const { status, body, text } = await scene.api('POST', `/v1/stores/${store_id}/write`, {
    content,
  })
  assert.equal(status, 200, text)
  return body.ref
}

async function retrieve(scene: Scene, store_id: string, query: string) {
  const answer = await scene.api('POST', `/v1/stores/${store_id}/retrieve`, { query })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

const vectorsOf = async (scene: Scene, store_id: string) =>
  (await scene.api('GET', `/v1/stores/${store_id}/stats`)).body.vectors

const STATIC = { space: 'custos-static/1/256', missing: 0 }
const REMOTE = { space: 'http:model-x/1/256', missing: 0 }

test('each store uses its own embedder and names it', async () => {
  await withRemote(async (scene, service) => {
    const [remote, local, none] = [
      await newStore(scene, 'http'),
      await newStore(scene),
      await newStore(scene, 'none'),
    ]
    for (const store_id of [remote, local, none]) await write(scene, store_id, 'Tea in Porto')
    const shown = await scene.api('GET', '/v1/stores')
    const embedders = Object.fromEntries(
      shown.body.stores.map((s: { store_id: string; embedder: string }) => [
        s.store_id,
        s.embedder,
      ]),
    )
    assert.equal(embedders[remote], 'http')
    assert.equal(embedders[local], 'static')
    assert.equal(embedders[none], 'none')
    assert.deepEqual(await vectorsOf(scene, remote), { ...REMOTE, embedded: 1 })
    assert.deepEqual(await vectorsOf(scene, local), { ...STATIC, embedded: 1 })
    assert.deepEqual(await vectorsOf(scene, none), { space: null, embedded: 0, missing: 0 })
    const rankings = []
    for (const store_id of [remote, local, none]) {
      const { memories, ranking } = await retrieve(scene, store_id, 'where is tea?')
      assert.equal(memories.length, 1)
      rankings.push(ranking)
    }
    assert.deepEqual(rankings, ['fused', 'fused', 'lexical'])
    // What is of the other stores was never sent.
    assert.deepEqual(
      service.asked.flatMap(({ input }) => input),
      ['Tea in Porto', 'where is tea?'],
    )
  })
})

test('an embedder that is not configured is refused with the names of those that are', async () => {
  await withRemote(async (scene) => {
    const refused = await scene.api('POST', '/v1/stores', { embedder: 'onnx' })
    assert.equal(refused.status, 422)
    assert.equal(refused.body.error, 'rejected')
    assert.match(refused.body.detail, /onnx is not configured here; there are: static, http, none/)
  })
})

test('new stores, and the store default, use the default embedder', async () => {
  await withRemote(
    async (scene) => {
      const { body: before } = await scene.api('GET', '/v1/stores/default')
      assert.equal(before.embedder, 'http')
      await write(scene, 'default', 'The first of all')
      assert.deepEqual(await vectorsOf(scene, 'default'), { ...REMOTE, embedded: 1 })
    },
    (service) => remoteConfig(service, { default_name: 'http' }),
  )
})

test('a failing embedder fails no write and no read; its vectors are made later', async () => {
  await withRemote(async (scene, service) => {
    const store_id = await newStore(scene, 'http')
    service.behave((_, response) => reply(response, 500, {}))
    const ref = await write(scene, store_id, 'The ferry leaves at nine')
    const { old_ref } = (
      await scene.api('POST', `/v1/stores/${store_id}/supersede`, {
        old_ref: ref,
        content: 'The ferry leaves at ten',
      })
    ).body
    assert.equal(old_ref, ref)
    const items = [{ content: 'The bus leaves at noon' }, { content: 'The bus is blue' }]
    await scene.api('POST', `/v1/stores/${store_id}/write_batch`, { items })
    const { memories, ranking } = await retrieve(scene, store_id, 'when does the ferry leave')
    assert.equal(memories[0].content, 'The ferry leaves at ten')
    assert.equal(ranking, 'lexical')
    assert.deepEqual(await vectorsOf(scene, store_id), { ...REMOTE, embedded: 0, missing: 4 })

    service.behave(null)
    await scene.service.kernel.jobs.idle()
    assert.deepEqual(await vectorsOf(scene, store_id), { ...REMOTE, embedded: 4 })
    assert.equal((await retrieve(scene, store_id, 'when does the ferry leave')).ranking, 'fused')
  })
})

test('every write operation requests the vectors that it did not get', async () => {
  await withRemote(async (scene, service) => {
    const ways: [string, (ref: number) => object][] = [
      ['write', () => ({ content: 'Rain in May' })],
      ['write_batch', () => ({ items: [{ content: 'Rain in May' }, { content: 'Snow' }] })],
      ['supersede', (old_ref) => ({ old_ref, content: 'Rain in May' })],
    ]
    for (const [way, body] of ways) {
      const store_id = await newStore(scene, 'http')
      const ref = await write(scene, store_id, 'Rain in April')
      service.behave((_, response) => reply(response, 500, {}))
      const { status } = await scene.api('POST', `/v1/stores/${store_id}/${way}`, body(ref))
      assert.equal(status, 200)
      assert.ok((await vectorsOf(scene, store_id)).missing > 0, way)
      service.behave(null)
      await scene.service.kernel.jobs.idle()
      assert.equal((await vectorsOf(scene, store_id)).missing, 0, way)
    }
  })
})

test('an embedding service that hangs delays one request, not the next ones', async () => {
  await withRemote(
    async (scene, service) => {
      const store_id = await newStore(scene, 'http')
      await write(scene, store_id, 'Boats are moored at the quay')
      service.behave(() => true)
      service.asked.length = 0
      for (let at = 0; at < 5; at += 1)
        assert.equal((await retrieve(scene, store_id, 'boats')).ranking, 'lexical')
      assert.equal(service.asked.length, 1)
      service.behave(null)
    },
    (service) => remoteConfig(service, { timeout_ms: 300 }),
  )
})

test('vectors of another model are never compared, and are replaced', async () => {
  const service = await startEmbeddingServer()
  try {
    const first = await openScene(remoteConfig(service))
    const store_id = await newStore(first, 'http')
    await write(first, store_id, 'The lighthouse was built in 1880')
    await first.stop({ keep: true })
    const { data_dir } = first.service

    service.behave((_, response) => reply(response, 503, {}))
    const again = await openScene(
      { data_dir, ...remoteConfig(service, { model: 'model-y' }) },
      first,
    )
    const space = 'http:model-y/1/256'
    assert.deepEqual(await vectorsOf(again, store_id), { space, embedded: 0, missing: 1 })
    // Building its index notices, and asks for the job.
    const { memories } = await retrieve(again, store_id, 'lighthouse')
    assert.deepEqual(memories[0].score_parts.dense, 0)
    service.behave(null)
    for (let look = 0; look < 200; look += 1) {
      if ((await vectorsOf(again, store_id)).missing === 0) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    assert.deepEqual(await vectorsOf(again, store_id), { space, embedded: 1, missing: 0 })
    await again.stop()
  } finally {
    await service.stop()
  }
})

test('a store whose embedder is not configured is read and written by terms alone', async () => {
  const service = await startEmbeddingServer()
  try {
    const first = await openScene(remoteConfig(service))
    const store_id = await newStore(first, 'http')
    await write(first, store_id, 'The lighthouse was built in 1880')
    await first.stop({ keep: true })
    const { data_dir } = first.service
    const without = await openScene({ data_dir }, first)
    await write(without, store_id, 'The lighthouse was lit in 1881')
    const { memories, ranking } = await retrieve(without, store_id, 'lighthouse')
    assert.deepEqual([memories.length, ranking], [2, 'lexical'])
    assert.deepEqual(await vectorsOf(without, store_id), { space: null, embedded: 0, missing: 0 })
    const refused = await without.api('POST', `/v1/stores/${store_id}/reembed`, {})
    assert.deepEqual([refused.status, refused.body.error], [422, 'rejected'])
    await without.stop()
  } finally {
    await service.stop()
  }
})
