// Decisions while a memory they name is being erased: hidden at once, logs wait, nothing is lost.

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { MARKER } from '../trail/redact-text.ts'

const CONTENT = 'Moritz Nef has debts'

interface PausedErasure {
  readonly scene: Scene
  readonly ref: number
  /** A decision that used the fact. */
  readonly decision_id: string
  /** The erasure that waits at the step. */
  readonly issuing: ReturnType<Scene['issue']>
  go(): void
}

/** An erasure that waits after `step` until `go` is called. */
async function stopAfter(t: TestContext, step: string): Promise<PausedErasure> {
  const { promise: gate, resolve: go } = Promise.withResolvers<void>()
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  const scene = await openScene({
    step: (name) => {
      if (name !== `erasure:${step}`) return
      arrive()
      return gate
    },
  })
  t.after(() => {
    go()
    return scene.stop()
  })
  const ref = await scene.write(CONTENT)
  const used = { retrieved_refs: [ref], retrieved_contents: [CONTENT] }
  const decision_id = await scene.decide({
    query: `Is it so that ${CONTENT}?`,
    output: '',
    ...used,
  })
  const issuing = scene.issue(ref)
  await reached
  return { scene, ref, decision_id, issuing, go }
}

test('once marked, the memory is hidden in decisions that refer to it', async (t) => {
  const { scene, decision_id, issuing, go } = await stopAfter(t, 'marked')
  const { body } = await scene.api('GET', `/v1/decisions/${decision_id}`)
  assert.deepEqual(body.retrieved_contents, [MARKER])
  go()
  assert.equal((await issuing).status, 200)
})

for (const step of ['marked', 'key_destroyed'])
  test(`a decision naming the memory after ${step} waits and stores the marker`, async (t) => {
    const { scene, ref, issuing, go } = await stopAfter(t, step)
    const logging = scene.api('POST', '/v1/decisions/log', {
      store_id: scene.store_id,
      model_id: 'm',
      query: 'q',
      output: 'o',
      retrieved_refs: [ref],
      retrieved_contents: [CONTENT],
    })
    const early = await Promise.race([
      logging,
      new Promise((resolve) => setTimeout(resolve, 150, 'waiting')),
    ])
    assert.equal(early, 'waiting')
    go()
    assert.equal((await issuing).status, 200)
    const { status, body } = await logging
    assert.equal(status, 200)
    assert.deepEqual(body.retrieved_contents, [MARKER])
  })

test('reads wait while a secret is gone and the text not yet replaced', async (t) => {
  const { scene, decision_id, issuing, go } = await stopAfter(t, 'key_destroyed')
  const reads = [
    `/v1/decisions/${decision_id}`,
    '/v1/decisions',
    `/v1/decisions/${decision_id}/replay`,
    '/v1/decisions/export',
  ].map((path) => scene.api('GET', path))
  setTimeout(go, 150)
  assert.equal((await issuing).status, 200)
  for (const { status, text } of await Promise.all(reads)) {
    assert.equal(status, 200, text)
    assert.ok(!text.includes(CONTENT))
    assert.ok(text.includes(MARKER))
  }
})

test('decisions logged throughout an erasure all end without the memory', async (t) => {
  const scene = await openScene()
  t.after(() => scene.stop())
  const ref = await scene.write(CONTENT)
  const log = (i: number) =>
    scene.decide({
      query: i < 100 ? CONTENT : `${CONTENT} ${i}`,
      output: 'o',
      retrieved_refs: [ref],
      retrieved_contents: [CONTENT],
    })
  const before = Array.from({ length: 20 }, (_, i) => log(i))
  const issuing = scene.issue(ref)
  const after = Array.from({ length: 20 }, (_, i) => log(100 + i))
  assert.equal((await issuing).status, 200)
  const ids = await Promise.all([...before, ...after])
  const { decisions } = (await scene.api('GET', '/v1/decisions')).body
  assert.equal(decisions.length, ids.length)
  for (const { retrieved_contents } of decisions) assert.deepEqual(retrieved_contents, [MARKER])
})
