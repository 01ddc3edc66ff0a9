// Evaluations: what every policy says, what is kept of it, and in which order it is found again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { openPolicyScene } from './testing/policy-scene.ts'

const scene = openPolicyScene()
const { ask, policy } = scene

const evaluate = (operation: string, context: object, more: object = {}) =>
  scene.evaluate({ operation, context, ...more })

/** What the only policy says. */
async function said(operation: string, context: object) {
  const { evaluations } = await evaluate(operation, context)
  assert.equal(evaluations.length, 1)
  const [{ result, applicable, reason, detail }] = evaluations
  return { result, applicable, reason, detail }
}

const PASSED = { result: 'allowed', applicable: true, reason: null, detail: '' }
const UNCONCERNED = { result: 'allowed', applicable: false, reason: null, detail: '' }
const denied = (reason: string, detail: string) => ({
  result: 'denied',
  applicable: true,
  reason,
  detail,
})

test("'governance.evaluate' without policies allows and evaluates nothing", async () => {
  const body = await evaluate('inference', { model_id: 'm', query: 'q' })
  assert.deepEqual(
    [body.allowed, body.evaluations, body.logs, body.summary.total, body.evaluation_id],
    [true, [], [], 0, null],
  )
})

test('a model that is not listed is denied, and so is one that is missing', async () => {
  await policy('model_allowlist', { models: ['small'] })
  assert.deepEqual(await said('inference', { model_id: 'small', query: 'q' }), PASSED)
  const refused = denied('model_not_listed', 'the model is not on the list')
  assert.deepEqual(await said('inference', { model_id: 'large', query: 'q' }), refused)
  const missing = denied('missing_context', 'model_id is missing')
  assert.deepEqual(await said('inference', { query: 'q' }), missing)
  assert.deepEqual(await said('inference', { model_id: null, query: 'q' }), missing)
  assert.equal((await said('inference', { model_id: 7, query: 'q' })).reason, 'wrong_type')
  assert.deepEqual(await said('memory.write', { store_id: 's', content: 'c' }), UNCONCERNED)
  assert.deepEqual(await said('custom.something', { model_id: 'large' }), refused)
})

test('a content filter reads in any case, and does not concern what is absent', async () => {
  await policy('content_filter', { patterns: ['never', 'top\\s+secret'] })
  const found = denied('pattern_found', 'output matches pattern 2')
  assert.deepEqual(await said('output_check', { output: 'TOP \n Secret' }), found)
  assert.deepEqual(await said('output_check', { output: 'open' }), PASSED)
  assert.deepEqual(await said('output_check', {}), UNCONCERNED)
  const inObject = await said('output_check', { output: { deep: ['top secret'] } })
  assert.deepEqual(inObject, found)
  const long = await said('output_check', { output: 'x'.repeat(65_537) })
  assert.deepEqual(long, denied('field_too_long', 'output has 65537 bytes, 65536 can be read'))
  assert.deepEqual(await said('output_check', { output: 'x'.repeat(65_536) }), PASSED)
})

test('a store out of scope is denied', async () => {
  await policy('data_scope', { allowed_stores: ['one'] })
  assert.deepEqual(await said('memory.retrieve', { store_id: 'one', query: 'q' }), PASSED)
  assert.equal((await said('memory.retrieve', { store_id: 'two' })).reason, 'store_not_listed')
  assert.equal((await said('memory.retrieve', { query: 'q' })).reason, 'missing_context')
})

test('a token budget holds where tokens are told', async () => {
  await policy('token_budget', { max_tokens_per_request: 100 })
  assert.deepEqual(await said('inference', { model_id: 'm', tokens: 100 }), PASSED)
  assert.deepEqual(
    await said('inference', { model_id: 'm', tokens: 101 }),
    denied('over_budget', '101 tokens, 100 are allowed'),
  )
  assert.equal((await said('inference', { model_id: 'm', tokens: '1' })).reason, 'wrong_type')
  assert.deepEqual(await said('inference', { model_id: 'm' }), UNCONCERNED)
})

test('hitl_required honours its action, operations and tools', async () => {
  const config = { operations: ['tool_execution'], tools: ['pay'] }
  const policy_id = await policy('hitl_required', config)
  assert.equal((await said('tool_execution', { tool_name: 'pay' })).result, 'escalated')
  assert.equal((await said('tool_execution', { tool: 'pay' })).result, 'escalated')
  assert.deepEqual(await said('tool_execution', { tool_name: 'read' }), PASSED)
  assert.equal((await said('tool_execution', {})).reason, 'missing_context')
  assert.deepEqual(await said('inference', { tool_name: 'pay' }), UNCONCERNED)
  await ask('PUT', `/governance/policies/${policy_id}`, { action: 'log_only' })
  assert.equal((await said('tool_execution', { tool_name: 'pay' })).result, 'logged')
})

test('hitl_required may ask for some effects and origins only', async () => {
  const operations = ['tool_execution']
  await policy('hitl_required', { operations, effects: ['once'], origins: ['tool:*', 'memory'] })
  const call = (effect: unknown, context_origins: unknown) =>
    said('tool_execution', { tool_name: 'pay', effect, context_origins })
  assert.equal((await call('once', ['caller', 'tool:search'])).result, 'escalated')
  assert.equal((await call('once', ['memory'])).result, 'escalated')
  assert.equal((await call(null, ['tool:search'])).result, 'escalated')
  assert.deepEqual(await call('once', ['caller', 'model', 'tooling']), PASSED)
  assert.deepEqual(await call('once', null), PASSED)
  assert.deepEqual(await call('read', ['tool:search']), PASSED)
  assert.equal((await call('once', 'tool:search')).reason, 'wrong_type')
  assert.equal((await call('twice', ['tool:search'])).reason, 'wrong_type')
  assert.deepEqual(await said('inference', { context_origins: ['tool:search'] }), UNCONCERNED)
})

test('a PII guard names the field and says nothing of what it found', async () => {
  await policy('pii_guard', { patterns: ['\\b\\d{16}\\b'], check_fields: ['query', 'output'] })
  const found = await said('inference', { model_id: 'm', query: 'card 4111111111111111' })
  assert.equal(found.reason, 'personal_data')
  assert.ok(found.detail.startsWith('query holds personal data'))
  assert.ok(!JSON.stringify(found).includes('4111'))
  assert.deepEqual(await said('inference', { model_id: 'm' }), UNCONCERNED)
})

test('recognisers find personal data by name, in more text than patterns may read', async () => {
  const entities = ['CREDIT_CARD', 'EMAIL_ADDRESS']
  await policy('pii_guard', { entities })
  const found = await said('output_check', { output: 'write to jane@example.com' })
  assert.deepEqual(
    found,
    denied('personal_data', 'output holds personal data: EMAIL_ADDRESS (1 found)'),
  )
  assert.deepEqual(await said('output_check', { output: 'card 4111111111111112' }), PASSED)
  const text = 'nothing here. '.repeat(70_000)
  const [edge, beyond] = [text.slice(0, 1_048_576), 'x'.repeat(1_048_577)]
  assert.deepEqual(await said('output_check', { output: edge }), PASSED)
  assert.equal((await said('output_check', { output: beyond })).reason, 'field_too_long')
})

test('constraints judge parameters and are not led around', async () => {
  await policy('world_model_constraint', {
    require_params: ['amount'],
    for_actions: ['pay'],
    deny_if: {
      action: 'pay',
      params_has: [
        { list_path: 'order.lines', match_all: [{ field: 'price', operator: '>', value: 100 }] },
      ],
    },
  })
  const op = 'worldmodel.action.pay'
  const pay = (params: unknown) => said(op, { action: 'pay', params })
  assert.equal((await pay({})).reason, 'parameter_missing')
  assert.equal((await pay({ amount: '' })).reason, 'parameter_missing')
  assert.deepEqual(await pay({ amount: 0 }), PASSED)
  const lines = (...prices: unknown[]) => ({
    amount: 1,
    order: { lines: prices.map((price) => ({ price })) },
  })
  assert.deepEqual(await pay(lines(99, 100)), PASSED)
  assert.equal((await pay(lines(99, 101))).reason, 'parameters_refused')
  assert.equal((await pay(lines('1000000'))).reason, 'wrong_type')
  assert.equal((await pay({ amount: 1, order: { lines: { price: 500 } } })).reason, 'wrong_type')
  assert.equal((await said(op, { action: 'pay' })).reason, 'missing_context')
  assert.deepEqual(await said(op, { action: 'read', params: {} }), PASSED)
  assert.deepEqual(await said('inference', { model_id: 'm' }), UNCONCERNED)
})

test('a tool is denied by name or by a pattern of the whole name', async () => {
  await policy('tool_deny', { denied_tools: ['shell', 'net\\..*'] })
  assert.equal((await said('tool_execution', { tool_name: 'net.send' })).reason, 'tool_denied')
  assert.equal((await said('tool_execution', { tool_name: 'shell' })).result, 'denied')
  assert.deepEqual(await said('tool_execution', { tool_name: 'my.net.send' }), PASSED)
  assert.deepEqual(await said('tool_execution', { tool_name: 'SHELL' }), PASSED)
  assert.equal((await said('tool_execution', {})).reason, 'missing_context')
})

test('a denial beats an escalation, in the order of priority, with the summary', async () => {
  await policy('hitl_required', { operations: ['inference'] }, { priority: 1, name: 'ask' })
  await policy('model_allowlist', { models: ['x'] }, { priority: 2, name: 'deny' })
  await policy('content_filter', { patterns: ['q'] }, { priority: 3, action: 'log_only' })
  await policy('tool_deny', { denied_tools: ['q'] }, { priority: 4 })
  const body = await evaluate('inference', { model_id: 'm', query: 'q' })
  assert.equal(body.verdict, 'denied')
  assert.equal(body.allowed, false)
  assert.equal(body.escalated, false)
  assert.deepEqual(body.summary, { total: 4, allowed: 1, denied: 1, escalated: 1, logged: 1 })
  assert.deepEqual(
    body.logs.map(({ result }: { result: string }) => result),
    ['escalated', 'denied', 'logged', 'allowed'],
  )
  assert.deepEqual(Object.keys(body.logs[0]), [
    'policy_name',
    'policy_type',
    'action',
    'result',
    'detail',
  ])
  const asked = await evaluate('inference', { model_id: 'x' })
  assert.deepEqual([asked.verdict, asked.escalated], ['escalated', true])
})

test('a disabled policy says nothing, and a change holds for the next request', async () => {
  const policy_id = await policy('model_allowlist', { models: ['x'] })
  assert.equal((await evaluate('inference', { model_id: 'm' })).allowed, false)
  await ask('PUT', `/governance/policies/${policy_id}`, { enabled: false })
  assert.equal((await evaluate('inference', { model_id: 'm' })).allowed, true)
  await ask('PUT', `/governance/policies/${policy_id}`, {
    enabled: true,
    config: { models: ['m'] },
  })
  assert.equal((await evaluate('inference', { model_id: 'm' })).summary.total, 1)
  await ask('DELETE', `/governance/policies/${policy_id}`)
  assert.equal((await evaluate('inference', { model_id: 'm' })).summary.total, 0)
})

test("'governance.logs' shows each outcome as it was answered, newest first", async () => {
  const first = await policy('model_allowlist', { models: ['x'] }, { priority: 1 })
  await policy('content_filter', { patterns: ['q'] }, { priority: 2, action: 'log_only' })
  const answers = []
  for (const model_id of ['x', 'y', 'x'])
    answers.push(await evaluate('inference', { model_id, query: 'q' }))
  const expected = answers.toReversed().flatMap(({ evaluations }) => evaluations.toReversed())
  const byRow = answers.toReversed().flatMap(({ evaluations }) => evaluations)
  assert.equal(expected.length, 6)
  const { logs, count } = (await ask('GET', '/governance/logs')).body
  assert.deepEqual(logs, byRow)
  assert.equal(count, 6)
  const query = async (text: string) => (await ask('GET', `/governance/logs?${text}`)).body
  assert.deepEqual((await query(`policy_id=${first}`)).logs, [byRow[0], byRow[2], byRow[4]])
  assert.deepEqual((await query('result=denied')).logs, [byRow[2]])
  assert.deepEqual((await query('result=logged')).count, 3)
  assert.deepEqual((await query('result=allowed')).logs, [byRow[0], byRow[4]])
  assert.deepEqual((await query(`result=logged&policy_id=${first}`)).logs, [])
  assert.deepEqual((await query('limit=2&offset=1')).logs, byRow.slice(1, 3))
  assert.deepEqual((await query(`policy_id=${'0'.repeat(24)}`)).logs, [])

  const walked = []
  let cursor = ''
  for (let pages = 0; pages < 10; pages += 1) {
    const page = await query(`limit=1${cursor}`)
    walked.push(...page.logs)
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  assert.deepEqual(walked, byRow)
  const text = Buffer.from(cursor.slice('&cursor='.length), 'base64url').toString()
  const foreign = Buffer.from(text.replace('.logs', '.list')).toString('base64url')
  for (const refused of ['nonsense', foreign])
    assert.equal((await query(`cursor=${refused}`)).error, 'rejected', refused)
})

test('a log keeps the name and words a policy had at the time', async () => {
  const policy_id = await policy('model_allowlist', { models: ['x'] }, { name: 'Before' })
  await evaluate('inference', { model_id: 'y' })
  await ask('PUT', `/governance/policies/${policy_id}`, { name: 'After' })
  await evaluate('inference', { model_id: 'y' })
  await ask('DELETE', `/governance/policies/${policy_id}`)
  const { logs } = (await ask('GET', `/governance/logs?policy_id=${policy_id}`)).body
  assert.deepEqual(
    logs.map(({ policy_name }: { policy_name: string }) => policy_name),
    ['After', 'Before'],
  )
})

test('nothing of the context is kept but lengths and keyed hashes', async () => {
  await policy('model_allowlist', { models: ['x'] })
  const context = { model_id: 'jane-doe-model', store_id: 'jane-doe', query: 'jane doe asks' }
  const [log] = (await evaluate('inference', context)).evaluations
  assert.match(
    log.request_summary,
    /^op=inference model=~[0-9a-f]{12} store=~[0-9a-f]{12} query=13 chars$/,
  )
  assert.ok(!JSON.stringify(log).includes('jane'))
})

test('a dry run counts nothing and keeps nothing', async () => {
  await policy('rate_limit', { max_requests: 1 })
  for (let i = 0; i < 3; i += 1) {
    const body = await evaluate('inference', {}, { dry_run: true })
    assert.deepEqual([body.allowed, body.dry_run, body.evaluation_id], [true, true, null])
    assert.equal(body.evaluations[0].log_id, null)
  }
  assert.equal((await evaluate('inference', {})).allowed, true)
  assert.equal((await evaluate('inference', {})).allowed, false)
  assert.equal((await evaluate('inference', {}, { dry_run: true })).allowed, false)
  assert.equal((await ask('GET', '/governance/logs')).body.count, 2)
})

test('policies, and what was answered, are there after a restart', async () => {
  const first = await startTestService()
  const { api_key } = await first.createTenant()
  const asking = (on: TestService, method: string, path: string, body?: unknown) =>
    on.request(method, `/v1/governance${path}`, { key: api_key, ...(body ? { body } : {}) })
  const config = { models: ['x'] }
  const made = { name: 'Models', policy_type: 'model_allowlist', config }
  await asking(first, 'POST', '/policies', made)
  const request = { operation: 'inference', context: { model_id: 'x' } }
  const { body: answered } = await asking(first, 'POST', '/evaluate', request)
  await first.stop({ keep: true })
  const second = await startTestService({ data_dir: first.data_dir })
  try {
    const { body } = await asking(second, 'GET', '/logs')
    assert.deepEqual(body.logs, answered.evaluations)
    const other = { operation: 'inference', context: { model_id: 'y' } }
    assert.equal((await asking(second, 'POST', '/evaluate', other)).body.allowed, false)
  } finally {
    await second.stop()
  }
})

test("'governance.stats' adds up under every name", async () => {
  await policy('model_allowlist', { models: ['x'] }, { name: 'Models' })
  await policy('hitl_required', { operations: ['inference'] }, { name: 'Ask' })
  await evaluate('inference', { model_id: 'x' })
  await evaluate('inference', { model_id: 'y' })
  await evaluate('output_check', { output: 'o' })
  const { body } = await ask('GET', '/governance/stats')
  const { evaluations_by_type, ...numbers } = body
  assert.deepEqual(evaluations_by_type, { Ask: 3, Models: 3 })
  assert.deepEqual(numbers, {
    policies_total: 2,
    policies_active: 2,
    evaluations_total: 6,
    denials_total: 1,
    escalations_total: 2,
    total_policies: 2,
    active_policies: 2,
    total_evaluations: 6,
    denials: 1,
    escalations: 2,
    evaluations_denied: 1,
    evaluations_escalated: 2,
  })
})

test('of more than eight names the rest is Other, and the sum is the total', async () => {
  for (let i = 0; i < 10; i += 1)
    await policy('tool_deny', { denied_tools: ['x'] }, { name: `Policy ${i}` })
  await evaluate('tool_execution', { tool_name: 'y' })
  const { evaluations_by_type, evaluations_total } = (await ask('GET', '/governance/stats')).body
  assert.equal(Object.keys(evaluations_by_type).length, 9)
  assert.equal(evaluations_by_type.Other, 2)
  assert.equal(evaluations_total, 10)
})

test('denials and escalations are on the log when answered, allowances are not', async () => {
  const policy_id = await policy('model_allowlist', { models: ['x'] })
  const asking = await policy('hitl_required', { operations: ['output_check', 'custom.own'] })
  const refused = await evaluate('inference', { model_id: 'y' })
  await evaluate('inference', { model_id: 'x' })
  const waiting = await evaluate('output_check', { output: 'o' })
  const own = await evaluate('custom.own', {})
  const { body } = await ask('GET', '/gcrumbs/breadcrumbs')
  const crumbs = body.breadcrumbs.filter(({ event_type }: { event_type: string }) =>
    event_type.startsWith('evaluation.'),
  )
  const entry = (policy_of: string, result: string, reason: string) => [
    { policy_id: policy_of, version: 1, result, reason },
  ]
  assert.deepEqual(
    crumbs.map((c: { event_type: string; subject: string; payload: { policies: object } }) => [
      c.event_type,
      c.subject,
      c.payload.policies,
    ]),
    [
      ['evaluation.denied', refused.evaluation_id, entry(policy_id, 'denied', 'model_not_listed')],
      [
        'evaluation.escalated',
        waiting.evaluation_id,
        entry(asking, 'escalated', 'approval_needed'),
      ],
      ['evaluation.escalated', own.evaluation_id, entry(asking, 'escalated', 'approval_needed')],
    ],
  )
  assert.equal(crumbs[0].payload.operation, 'inference')
  assert.match(crumbs[2].payload.operation, /^[0-9a-f]{64}$/)
})
