// `decisions.replay` through HTTP: the memory at the time of the decision, and what was erased
// since.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { MARKER } from './redact-text.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const replay = async (id: string) => (await scene.api('GET', `/v1/decisions/${id}/replay`)).body
const contentsOf = (memories: { content: string | null }[]) =>
  memories.map(({ content }) => content)

test('decisions.replay shows the store as the decision knew it, not as it is', async () => {
  const ref = await scene.write('The rate is 3 percent')
  const id = await scene.decide({ query: 'rate?', output: '3', retrieved_refs: [ref] })
  await scene.supersede(ref, 'The rate is 4 percent')
  await scene.write('Written after the decision')
  const replayed = await replay(id)
  assert.equal(replayed.decision.decision_id, id)
  assert.deepEqual(contentsOf(replayed.memory_state), ['The rate is 3 percent'])
  assert.deepEqual(replayed.memory_state_at_decision, replayed.memory_state)
  assert.equal(replayed.memory_state_truncated, false)
  assert.equal(replayed.memory_seq, replayed.decision.memory_seq)
  assert.deepEqual(replayed.facts_used, [{ ref, content: null, score: null, state: 'superseded' }])
  assert.deepEqual(replayed.facts_since_deleted, [])
})

test('memory_seq of the request replays an earlier state than the decision itself', async () => {
  const early = await scene.api('POST', `/v1/stores/${scene.store_id}/write`, {
    content: 'Known when it was read',
  })
  await scene.write('Written between reading and deciding')
  const id = await scene.decide({ query: 'q', output: 'o', memory_seq: early.body.log_seq })
  const contents = contentsOf((await replay(id)).memory_state)
  assert.ok(contents.includes('Known when it was read'))
  assert.ok(!contents.includes('Written between reading and deciding'))
})

test('facts erased since are named, and their contents are gone from the replay', async () => {
  const content = 'Carla Fontana has a heart condition'
  const [erased, kept] = [await scene.write(content), await scene.write('Carla likes tea')]
  const id = await scene.decide({
    query: 'What about Carla?',
    output: `Mind this: ${content}.`,
    retrieved_refs: [erased, kept, erased, 77_000_001],
    retrieved_contents: [content, 'Carla likes tea', 'has a heart condition', 'x'],
    retrieved_scores: [0.9, 0.8, 0.7, 0.6],
  })
  assert.equal((await scene.issue(erased)).status, 200)
  const replayed = await replay(id)
  assert.deepEqual(replayed.facts_since_deleted, [erased])
  assert.deepEqual(replayed.facts_used, [
    { ref: erased, content: MARKER, score: 0.9, state: 'erased' },
    { ref: kept, content: 'Carla likes tea', score: 0.8, state: 'live' },
    { ref: erased, content: MARKER, score: 0.7, state: 'erased' },
    { ref: 77_000_001, content: 'x', score: 0.6, state: 'unknown' },
  ])
  assert.equal(replayed.decision.output, `Mind this: ${MARKER}.`)
  assert.ok(!JSON.stringify(replayed).includes('heart condition'))
  const tomb = replayed.memory_state.find((memory: { ref: number }) => memory.ref === erased)
  assert.ok(tomb === undefined || (tomb.erased === true && tomb.content === null))
})

test('a label that is no store has no memory, a ref that is no fact stays unknown', async () => {
  const next = (await scene.write('the newest memory')) + 1
  const { body } = await scene.api('POST', '/v1/decisions/log', {
    store_id: 'nobody knows this store',
    model_id: 'm',
    query: 'q',
    output: 'o',
    retrieved_refs: [next],
    retrieved_contents: ['a label of the caller'],
  })
  assert.equal(await scene.write('takes the number'), next)
  const replayed = await replay(body.decision_id)
  assert.deepEqual(replayed.memory_state, [])
  assert.deepEqual(replayed.facts_used, [
    { ref: next, content: 'a label of the caller', score: null, state: 'unknown' },
  ])
  assert.equal((await scene.issue(next)).status, 200)
  const after = await replay(body.decision_id)
  assert.equal(after.facts_used[0].state, 'unknown')
  assert.deepEqual(after.facts_since_deleted, [])
})

test('a store of another tenant has no memory to show', async () => {
  const stranger = await scene.service.createTenant('stranger')
  const { body } = await scene.service.request('POST', '/v1/decisions/log', {
    key: stranger.api_key,
    body: { store_id: scene.store_id, model_id: 'm', query: 'q', output: 'o' },
  })
  const path = `/v1/decisions/${body.decision_id}/replay`
  const theirs = await scene.service.request('GET', path, { key: stranger.api_key })
  assert.deepEqual(theirs.body.memory_state, [])
})

test('the memory of a replay ends at 1,000 and says so', async () => {
  const big = await openScene()
  try {
    const items = (count: number) => Array.from({ length: count }, (_, i) => ({ content: `m${i}` }))
    const path = `/v1/stores/${big.store_id}/write_batch`
    assert.equal((await big.api('POST', path, { items: items(1000) })).status, 200)
    const full = await big.decide({ query: 'q', output: 'o' })
    await big.write('one more')
    const over = await big.decide({ query: 'q', output: 'o' })
    const seen = async (id: string) =>
      (await big.api('GET', `/v1/decisions/${id}/replay`)).body as {
        memory_state: unknown[]
        memory_state_truncated: boolean
      }
    assert.equal((await seen(full)).memory_state.length, 1000)
    assert.equal((await seen(full)).memory_state_truncated, false)
    assert.equal((await seen(over)).memory_state.length, 1000)
    assert.equal((await seen(over)).memory_state_truncated, true)
  } finally {
    await big.stop()
  }
})

test('replay of an unknown decision is decision_not_found', async () => {
  const { status, body } = await scene.api('GET', '/v1/decisions/none/replay')
  assert.equal(status, 404)
  assert.equal(body.error, 'decision_not_found')
})
