// Decisions that used a memory which has expired: its words are gone from them before it is erased.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { MARKER } from './redact-text.ts'

const MINUTE_US = 60_000_000
const SECRET = 'Carla Fontana has a heart condition'
const HINT = 'the condition of Carla F.'
const KEPT = 'Carla likes tea'

/** A decision with the memory in every field, and another memory. */
async function decideOn(scene: Scene) {
  const expiring = await scene.write(SECRET, { ttl_s: 60 })
  const kept = await scene.write(KEPT)
  const id = await scene.decide({
    query: `Mind this: ${SECRET}.`,
    output: `We note ${HINT}`,
    session_id: SECRET,
    parameters: { [SECRET]: [SECRET] },
    retrieved_refs: [expiring, kept, expiring],
    retrieved_contents: [SECRET, KEPT, HINT],
    retrieved_scores: [0.9, 0.8, 0.7],
  })
  return { expiring, kept, id }
}

/** What get, list, export and replay answer. */
const readAll = (scene: Scene, id: string): Promise<string[]> =>
  Promise.all(
    [`/${id}`, '', '/export', `/${id}/replay`].map(
      async (path) => (await scene.api('GET', `/v1/decisions${path}`)).text,
    ),
  )

const replay = async (scene: Scene, id: string) =>
  (await scene.api('GET', `/v1/decisions/${id}/replay`)).body

async function assertHidden(scene: Scene, id: string): Promise<void> {
  for (const text of await readAll(scene, id)) {
    assert.doesNotMatch(text, /heart|Fontana|Carla F\./)
    assert.ok(text.includes(KEPT), text)
  }
}

test('decisions.get, list, export and replay show no word of an expired memory', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const { expiring, kept, id } = await decideOn(scene)
    for (const text of await readAll(scene, id)) assert.ok(text.includes(SECRET), text)
    const before = await replay(scene, id)
    clock.forward(MINUTE_US)
    await assertHidden(scene, id)
    const hidden = await replay(scene, id)
    assert.deepEqual(hidden.facts_used, [
      { ref: expiring, content: MARKER, score: 0.9, state: 'expired' },
      { ref: kept, content: KEPT, score: 0.8, state: 'live' },
      { ref: expiring, content: MARKER, score: 0.7, state: 'expired' },
    ])
    assert.deepEqual(hidden.facts_since_deleted, [])
    assert.equal(hidden.decision.query, `Mind this: ${MARKER}.`)
    assert.equal(hidden.decision.output, `We note ${MARKER}`)
    assert.deepEqual(hidden.decision.parameters, { [MARKER]: [MARKER] })
    const [{ ref, valid_from, valid_until }, unchanged] = before.memory_state
    const gone = { content: null, written_at: null, tenant_id: null, erased: false, expired: true }
    assert.deepEqual(hidden.memory_state, [{ ref, valid_from, valid_until, ...gone }, unchanged])

    assert.equal((await scene.issue(expiring)).body.decision_records_scrubbed, 1)
    const erased = await replay(scene, id)
    // The erasure stores what the reads have shown since the expiry.
    assert.deepEqual(erased.decision, hidden.decision)
    assert.equal(erased.facts_used[0].state, 'erased')
    assert.deepEqual(erased.facts_since_deleted, [expiring])
  } finally {
    await scene.stop()
  }
})

test('a hold keeps what has expired, and decisions hide it all the same', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const { expiring, id } = await decideOn(scene)
    await scene.api('POST', `/v1/stores/${scene.store_id}/holds`, { reason: 'a matter' })
    clock.forward(MINUTE_US)
    assert.equal((await scene.issue(expiring)).body.error, 'legal_hold')
    await assertHidden(scene, id)
    assert.equal((await replay(scene, id)).facts_used[0].state, 'expired')
    // A person is told of all that is stored about them.
    const find = { text: 'heart condition' }
    const access = await scene.api('POST', '/v1/erasure/subject/access', { find })
    assert.ok(access.text.includes(`"query":"Mind this: ${SECRET}."`), access.text)
  } finally {
    await scene.stop()
  }
})
