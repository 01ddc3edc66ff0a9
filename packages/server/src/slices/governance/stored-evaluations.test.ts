// What is kept of a request: no value of the caller's in clear, whatever it looks like.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPolicyScene } from './testing/policy-scene.ts'

/** They look like an id of a store, a ref, and the name of an operation. */
const PHONE = '491701234567'
const CARD = 4_111_111_111_111_111
const PERSON = 'jane.doe_ssn:123-45-6789'

const { ask, ok, policy, evaluate } = openPolicyScene()

/** The newest row, after a look that nothing of the caller's is in any answer that shows rows. */
async function kept() {
  const { text, body } = await ask('GET', '/governance/logs')
  const { text: crumbs } = await ask('GET', '/gcrumbs/breadcrumbs')
  for (const word of [PHONE, String(CARD), 'jane', '45-6789']) {
    assert.ok(!text.includes(word), word)
    assert.ok(!crumbs.includes(word), word)
  }
  return body.logs[0]
}

test('what is evaluated for a caller is kept under keyed hashes', async () => {
  await policy('model_allowlist', { models: ['x'] })
  const context = { model_id: PERSON, store_id: PHONE, tool_name: PHONE, ref: CARD }
  const { evaluations } = await evaluate({ operation: `custom.${PERSON}`, context })
  assert.equal(evaluations[0].operation, `custom.${PERSON}`)
  const { operation, request_summary, result } = await kept()
  assert.equal(result, 'denied')
  assert.match(operation, /^~[0-9a-f]{12}$/)
  const label = '~[0-9a-f]{12}'
  const parts = ['model', 'store', 'tool', 'ref'].map((name) => `${name}=${label}`).join(' ')
  assert.match(request_summary, new RegExp(`^op=${operation} ${parts}$`))
})

test('the same word has the same hash, so that rows can be told apart', async () => {
  await policy('model_allowlist', { models: ['x'] })
  const summary = async (store_id: string) => {
    await evaluate({ operation: 'custom.own', context: { store_id } })
    return (await kept()).request_summary
  }
  const first = await summary(PHONE)
  assert.equal(await summary(PHONE), first)
  assert.notEqual(await summary('0123456789ab'), first)
})

test('the store of a decision is a label of the caller', async () => {
  await policy('model_allowlist', { models: ['x'] })
  const decision = { store_id: PHONE, model_id: 'm', query: 'q', output: 'o' }
  assert.equal((await ask('POST', '/decisions/log', decision)).status, 403)
  assert.match((await kept()).request_summary, /^op=decisions.log model=~\S+ store=~\S+ query=1 /)
})

test('stores and refs of ours are shown; a ref that never was one is not', async () => {
  await policy('hitl_required', { operations: ['memory.delete'] }, { action: 'log_only' })
  const { store_id } = await ok('POST', '/stores', { name: 'mine' })
  const { ref } = await ok('POST', `/stores/${store_id}/write`, { content: 'x' })
  await ok('POST', `/stores/${store_id}/delete`, { ref })
  const erased = `op=memory.delete store=${store_id} ref=${ref}`
  assert.equal((await kept()).request_summary, erased)
  await ok('POST', `/stores/${store_id}/delete`, { ref })
  assert.equal((await kept()).request_summary, erased)
  await ok('POST', `/stores/${store_id}/delete`, { ref: CARD })
  assert.match((await kept()).request_summary, /^op=memory.delete store=\w+ ref=~[0-9a-f]{12}$/)
})

test('a number of tokens is kept up to a bound', async () => {
  await policy('token_budget', { max_tokens_per_request: 50 })
  const context = { tokens: CARD }
  await evaluate({ operation: 'inference', context })
  assert.equal((await kept()).detail, '100050 tokens, 50 are allowed')
})
