// Every text that is stored is offered to the policies: none is written past them or unredacted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPolicyScene, STORE } from './testing/policy-scene.ts'

const { ask, ok, policy, importLines } = openPolicyScene()

const SSN = '123-45-6789'

const guard = (check_fields: string[], redact: boolean) =>
  policy(
    'pii_guard',
    { patterns: ['\\b\\d{3}-\\d{2}-\\d{4}\\b'], check_fields, redact },
    redact ? { action: 'log_only' } : {},
  )

const decision = {
  store_id: 'default',
  model_id: 'm',
  query: 'q',
  output: 'o',
  session_id: `of ${SSN}`,
  parameters: { note: SSN, temperature: 0.5, deep: { list: [`${SSN}!`] } },
  retrieved_refs: [9_007],
  retrieved_contents: [`mine is ${SSN}`],
}

test('metadata is redacted, whichever way it is written', async () => {
  await guard(['metadata', 'content'], true)
  const metadata = { of: SSN, n: 1, deep: [`${SSN}\n`] }
  const { ref } = await ok('POST', `${STORE}/write`, { content: 'a', metadata })
  await ok('POST', `${STORE}/write`, { content: 'b', options: { metadata } })
  await ok('POST', `${STORE}/write_batch`, {
    items: [
      { content: 'c', metadata: { n: 1 } },
      { content: `d ${SSN}`, metadata },
    ],
  })
  await ok('POST', `${STORE}/supersede`, { old_ref: ref, content: 'e', metadata })
  assert.equal((await importLines([{ content: 'f', metadata }])).status, 200)
  const { memories } = await ok('GET', `${STORE}/memories?limit=100`)
  const kept = new Map<string, unknown>()
  for (const memory of memories) kept.set(memory.content, memory.metadata)
  const redacted = { of: '<REDACTED>', n: 1, deep: ['<REDACTED>\n'] }
  assert.deepEqual(kept.get('c'), { n: 1 })
  for (const content of ['b', 'd <REDACTED>', 'e', 'f'])
    assert.deepEqual(kept.get(content), redacted, content)
  assert.ok(!(await ask('GET', `${STORE}/export`)).text.includes(SSN))
})

test('metadata that a policy denies is written in no way', async () => {
  const { ref } = await ok('POST', `${STORE}/write`, { content: 'old' })
  await guard(['metadata'], false)
  const bad = { content: 'x', metadata: { [SSN]: 1 } }
  const answers = [
    await ask('POST', `${STORE}/write`, bad),
    await ask('POST', `${STORE}/write`, { content: 'x', options: { metadata: bad.metadata } }),
    await ask('POST', `${STORE}/write_batch`, { items: [{ content: 'fine' }, bad] }),
    await ask('POST', `${STORE}/supersede`, { ...bad, old_ref: ref }),
    await importLines([bad]),
  ]
  for (const { status, body } of answers)
    assert.deepEqual([status, body.error], [403, 'policy_denied'])
  await ok('POST', `${STORE}/write`, { content: 'no metadata' })
})

test('all texts of a decision are redacted, its numbers stay', async () => {
  await guard(['session_id', 'parameters', 'retrieved_contents'], true)
  const logged = await ok('POST', '/decisions/log', decision)
  const read = await ok('GET', `/decisions/${logged.decision_id}`)
  for (const shown of [logged, read]) {
    assert.equal(shown.session_id, 'of <REDACTED>')
    assert.deepEqual(shown.retrieved_contents, ['mine is <REDACTED>'])
    assert.deepEqual(shown.parameters, {
      note: '<REDACTED>',
      temperature: 0.5,
      deep: { list: ['<REDACTED>!'] },
    })
    assert.ok(!JSON.stringify(shown).includes(SSN))
  }
  const plain = { store_id: 'default', model_id: 'm', query: 'q', output: 'o' }
  assert.equal((await ok('POST', '/decisions/log', plain)).session_id, null)
})

test('each text of a decision can be denied', async () => {
  for (const field of ['session_id', 'parameters', 'retrieved_contents']) {
    const policy_id = await guard([field], false)
    const { status, body } = await ask('POST', '/decisions/log', decision)
    assert.deepEqual([status, body.error], [403, 'policy_denied'], field)
    assert.ok(body.reason.startsWith(field), body.reason)
    await ok('DELETE', `/governance/policies/${policy_id}`)
  }
  await ok('POST', '/decisions/log', decision)
})
