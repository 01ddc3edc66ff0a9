// 'memory.reembed': a job replaces vectors, with progress, during writes and erasures and across a
// crash; every index agrees on the result.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type EmbeddingServer,
  reply,
  SERVICE_DIMENSIONS,
  startEmbeddingServer,
} from '../../../testing/embedding-server.ts'
import { type Known, openScene, type Scene } from '../../../testing/erasure-scene.ts'
import type { TestOptions } from '../../../testing/harness.ts'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { findFact } from '../facts/facts.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'

const FACTS = 300
const WORDS = ['ferry', 'harbour', 'lantern', 'orchard', 'violin', 'winter', 'bridge', 'saffron']

async function withScene(
  act: (scene: Scene, service: EmbeddingServer) => Promise<void>,
  options: TestOptions = {},
): Promise<void> {
  const service = await startEmbeddingServer()
  const scene = await openScene({ ...remote(service), ...options })
  try {
    await act(scene, service)
  } finally {
    service.behave(null)
    await scene.stop()
    await service.stop()
  }
}

const remote = ({ url }: { url: string }): TestOptions => {
  const http = { url, model: 'm', key: null, dimensions: SERVICE_DIMENSIONS, timeout_ms: 2_000 }
  return { config: { embedder: { default_name: 'static', http, onnx: null } } }
}

async function fill(scene: Scene, count = FACTS): Promise<number[]> {
  const items = Array.from({ length: count }, (_, i) => ({
    content: `${WORDS[i % 8]} ${WORDS[(i >> 3) % 8]} number ${i}`,
    metadata: { session_id: `s${i % 7}` },
  }))
  const path = `/v1/stores/${scene.store_id}/write_batch`
  const { status, body, text } = await scene.api('POST', path, { items })
  assert.equal(status, 200, text)
  return body.refs
}

const askFor = (scene: Scene, body: object = {}) =>
  scene.api('POST', `/v1/stores/${scene.store_id}/reembed`, body)

async function jobEnd(scene: Scene, job_id: string) {
  for (let look = 0; look < 800; look += 1) {
    const { body } = await scene.api('GET', `/v1/jobs/${job_id}`)
    if (body.state === 'done' || body.state === 'failed') return body
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('the job does not end')
}

const vectorsOf = async (scene: Scene) =>
  (await scene.api('GET', `/v1/stores/${scene.store_id}/stats`)).body.vectors

/** What a query finds, with every part of every score. */
async function found(scene: Scene, query = 'lantern near the harbour in winter') {
  const path = `/v1/stores/${scene.store_id}/retrieve`
  const { status, body, text } = await scene.api('POST', path, { query, budget_tokens: 2_048 })
  assert.equal(status, 200, text)
  return body.memories.map((m: { ref: number; score: number; score_parts: object }) => [
    m.ref,
    m.score,
    m.score_parts,
  ])
}

const dropIndex = ({ service, tenant_id, store_id }: Scene) =>
  storeIndexes(service.kernel).drop(tenant_id, store_id)

test('memory.reembed gives every memory a vector by another embedder, with progress', async () => {
  await withScene(async (scene, service) => {
    await fill(scene)
    const before = await found(scene)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    // A batch waits, a query does not.
    service.behave(async ({ input }) => {
      if (input.length > 1) await held
      return false
    })
    const { status, body } = await askFor(scene, { embedder: 'http' })
    assert.equal(status, 202)
    // Brought to the change of the embedder, the index is then told batch by batch.
    assert.ok((await found(scene)).length > 0)
    release()
    assert.deepEqual([body.embedder, body.missing], ['http', FACTS])
    const { state, progress, kind } = await jobEnd(scene, body.job_id)
    assert.deepEqual(
      [kind, state, progress],
      ['store.reembed', 'done', { done: FACTS, total: FACTS }],
    )
    assert.deepEqual(await vectorsOf(scene), { space: 'http:m/1/256', embedded: FACTS, missing: 0 })
    const shown = await scene.api('GET', `/v1/stores/${scene.store_id}`)
    assert.equal(shown.body.embedder, 'http')
    const texts = service.asked.flatMap(({ input }) => input)
    // Each of them, and on a slow machine some again: a request that takes too long is repeated.
    assert.equal(new Set(texts.filter((text) => text.includes('number'))).size, FACTS)

    // One that is built from the rows answers alike.
    const fed = await found(scene)
    dropIndex(scene)
    assert.deepEqual(await found(scene), fed)
    // The service has the same vectors but for rounding, so the order can be compared too.
    assert.deepEqual(fed.length, before.length)
    const { breadcrumbs } = (await scene.api('GET', '/v1/gcrumbs/breadcrumbs')).body
    const told = breadcrumbs
      .filter((crumb: { subject: string }) => crumb.subject === scene.store_id)
      .map(({ event_type, payload }: { event_type: string; payload: object }) => [
        event_type,
        payload,
      ])
    assert.deepEqual(told[2], ['store.embedder_changed', { embedder: 'http', previous: 'static' }])
    const counts = told.slice(3).map(([, payload]: [string, { count: number }]) => payload.count)
    assert.equal(
      counts.reduce((sum: number, count: number) => sum + count, 0),
      FACTS,
    )
    assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
  })
})

test('memory.reembed requested twice is one job, and has nothing to do afterwards', async () => {
  await withScene(async (scene, service) => {
    await fill(scene, 40)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    service.behave(async () => {
      await held
      return false
    })
    const first = await askFor(scene, { embedder: 'http' })
    const second = await askFor(scene)
    assert.equal(second.status, 202)
    assert.equal(second.body.job_id, first.body.job_id)
    // Found by words meanwhile, and written to.
    assert.ok((await found(scene)).length > 0)
    release()
    await jobEnd(scene, first.body.job_id)
    service.behave(null)
    const third = await askFor(scene)
    assert.notEqual(third.body.job_id, first.body.job_id)
    assert.equal(third.body.missing, 0)
    assert.deepEqual((await jobEnd(scene, third.body.job_id)).progress, { done: 0, total: 0 })
  })
})

test('a store switched to another embedder and back ranks as before', async () => {
  await withScene(async (scene, service) => {
    await fill(scene, 150)
    const before = await found(scene)
    // Half of the way there.
    let answered = 0
    service.behave((_, response) => {
      answered += 1
      return answered > 4 ? reply(response, 500, {}) : false
    })
    await askFor(scene, { embedder: 'http' })
    for (let look = 0; look < 200 && answered < 5; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 20))
    const { body } = await askFor(scene, { embedder: 'static' })
    await jobEnd(scene, body.job_id)
    assert.deepEqual(await vectorsOf(scene), {
      space: 'custos-static/1/256',
      embedded: 150,
      missing: 0,
    })
    assert.deepEqual(await found(scene), before)
    dropIndex(scene)
    assert.deepEqual(await found(scene), before)
  })
})

test('the job waits for an embedding service that is down and then continues', async () => {
  await withScene(async (scene, service) => {
    await fill(scene, 20)
    service.behave((_, response) => reply(response, 503, {}))
    const { job_id } = (await askFor(scene, { embedder: 'http' })).body
    for (let look = 0; look < 400 && service.asked.length < 6; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 25))
    assert.notEqual((await scene.api('GET', `/v1/jobs/${job_id}`)).body.state, 'failed')
    service.behave(null)
    assert.equal((await jobEnd(scene, job_id)).state, 'done')
    assert.equal((await vectorsOf(scene)).missing, 0)
  })
})

test('a text that the embedding service fails at is skipped, and the job ends', async () => {
  await withScene(async (scene, service) => {
    await fill(scene, 20)
    service.behave(({ input }, response) =>
      input.some((text) => text.endsWith('number 0')) ? reply(response, 500, {}) : false,
    )
    const { job_id } = (await askFor(scene, { embedder: 'http' })).body
    const { state, progress } = await jobEnd(scene, job_id)
    assert.deepEqual([state, progress], ['done', { done: 19, total: 20 }])
    assert.deepEqual(await vectorsOf(scene), { space: 'http:m/1/256', embedded: 19, missing: 1 })
  })
})

test('a batch that always fails delays none of those after it', async () => {
  await withScene(async (scene, service) => {
    await fill(scene)
    // Of the first batch, in a way that might be the service's.
    service.behave(({ input }, response) =>
      input.some((text) => text.endsWith('number 0')) ? reply(response, 403, {}) : false,
    )
    const { job_id } = (await askFor(scene, { embedder: 'http' })).body
    for (let look = 0; look < 400 && (await vectorsOf(scene)).missing > 128; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 25))
    assert.equal((await vectorsOf(scene)).missing, 128)
    service.behave(null)
    const { state, progress } = await jobEnd(scene, job_id)
    assert.deepEqual([state, progress], ['done', { done: FACTS, total: FACTS }])
    assert.equal((await vectorsOf(scene)).missing, 0)
  })
})

test('an erasure during a batch stops it, and the other facts are embedded', async () => {
  await withScene(async (scene, service) => {
    const refs = await fill(scene, 30)
    const [ref = 0] = refs.slice(11)
    let erased: Promise<unknown> | null = null
    let closed = false
    service.behave(async (asked, response) => {
      if (erased) return false
      erased = scene.issue(ref)
      response.on('close', () => {
        closed = true
      })
      // Never answered: only the erasure ends it.
      return asked.input.length > 0
    })
    const { job_id } = (await askFor(scene, { embedder: 'http' })).body
    assert.equal((await jobEnd(scene, job_id)).state, 'done')
    const { body } = (await (erased ?? Promise.reject(new Error('nothing was asked')))) as {
      body: { verified: boolean; outcome: string; limits: string[] }
    }
    assert.deepEqual([body.verified, body.outcome], [true, 'erased'])
    assert.ok(body.limits.some((limit) => limit.includes('embedding service')))
    assert.ok(closed, 'what was sent was given up')
    assert.deepEqual(await vectorsOf(scene), { space: 'http:m/1/256', embedded: 29, missing: 0 })
    const path = `/v1/stores/${scene.store_id}/memories/${ref}`
    assert.equal((await scene.api('GET', path)).status, 404)
    // After the first, given up request, its text is sent no more.
    const later = service.asked.slice(1).flatMap(({ input }) => input)
    assert.equal(later.filter((text) => text.endsWith('number 11')).length, 0)
  })
})

test('a memory erased between sealing and storing stays erased', async () => {
  let scene: Scene | null = null
  let ref = 0
  let done = false
  const step = async (name: string) => {
    if (name !== 'reembed:sealed' || done || !scene) return
    done = true
    const { status, text } = await scene.issue(ref)
    assert.equal(status, 200, text)
  }
  await withScene(
    async (opened) => {
      scene = opened
      const refs = await fill(opened, 10)
      ref = refs[3] ?? 0
      const { job_id } = (await askFor(opened, { embedder: 'http' })).body
      assert.equal((await jobEnd(opened, job_id)).state, 'done')
      assert.ok(done)
      const { kernel } = opened.service
      assert.equal(await kernel.db.read(opened.tenant_id, (db) => findFact(db, ref)), undefined)
      assert.deepEqual(await vectorsOf(opened), { space: 'http:m/1/256', embedded: 9, missing: 0 })
      const stats = await opened.api('GET', '/v1/erasure/stats')
      assert.equal(stats.body.erased, 1)
    },
    { step },
  )
})

test('a memory whose erasure has begun is not embedded again', async () => {
  let scene: Scene | null = null
  let [ref, mark]: [number, number | null | undefined] = [0, undefined]
  let erasure: Promise<{ status: number }> | null = null
  let [marked, release] = [() => {}, () => {}]
  const atMark = new Promise<void>((resolve) => {
    marked = resolve
  })
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const step = async (name: string) => {
    if (name === 'erasure:marked') {
      marked()
      await held
    }
    if (!scene) return
    const { service, tenant_id } = scene
    if (name === 'reembed:sealed' && !erasure) {
      erasure = scene.issue(ref)
      await atMark
    }
    if (name === 'reembed:stored' && mark === undefined) {
      const row = await service.kernel.db.read(tenant_id, (db) => findFact(db, ref))
      mark = row?.space_mark ?? null
      release()
    }
  }
  await withScene(
    async (opened) => {
      scene = opened
      ref = (await fill(opened, 10))[3] ?? 0
      const { job_id } = (await askFor(opened, { embedder: 'http' })).body
      assert.equal((await jobEnd(opened, job_id)).state, 'done')
      assert.equal(mark, opened.service.kernel.embedders.spaceOf('static')?.mark)
      assert.equal((await erasure)?.status, 200)
      assert.deepEqual(await vectorsOf(opened), { space: 'http:m/1/256', embedded: 9, missing: 0 })
    },
    { step },
  )
})

for (const at of ['reembed:sealed', 'reembed:stored'])
  test(`a process that ends at ${at} leaves work that the next one finishes`, async () => {
    let [batches, cut] = [0, false]
    let reached = () => {}
    const arrived = new Promise<void>((resolve) => {
      reached = resolve
    })
    const step = (name: string) => {
      if (name === 'reembed:sealed') batches += 1
      if (cut) throw new Error('cut off')
      if (name !== at || batches < 2) return
      cut = true
      reached()
      throw new Error('cut off')
    }
    const service = await startEmbeddingServer()
    const first = await openScene({ ...remote(service), step })
    await fill(first)
    const { job_id } = (await askFor(first, { embedder: 'http' })).body
    await arrived
    await first.stop({ keep: true })
    const known: Known = first
    const again = await openScene({ ...remote(service), data_dir: first.service.data_dir }, known)
    try {
      assert.equal((await jobEnd(again, job_id)).state, 'done')
      assert.deepEqual(await vectorsOf(again), {
        space: 'http:m/1/256',
        embedded: FACTS,
        missing: 0,
      })
      const texts = service.asked.flatMap(({ input }) => input)
      // What was stored is not sent again: at most the batch that was cut off.
      assert.ok(texts.length <= FACTS + 128, `${texts.length}`)
      assert.equal(new Set(texts).size, FACTS)
      const fed = await found(again)
      dropIndex(again)
      assert.deepEqual(await found(again), fed)
    } finally {
      await again.stop()
      await service.stop()
    }
  })

test('while a store is embedded again, another store can be deleted', async () => {
  await withScene(async (scene, service) => {
    await fill(scene, 20)
    service.behave((_, response) => reply(response, 503, {}))
    await askFor(scene, { embedder: 'http' })
    const { body: other } = await scene.api('POST', '/v1/stores', {})
    await scene.api('POST', `/v1/stores/${other.store_id}/write`, { content: 'Short lived' })
    const { body } = await scene.api('DELETE', `/v1/stores/${other.store_id}`)
    assert.equal((await jobEnd(scene, body.job_id)).state, 'done')
  })
})

test('a memory that has expired is sent to no embedder', async () => {
  const clock = movedClock()
  await withScene(
    async (scene, service) => {
      await scene.write('the ferry leaves at nine', { ttl_s: 60 })
      await scene.write('the harbour opens at eight')
      await scene.api('POST', `/v1/stores/${scene.store_id}/holds`, { reason: 'a matter' })
      clock.forward(60_000_000)
      const { body } = await askFor(scene, { embedder: 'http' })
      assert.equal((await jobEnd(scene, body.job_id)).state, 'done')
      const texts = service.asked.flatMap(({ input }) => input)
      assert.ok(texts.includes('the harbour opens at eight'), String(texts))
      assert.ok(!texts.some((text) => text.includes('ferry')), String(texts))
    },
    { clock },
  )
})
