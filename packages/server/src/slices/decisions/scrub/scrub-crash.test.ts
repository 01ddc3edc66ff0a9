// A scrub interrupted after it was planned is finished by the next scrub or the next start.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { MARKER } from '../trail/redact-text.ts'

const CONTENT = 'Carla Danuser is divorced'

/** A scene whose next scrub fails at the step, with a decision that repeats a memory. */
async function cutAt(step: string): Promise<{ scene: Scene; ref: number; id: string }> {
  let armed = false
  const scene = await openScene({
    step: (name) => {
      if (armed && name === step) throw new Error('cut off')
    },
  })
  const ref = await scene.write(CONTENT)
  const id = await scene.decide({ query: CONTENT, output: 'o', retrieved_refs: [ref] })
  armed = true
  assert.equal((await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)).status, 500)
  armed = false
  return { scene, ref, id }
}

const queryOf = async (scene: Scene, id: string): Promise<string> =>
  (await scene.api('GET', `/v1/decisions/${id}`)).body.query

test('decisions.scrub that failed before its ledger row has changed nothing', async () => {
  const { scene, ref, id } = await cutAt('scrub:planned')
  try {
    assert.equal(await queryOf(scene, id), CONTENT)
    const { body } = await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)
    assert.deepEqual(body.decision_ids, [id])
    assert.equal(await queryOf(scene, id), MARKER)
  } finally {
    await scene.stop()
  }
})

test('decisions.scrub finishes what a failed one has left', async () => {
  const { scene, ref, id } = await cutAt('scrub:requested')
  try {
    const { body } = await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)
    assert.equal(body.decisions_affected, 0)
    assert.equal(await queryOf(scene, id), MARKER)
    const { ledger } = scene.service.kernel.keyring
    assert.deepEqual(await ledger.listRequested(), [])
  } finally {
    await scene.stop()
  }
})

test('decisions.scrub cut off after its ledger row is finished at the next start', async () => {
  for (const step of ['scrub:requested', 'scrub:applied']) {
    const { scene, id } = await cutAt(step)
    await scene.stop({ keep: true })
    const again = await openScene({ data_dir: scene.service.data_dir }, scene)
    try {
      assert.equal(await queryOf(again, id), MARKER, step)
      const { ledger } = again.service.kernel.keyring
      assert.deepEqual(await ledger.listRequested(), [])
    } finally {
      await again.stop()
    }
  }
})
