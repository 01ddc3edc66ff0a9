// A memory that is shown again after its erasure was given up has what it missed meanwhile.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inErasureTurn } from '../../platform/erasure-turn.ts'
import { SERVICE_DIMENSIONS, startEmbeddingServer } from '../../testing/embedding-server.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { markErasing } from '../memory/index.ts'
import { unmarkUnrequested } from './prepare.ts'

const FACTS = 150

async function withScene(
  step: (name: string) => Promise<void>,
  act: (scene: Scene, refs: readonly number[]) => Promise<void>,
): Promise<void> {
  const { url, stop } = await startEmbeddingServer()
  const http = { url, model: 'm', key: null, dimensions: SERVICE_DIMENSIONS, timeout_ms: 2_000 }
  const config = { embedder: { default_name: 'static' as const, http, onnx: null } }
  const scene = await openScene({ config, step })
  try {
    const items = Array.from({ length: FACTS }, (_, i) => ({ content: `memory number ${i}` }))
    const path = `/v1/stores/${scene.store_id}/write_batch`
    const { body } = await scene.api('POST', path, { items })
    await act(scene, body.refs)
  } finally {
    await scene.stop()
    await stop()
  }
}

const unmark = ({ service: { kernel }, tenant_id }: Scene, ref: number) =>
  inErasureTurn(kernel, tenant_id, () => unmarkUnrequested(kernel, tenant_id, [ref]))

/** Hides a memory, changes the embedder, and shows it again when `at` is reached. */
async function assertMadeUpFor(at: 'reembed:stored' | 'ended'): Promise<void> {
  let act = async () => {}
  let shown = 0
  const step = async (name: string) => {
    if (name !== at || shown > 0) return
    shown += 1
    await act()
  }
  await withScene(step, async (scene, refs) => {
    const { kernel } = scene.service
    const [, , , ref = 0] = refs
    act = () => unmark(scene, ref)
    await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [ref]))
    await scene.api('POST', `/v1/stores/${scene.store_id}/reembed`, { embedder: 'http' })
    await kernel.jobs.idle()
    await step('ended')
    await kernel.jobs.idle()
    assert.equal(shown, 1)
    const { body } = await scene.api('GET', `/v1/stores/${scene.store_id}/stats`)
    assert.deepEqual(body.vectors, { space: 'http:m/1/256', embedded: FACTS, missing: 0 })
  })
}

test('shown again while the others are embedded, it gets its vector', () =>
  assertMadeUpFor('reembed:stored'))

test('shown again after the others were embedded, it gets its vector', () =>
  assertMadeUpFor('ended'))

test('with a vector that counts it asks for no job', async (t) => {
  await withScene(
    async () => {},
    async (scene, refs) => {
      const { kernel } = scene.service
      const [, ref = 0] = refs
      await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [ref]))
      const { mock } = t.mock.method(kernel.jobs, 'enqueue')
      await unmark(scene, ref)
      assert.equal(mock.callCount(), 0)
    },
  )
})
