// Asking again under one key, asking on behalf of others, and asking about what is not there.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPolicyScene } from './testing/policy-scene.ts'

const { ask, policy, evaluate } = openPolicyScene()

const logged = async (): Promise<number> => (await ask('GET', '/governance/logs')).body.count

describe('a retry under one key', () => {
  const headers = { 'idempotency-key': 'evaluate-once' }
  const request = { operation: 'custom.own', context: { model_id: 'y' } }

  test('is told what the first request was told, and is kept once', async () => {
    await policy('model_allowlist', { models: ['x'] })
    const first = await evaluate(request, headers)
    assert.deepEqual([first.allowed, first.evaluations[0].operation], [false, 'custom.own'])
    assert.deepEqual(await evaluate(request, headers), first)
    assert.equal(await logged(), 1)
  })

  test('is led around no policy made or deleted since', async () => {
    assert.equal((await evaluate(request, headers)).evaluation_id, null)
    const policy_id = await policy('model_allowlist', { models: ['x'] })
    const denied = await evaluate(request, headers)
    assert.equal(denied.verdict, 'denied')
    assert.match(denied.evaluation_id, /^[0-9a-f]{20}$/)
    assert.equal(await logged(), 1)
    await ask('PUT', `/governance/policies/${policy_id}`, { config: { models: ['y'] } })
    const allowed = await evaluate(request, headers)
    assert.deepEqual([allowed.verdict, await logged()], ['allowed', 2])
    await ask('DELETE', `/governance/policies/${policy_id}`)
    assert.equal((await evaluate(request, headers)).evaluation_id, null)
  })

  test('is led around no policy that was changed after it was allowed', async () => {
    const policy_id = await policy('model_allowlist', { models: ['y'] })
    const first = await evaluate(request, headers)
    await ask('PUT', `/governance/policies/${policy_id}`, { config: { models: ['x'] } })
    const second = await evaluate(request, headers)
    assert.deepEqual([first.verdict, second.verdict], ['allowed', 'denied'])
    assert.notEqual(second.evaluation_id, first.evaluation_id)
    const { logs } = (await ask('GET', '/governance/logs?result=denied')).body
    assert.equal(logs[0].log_id, second.evaluations[0].log_id)
    await ask('PUT', `/governance/policies/${policy_id}`, {
      name: 'again',
      config: { models: ['y'] },
    })
    const third = await evaluate(request, headers)
    assert.deepEqual([third.verdict, third.evaluations[0].policy_name], ['allowed', 'again'])
    assert.ok(third.policy_set > second.policy_set)
  })

  test('counts towards a rate limit like any other', async () => {
    await policy('rate_limit', { max_requests: 2 })
    const verdicts = []
    for (let i = 0; i < 3; i += 1) verdicts.push((await evaluate(request, headers)).verdict)
    assert.deepEqual(verdicts, ['allowed', 'allowed', 'denied'])
    assert.equal(await logged(), 2)
  })
})

describe('a limit of an operation with a gate', () => {
  const WRITE = '/stores/default/write'
  const max_requests = 2

  test('is not used up by evaluations, whoever asks', async () => {
    await policy('rate_limit', { max_requests, operations: ['memory.write'] })
    const context = { store_id: 'default', content: 'x' }
    for (let i = 0; i < 4; i += 1)
      assert.equal((await evaluate({ operation: 'memory.write', context })).allowed, true)
    for (let i = 0; i < 2; i += 1)
      assert.equal((await ask('POST', WRITE, { content: 'x' })).status, 200)
    assert.equal((await ask('POST', WRITE, { content: 'x' })).status, 429)
    assert.equal((await evaluate({ operation: 'memory.write', context })).allowed, false)
  })

  test('one that callers alone ask about is counted there', async () => {
    await policy('rate_limit', { max_requests })
    const verdicts = []
    for (const operation of ['inference', 'output_check', 'custom.constructor'])
      verdicts.push((await evaluate({ operation, context: {} })).allowed)
    assert.deepEqual(verdicts, [true, true, false])
  })
})

test('a store that is not there is 404, asks no policy and counts towards no limit', async () => {
  await policy('rate_limit', { max_requests: 1 })
  const none = '/stores/0123456789ab'
  const content = { content: 'x' }
  const answers = [
    await ask('POST', `${none}/write`, content),
    await ask('POST', `${none}/write_batch`, { items: [content] }),
    await ask('POST', `${none}/supersede`, { old_ref: 1, ...content }),
    await ask('POST', `${none}/retrieve`, { query: 'x' }),
    await ask('POST', `${none}/delete`, { ref: 1 }),
    await ask('DELETE', none),
  ]
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.error]),
    answers.map(() => [404, 'store_not_found']),
  )
  assert.equal(await logged(), 0)
  assert.equal((await ask('POST', '/stores/default/write', content)).status, 200)
  assert.equal((await ask('POST', '/stores/default/write', content)).status, 429)
})
