// memory.delete_store: every memory erased and certified, with progress, resumed after a stop.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

const FACTS = 1_200

async function fill(scene: Scene): Promise<void> {
  for (let at = 0; at < FACTS; at += 400) {
    const items = Array.from({ length: 400 }, (_, i) => ({ content: `Customer record ${at + i}` }))
    const { status, text } = await scene.api('POST', `/v1/stores/${scene.store_id}/write_batch`, {
      items,
    })
    assert.equal(status, 200, text)
  }
}

async function jobEnd(scene: Scene, job_id: string): Promise<{ state: string; seen: number[] }> {
  const seen: number[] = []
  for (let i = 0; i < 1_200; i += 1) {
    const { body } = await scene.api('GET', `/v1/jobs/${job_id}`)
    seen.push(body.progress.done)
    if (body.state === 'done' || body.state === 'failed') return { state: body.state, seen }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return { state: 'running', seen }
}

test('memory.delete_store erases and certifies 1,200 memories, then the store', async () => {
  const scene = await openScene()
  try {
    await fill(scene)
    const path = `/v1/stores/${scene.store_id}`
    const { status, body } = await scene.api('DELETE', path)
    assert.equal(status, 202)
    assert.equal(body.state, 'deleting')
    assert.equal(body.facts, FACTS)
    const write = await scene.api('POST', `${path}/write`, { content: 'too late' })
    assert.ok([404, 409].includes(write.status), `${write.status}`)
    const { state, seen } = await jobEnd(scene, body.job_id)
    assert.equal(state, 'done')
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    )
    assert.equal(seen.at(-1), FACTS)
    assert.equal((await scene.api('GET', path)).status, 404)
    assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.erased, FACTS)
    const { certificates } = (await scene.api('GET', '/v1/erasure?limit=500')).body
    assert.ok(certificates.every((c: { verified: boolean }) => c.verified))
    const { breadcrumbs } = (await scene.api('GET', '/v1/gcrumbs/breadcrumbs?offset=2400')).body
    const last = breadcrumbs.at(-1)
    assert.equal(last.event_type, 'store.deleted')
    assert.equal(last.payload.facts, FACTS)
    assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
  } finally {
    await scene.stop()
  }
})

test('a store deletion cut off between two transactions goes on after the next start', async () => {
  let cut = false
  let reached = () => {}
  const atSecondBatch = new Promise<void>((resolve) => {
    reached = resolve
  })
  let batches = 0
  const step = (name: string) => {
    if (cut) throw new Error('cut off')
    if (name === 'erasure:marked') batches += 1
    if (batches < 2 || name !== 'erasure:ledger_recorded') return
    cut = true
    reached()
    throw new Error('cut off')
  }
  const first = await openScene({ step })
  await fill(first)
  const { job_id } = (await first.api('DELETE', `/v1/stores/${first.store_id}`)).body
  await atSecondBatch
  await first.stop({ keep: true })

  const again = await openScene({ data_dir: first.service.data_dir }, first)
  try {
    assert.equal((await jobEnd(again, job_id)).state, 'done')
    assert.equal((await again.api('GET', '/v1/erasure/stats')).body.erased, FACTS)
    assert.equal((await again.api('GET', `/v1/stores/${first.store_id}`)).status, 404)
  } finally {
    await again.stop()
  }
})

test('while a store is being deleted, memory.delete in it is refused with 409', async () => {
  let release = () => {}
  let reached = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const arrived = new Promise<void>((resolve) => {
    reached = resolve
  })
  const scene = await openScene({
    step: async (name) => {
      if (name !== 'erasure:marked') return
      reached()
      await held
    },
  })
  try {
    const ref = await scene.write('One memory')
    const path = `/v1/stores/${scene.store_id}`
    const { job_id } = (await scene.api('DELETE', path)).body
    await arrived
    const refused = await scene.api('POST', `${path}/delete`, { ref })
    assert.equal(refused.status, 409)
    assert.equal(refused.body.error, 'store_deleting')
    release()
    assert.equal((await jobEnd(scene, job_id)).state, 'done')
  } finally {
    release()
    await scene.stop()
  }
})

test('memory.delete_store twice answers the same job, and an unknown store is a 404', async () => {
  const scene = await openScene()
  try {
    await fill(scene)
    const path = `/v1/stores/${scene.store_id}`
    const first = await scene.api('DELETE', path)
    const second = await scene.api('DELETE', path)
    assert.equal(second.status, 202)
    assert.equal(second.body.job_id, first.body.job_id)
    assert.equal((await jobEnd(scene, first.body.job_id)).state, 'done')
    assert.equal((await scene.api('DELETE', path)).status, 404)
    assert.equal((await scene.api('DELETE', '/v1/stores/0123456789ab')).status, 404)
  } finally {
    await scene.stop()
  }
})
