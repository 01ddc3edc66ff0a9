// The gate in front of the service's own operations: nothing passes that a policy holds up.

import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { gate, gateItems } from './index.ts'
import { openPolicyScene, STORE } from './testing/policy-scene.ts'

const scene = openPolicyScene()
const { ask, ok, policy } = scene

const decision = { store_id: 'default', model_id: 'm', query: 'q', output: 'o' }
const importing = (content: string) => scene.importLines([{ content: 'fine' }, { content }])

const contents = async (): Promise<string[]> =>
  (await ok('GET', `${STORE}/memories?limit=1000`)).memories.map(
    ({ content }: { content: string }) => content,
  )

test('a denial names the policy and the reason, and nothing was written', async () => {
  const policy_id = await policy('content_filter', {
    patterns: ['forbidden'],
    check_fields: ['content'],
  })
  const { status, body } = await ask('POST', `${STORE}/write`, { content: 'a Forbidden word' })
  const about = {
    policy_id,
    name: 'a content_filter',
    reason: 'content matches pattern 1',
  }
  assert.equal(status, 403)
  assert.equal(body.error, 'policy_denied')
  assert.deepEqual(body.detail, about)
  assert.deepEqual({ policy_id: body.policy_id, name: body.name, reason: body.reason }, about)
  assert.deepEqual(
    body.policies,
    [{ policy_id, name: about.name }],
    'ids and names, and nothing else',
  )
  assert.deepEqual(await contents(), [])
})

test('no way of writing leads around a filter of contents', async () => {
  const { ref } = await ok('POST', `${STORE}/write`, { content: 'old' })
  await policy('content_filter', { patterns: ['forbidden'], check_fields: ['content'] })
  const bad = 'forbidden'
  const answers = [
    await ask('POST', `${STORE}/write`, { content: bad }),
    await ask('POST', `${STORE}/write_batch`, { items: [{ content: 'fine' }, { content: bad }] }),
    await ask('POST', `${STORE}/supersede`, { old_ref: ref, content: bad }),
    await importing(bad),
  ]
  for (const { status, body } of answers)
    assert.deepEqual([status, body.error], [403, 'policy_denied'])
  assert.deepEqual(await contents(), ['old'])
  assert.equal((await importing('well')).status, 200)
})

test('an escalation where nothing can wait is 403, and a denial beats it', async () => {
  const operations = ['memory.retrieve']
  await policy('hitl_required', { operations }, { priority: 1 })
  const escalated = await ask('POST', `${STORE}/retrieve`, { query: 'q' })
  assert.deepEqual([escalated.status, escalated.body.error], [403, 'approval_required'])
  await policy('hitl_required', { operations }, { action: 'deny', priority: 2, name: 'No' })
  const denied = await ask('POST', `${STORE}/retrieve`, { query: 'q' })
  assert.deepEqual([denied.body.error, denied.body.name], ['policy_denied', 'No'])
})

test('stores out of scope are neither read, written nor deleted from', async () => {
  const { ref } = await ok('POST', `${STORE}/write`, { content: 'kept' })
  await policy('data_scope', { allowed_stores: ['another'] })
  for (const [path, body] of [
    [`${STORE}/write`, { content: 'x' }],
    [`${STORE}/retrieve`, { query: 'x' }],
    [`${STORE}/delete`, { ref }],
    ['/decisions/log', decision],
  ] as const)
    assert.equal((await ask('POST', path, body)).body.error, 'policy_denied', path)
  assert.equal((await ask('DELETE', STORE)).body.error, 'policy_denied')
  assert.deepEqual(await contents(), ['kept'])
})

test('erasure at the request of the data subject is no policy’s business', async () => {
  const { ref } = await ok('POST', `${STORE}/write`, { content: 'mine' })
  await policy('hitl_required', { operations: ['memory.delete'] }, { action: 'deny' })
  assert.equal((await ask('POST', `${STORE}/delete`, { ref })).status, 403)
  assert.equal((await ok('POST', '/erasure/issue', { fact_ref: ref })).outcome, 'erased')
})

test('a model that is not listed logs no decision', async () => {
  await policy('model_allowlist', { models: ['m'] })
  await ok('POST', '/decisions/log', decision)
  const refused = await ask('POST', '/decisions/log', { ...decision, model_id: 'other' })
  assert.equal(refused.body.error, 'policy_denied')
  assert.equal((await ok('GET', '/decisions')).count, 1)
})

describe('personal data is redacted before it is stored', () => {
  const CARD = '4111111111111111'

  beforeEach(() =>
    policy(
      'pii_guard',
      {
        patterns: ['\\b\\d{16}\\b'],
        check_fields: ['content', 'query', 'output'],
        redact: true,
      },
      { action: 'log_only' },
    ),
  )

  test('in memories, whichever way they are written', async () => {
    const first = await ok('POST', `${STORE}/write`, { content: `card ${CARD} of é😀` })
    await ok('POST', `${STORE}/write_batch`, { items: [{ content: 'none' }, { content: CARD }] })
    await ok('POST', `${STORE}/supersede`, { old_ref: first.ref, content: `new ${CARD}` })
    assert.equal((await importing(`imported ${CARD}!`)).status, 200)
    const stored = await contents()
    assert.deepEqual(stored.toSorted(), [
      '<REDACTED>',
      'card <REDACTED> of é😀',
      'fine',
      'imported <REDACTED>!',
      'new <REDACTED>',
      'none',
    ])
    const { text } = await ask('GET', `${STORE}/audit`)
    assert.ok(!text.includes(CARD))
  })

  test('in decisions, and what was found is in the log of policies as a number', async () => {
    const body = { ...decision, query: `pay with ${CARD}`, output: `${CARD} was charged` }
    const logged = await ok('POST', '/decisions/log', body)
    assert.deepEqual(
      [logged.query, logged.output],
      ['pay with <REDACTED>', '<REDACTED> was charged'],
    )
    const { text, body: kept } = await ask('GET', '/governance/logs')
    assert.equal(kept.logs[0].result, 'logged')
    assert.ok(!text.includes(CARD))
  })
})

test('recognised personal data is replaced by the name of what it is', async () => {
  const config = { entities: ['EMAIL_ADDRESS'], check_fields: ['content'], redact: true }
  await policy('pii_guard', config, { action: 'log_only' })
  await ok('POST', `${STORE}/write`, { content: 'Mail jane@example.com, not 4111111111111111' })
  assert.deepEqual(await contents(), ['Mail <EMAIL_ADDRESS>, not 4111111111111111'])
})

test('a batch is one evaluation, and one request to a rate limit', async () => {
  await policy('rate_limit', { max_requests: 2, operations: ['memory.write'] })
  await ok('POST', `${STORE}/write_batch`, { items: [{ content: 'a' }, { content: 'b' }] })
  await ok('POST', `${STORE}/write`, { content: 'c' })
  const refused = await ask('POST', `${STORE}/write`, { content: 'd' })
  assert.equal(refused.body.error, 'rate_limited')
  await ok('POST', `${STORE}/retrieve`, { query: 'a' })
  const { logs } = await ok('GET', '/governance/logs')
  assert.deepEqual(
    logs.map(({ request_summary }: { request_summary: string }) => request_summary),
    [
      'op=memory.retrieve store=default query=1 chars',
      'op=memory.write store=default content=1 chars',
      'op=memory.write store=default content=1 chars',
      'op=memory.write items=2 store=default content=2 chars',
    ],
  )
})

test('a rate limit answers 429 and says when to come back; another denial stays 403', async () => {
  const quota = await policy('rate_limit', { max_requests: 1, operations: ['memory.write'] })
  await policy('content_filter', { patterns: ['forbidden'] })
  await ok('POST', `${STORE}/write`, { content: 'a' })
  const { status, body, headers } = await ask('POST', `${STORE}/write`, { content: 'b' })
  assert.deepEqual([status, body.error], [429, 'rate_limited'])
  assert.deepEqual([body.quota, body.limit, body.window_s], [quota, 1, 60])
  const wait = headers.get('retry-after') ?? ''
  assert.match(wait, /^[1-9][0-9]?$/)
  assert.ok(Number(wait) <= 61, wait)
  assert.equal(headers.get('ratelimit-policy'), `"${quota}";q=1;w=60`)
  assert.equal(headers.get('ratelimit'), `"${quota}";r=0;t=${wait}`)
  const both = await ask('POST', `${STORE}/write`, { content: 'forbidden' })
  assert.deepEqual([both.status, both.body.error], [403, 'policy_denied'])
  assert.equal(both.headers.get('retry-after'), null)
  assert.equal((await scene.evaluate({ operation: 'memory.write' })).verdict, 'denied')
})

test("'governance.evaluate' and policies know both names of one, and no typo", async () => {
  await policy('hitl_required', { operations: ['artifact.register', 'custom.deploy'] })
  const verdict = async (operation: string) => {
    const { verdict, evaluations } = await scene.evaluate({ operation })
    return [verdict, evaluations[0].operation]
  }
  const escalated = ['escalated', 'artifacts.register']
  assert.deepEqual(await verdict('artifacts.register'), escalated)
  assert.deepEqual(await verdict('artifact.register'), escalated)
  assert.deepEqual(await verdict('custom.deploy'), ['escalated', 'custom.deploy'])
  assert.deepEqual(await verdict('inference'), ['allowed', 'inference'])
  const typo = await ask('POST', '/governance/evaluate', { operation: 'memory.wirte' })
  assert.equal(typo.status, 422)
  assert.deepEqual(typo.body.detail[0].loc, ['body', 'operation'])
  assert.match(typo.body.detail[0].msg, /did you mean `memory.write`/)
})

test('a filter with default fields reads what memory operations carry', async () => {
  await policy('content_filter', { patterns: ['hunter2'] })
  const secret = 'password: hunter2'
  const item = { old_ref: 1, content: secret }
  const refused = async (path: string, body: object) => {
    const answer = await ask('POST', `${STORE}/${path}`, body)
    assert.deepEqual([answer.status, answer.body.error], [403, 'policy_denied'], path)
  }
  await ok('POST', `${STORE}/write`, { content: 'a harmless note' })
  await refused('write', { content: secret })
  await refused('write', { content: 'a', metadata: { note: secret } })
  await refused('write', { content: 'a', options: { metadata: { [secret]: true } } })
  await refused('write_batch', { items: [{ content: 'a' }, { content: secret }] })
  await refused('supersede', item)
  await refused('retrieve', { query: secret })
  const imported = await scene.importLines([{ content: 'a', metadata: { note: secret } }])
  assert.deepEqual([imported.status, imported.body.error], [403, 'policy_denied'])
  assert.deepEqual(await contents(), ['a harmless note'])
})

test('the gate tells approvals what they need, and a dry run leaves no trace', async () => {
  const policy_id = await policy('hitl_required', { operations: ['landing.issue'] })
  const { policy_set } = (await ok('GET', `/governance/policies/${policy_id}`)).history[0]
  const call = { kernel: scene.service.kernel, tenant_id: scene.tenant_id, principal: {} }
  const looked = await gate(call, 'landing.issue', {}, { dry_run: true })
  const gated = await gate(call, 'landing.issue', {})
  assert.equal(gated.verdict, 'escalated')
  assert.equal(gated.policy_set, policy_set)
  assert.deepEqual(gated.policies, looked.policies)
  assert.equal(gated.exceeded, null)
  assert.deepEqual(gated.policies, [
    {
      policy_id,
      version: 1,
      name: 'a hitl_required',
      policy_type: 'hitl_required',
      action: 'escalate',
      result: 'escalated',
      applicable: true,
      reason: 'approval_needed',
      detail: 'a person has to approve this',
    },
  ])
  assert.equal((await ok('GET', '/governance/logs')).count, 1)
  const none = await gateItems(call, 'memory.write', [])
  assert.equal(none.verdict, 'allowed')
})
