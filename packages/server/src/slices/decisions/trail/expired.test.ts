// Decisions that used a memory which has expired: its words are gone from them before it is erased.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene } from '../../../testing/erasure-scene.ts'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { MARKER } from './redact-text.ts'

const MINUTE_US = 60_000_000
const SECRET = 'Carla Fontana has a heart condition'

for (const held of [false, true])
  test(`decisions.get, list, export and replay show no word of an expired memory, ${held ? 'under' : 'without'} a hold`, async () => {
    const clock = movedClock()
    const scene = await openScene({ clock })
    try {
      const [expiring, kept] = [
        await scene.write(SECRET, { ttl_s: 60 }),
        await scene.write('Carla likes tea'),
      ]
      const used = {
        retrieved_refs: [expiring, kept, expiring],
        retrieved_contents: [SECRET, 'Carla likes tea', 'the condition of Carla F.'],
        retrieved_scores: [0.9, 0.8, 0.7],
      }
      const id = await scene.decide({
        query: `Mind this: ${SECRET}.`,
        output: 'We note the condition of Carla F.',
        session_id: SECRET,
        parameters: { [SECRET]: [SECRET] },
        ...used,
      })
      if (held)
        await scene.api('POST', `/v1/stores/${scene.store_id}/holds`, { reason: 'a matter' })
      const replayPath = `/v1/decisions/${id}/replay`
      const readAll = () =>
        Promise.all(
          [`/v1/decisions/${id}`, '/v1/decisions', '/v1/decisions/export', replayPath].map(
            async (path) => (await scene.api('GET', path)).text,
          ),
        )
      for (const text of await readAll()) assert.ok(text.includes(SECRET), text)
      const before = (await scene.api('GET', replayPath)).body

      clock.forward(MINUTE_US)
      for (const text of await readAll()) {
        assert.doesNotMatch(text, /heart|Fontana|Carla F\./)
        assert.match(text, /Carla likes tea/)
      }
      const { body } = await scene.api('GET', replayPath)
      assert.deepEqual(body.facts_used, [
        { ref: expiring, content: MARKER, score: 0.9, state: 'expired' },
        { ref: kept, content: 'Carla likes tea', score: 0.8, state: 'live' },
        { ref: expiring, content: MARKER, score: 0.7, state: 'expired' },
      ])
      assert.deepEqual(body.facts_since_deleted, [])
      assert.equal(body.decision.query, `Mind this: ${MARKER}.`)
      assert.deepEqual(body.decision.parameters, { [MARKER]: [MARKER] })
      assert.equal(body.decision.redacted, true)
      const { valid_from } = before.memory_state[0]
      assert.deepEqual(body.memory_state, [
        {
          ref: expiring,
          content: null,
          written_at: null,
          tenant_id: null,
          valid_from,
          valid_until: null,
          erased: false,
          expired: true,
        },
        before.memory_state[1],
      ])
      // A person is told of all that is stored about them.
      const found = { find: { text: 'heart condition' } }
      const access = await scene.api('POST', '/v1/erasure/subject/access', found)
      assert.ok(access.text.includes(`"query":"Mind this: ${SECRET}."`), access.text)

      const erased = await scene.issue(expiring)
      if (held) {
        assert.equal(erased.body.error, 'legal_hold')
        return
      }
      assert.equal(erased.body.decision_records_scrubbed, 1)
      const after = (await scene.api('GET', replayPath)).body
      assert.equal(after.facts_used[0].state, 'erased')
      assert.deepEqual(after.facts_since_deleted, [expiring])
      // The erasure stores what the reads have shown since the expiry.
      assert.deepEqual(after.decision, body.decision)
      assert.deepEqual(after.memory_state[0]?.erased ?? true, true)
    } finally {
      await scene.stop()
    }
  })
