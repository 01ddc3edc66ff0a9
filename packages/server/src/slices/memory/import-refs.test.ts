// 'memory.import': how many numbers and secrets an import makes for the refs it brings.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

/** Imports a line for each ref, all of which are free; the sizes of the blocks made for it. */
async function blocksFor(scene: Scene, refs: readonly number[]): Promise<number[]> {
  const { keyring } = scene.service.kernel
  const reserve = mock.method(keyring, 'reserve')
  try {
    const answer = await scene.service.request('POST', `/v1/stores/${scene.store_id}/import`, {
      raw: refs.map((ref) => `${JSON.stringify({ ref, content: `memory ${ref}` })}\n`).join(''),
      key: scene.api_key,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body.refs_mapped, [])
    return reserve.mock.calls
      .filter(({ arguments: [, kind] }) => kind === 'fact')
      .map(({ arguments: [, , { count }] }) => count ?? 1)
  } finally {
    reserve.mock.restore()
  }
}

test('an import whose refs lie far apart makes secrets for them, not for all between', async () => {
  const scene = await openScene()
  try {
    const first = (await scene.write('takes the first block')) + 10_000
    const blocks = await blocksFor(
      scene,
      Array.from({ length: 40 }, (_, i) => first + i * 25_000),
    )
    assert.deepEqual(blocks, Array(40).fill(1))
  } finally {
    await scene.stop()
  }
})

test('an import whose refs follow one another, with a few left out, makes one block', async () => {
  const scene = await openScene()
  try {
    const first = (await scene.write('takes the first block')) + 10_000
    const near = Array.from({ length: 100 }, (_, i) => first + i * 3)
    const blocks = await blocksFor(scene, [...near, first + 500_000])
    assert.deepEqual(blocks, [298, 1])
  } finally {
    await scene.stop()
  }
})
