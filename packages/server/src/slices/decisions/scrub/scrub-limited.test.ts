// `decisions.scrub` by a key limited to stores: no text of another store decides what is replaced.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openScene } from '../../../testing/erasure-scene.ts'
import { MARKER } from '../trail/redact-text.ts'

test('decisions.scrub by a key of one store uses no words of a memory of another', async () => {
  const scene = await openScene()
  try {
    const content = 'Lea Wyss has resigned from office'
    const ref = await scene.write(content)
    const theirs = (await scene.api('POST', '/v1/stores', {})).body.store_id
    const guess = {
      store_id: theirs,
      query: `Is it so: ${content}?`,
      output: `Perhaps ${content}.`,
      retrieved_refs: [ref],
      retrieved_contents: ['a text of their own'],
      parameters: { note: content },
    }
    const id = await scene.decide(guess)
    const own = await scene.decide({ ...guess, store_id: scene.store_id })
    const { body: key } = await scene.api('POST', '/v1/keys', {
      class: 'service',
      scopes: ['erasure:execute', 'memory:read'],
      allowed_stores: [theirs],
    })
    const path = `/v1/decisions/scrub/${ref}`
    const scrubbed = await scene.service.request('DELETE', path, { key: key.api_key })
    assert.equal(scrubbed.status, 200, scrubbed.text)
    assert.deepEqual(scrubbed.body.decision_ids, [id])
    const get = async (decision: string) =>
      (await scene.api('GET', `/v1/decisions/${decision}`)).body
    const shown = await get(id)
    assert.deepEqual(shown.retrieved_contents, [MARKER], 'what the record itself holds goes')
    for (const field of ['query', 'output', 'parameters'] as const)
      assert.deepEqual(shown[field], guess[field], `${field} would tell that the guess is right`)
    assert.equal((await get(own)).redacted, false, 'a decision of another store is left')

    assert.equal((await scene.api('DELETE', path)).body.decisions_affected, 2)
    for (const done of [id, own]) assert.equal((await get(done)).query, `Is it so: ${MARKER}?`)
  } finally {
    await scene.stop()
  }
})

test('a key of one store learns of a hold on another only by a decision it may see', async () => {
  const scene = await openScene()
  try {
    const ref = await scene.write('Lea Wyss has resigned from office')
    await scene.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
    const theirs = (await scene.api('POST', '/v1/stores', {})).body.store_id
    const { body: key } = await scene.api('POST', '/v1/keys', {
      class: 'service',
      scopes: ['erasure:execute', 'memory:read'],
      allowed_stores: [theirs],
    })
    const scrub = () =>
      scene.service.request('DELETE', `/v1/decisions/scrub/${ref}`, { key: key.api_key })
    const before = await scrub()
    assert.equal(before.status, 200, before.text)
    await scene.api('POST', `/v1/stores/${scene.store_id}/holds`, { reason: 'r' })
    assert.deepEqual((await scrub()).body, before.body)
    const held = await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)
    assert.equal(held.body.error, 'legal_hold')
    await scene.decide({ store_id: theirs, query: 'q', output: 'o', retrieved_refs: [ref] })
    assert.equal((await scrub()).body.error, 'legal_hold')
  } finally {
    await scene.stop()
  }
})
