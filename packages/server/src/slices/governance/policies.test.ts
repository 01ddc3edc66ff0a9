// Policies: made, changed and deleted with their versions, validated by the schema of their type.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPolicyScene } from './testing/policy-scene.ts'

const scene = openPolicyScene()
const { ask } = scene

const SHORT_LIST = { policy_type: 'model_allowlist', config: { models: ['small'] } }

test("'governance.create_policy' answers the policy with its defaults", async () => {
  const { status, body } = await ask('POST', '/governance/policies', {
    name: 'Only small',
    ...SHORT_LIST,
  })
  assert.equal(status, 200)
  const { policy_id, created_at, updated_at, changed_by, ...rest } = body
  assert.match(policy_id, /^[0-9a-f]{24}$/)
  assert.equal(created_at, updated_at)
  assert.match(changed_by, /^[0-9a-f]{24}$/)
  assert.deepEqual(rest, {
    name: 'Only small',
    description: '',
    policy_type: 'model_allowlist',
    action: 'deny',
    config: { models: ['small'] },
    priority: 100,
    enabled: true,
    version: 1,
  })
  // 'governance.list_policies'
  const listed = await ask('GET', '/governance/policies')
  assert.deepEqual(listed.body.policies, [body])
  assert.equal(listed.body.count, 1)
})

test('approval is what hitl_required asks for unless it says otherwise', async () => {
  const config = { operations: ['inference'] }
  const body = { name: 'Ask', policy_type: 'hitl_required', config }
  assert.equal((await ask('POST', '/governance/policies', body)).body.action, 'escalate')
  assert.equal(
    (await ask('POST', '/governance/policies', { ...body, action: 'deny' })).body.action,
    'deny',
  )
})

describe('a configuration that is not one is refused, on create and on update alike', () => {
  const cases: readonly (readonly [string, object, readonly (string | number)[], string])[] = [
    ['rate_limit', { max_requests: 0 }, ['max_requests'], 'greater_than_equal'],
    ['rate_limit', { max_request: 5 }, ['max_request'], 'extra_forbidden'],
    ['model_allowlist', {}, ['models'], 'missing'],
    ['model_allowlist', { models: [] }, ['models'], 'too_short'],
    ['content_filter', { patterns: ['('] }, ['patterns', 0], 'string_pattern_mismatch'],
    ['content_filter', { patterns: ['a', '(?=b)'] }, ['patterns', 1], 'string_pattern_mismatch'],
    ['content_filter', { patterns: ['a{1001}'] }, ['patterns', 0], 'string_pattern_mismatch'],
    ['content_filter', { patterns: ['(a{100}){9}'] }, ['patterns', 0], 'string_pattern_mismatch'],
    ['data_scope', { allowed_stores: 'default' }, ['allowed_stores'], 'list_type'],
    ['token_budget', { max_tokens_per_request: 1.5 }, ['max_tokens_per_request'], 'int_type'],
    ['rate_limit', { operations: ['memory.wirte'] }, ['operations', 0], 'enum'],
    ['hitl_required', { operations: ['inference', 'deploy'] }, ['operations', 1], 'enum'],
    ['hitl_required', {}, ['operations'], 'too_short'],
    ['hitl_required', { operations: [], tools: [] }, ['operations'], 'too_short'],
    ['pii_guard', {}, ['entities'], 'too_short'],
    ['pii_guard', { entities: ['NO_SUCH_THING'] }, ['entities', 0], 'enum'],
    ['pii_guard', { patterns: ['['] }, ['patterns', 0], 'string_pattern_mismatch'],
    ['world_model_constraint', {}, ['require_params'], 'too_short'],
    [
      'world_model_constraint',
      { deny_if: { params_has: [{ list_path: 'a', match_all: [operatorOf('=~')] }] } },
      ['deny_if', 'params_has', 0, 'match_all', 0, 'operator'],
      'enum',
    ],
    ['tool_deny', { denied_tools: ['*'] }, ['denied_tools', 0], 'string_pattern_mismatch'],
  ]
  for (const [policy_type, config, at, type] of cases)
    test(`${policy_type} ${JSON.stringify(config)}`, async () => {
      const made = await ask('POST', '/governance/policies', { name: 'x', policy_type, config })
      assert.equal(made.status, 422, made.text)
      assert.deepEqual(made.body.detail[0].loc, ['body', 'config', ...at])
      assert.equal(made.body.detail[0].type, type)
      const good = { name: 'x', policy_type, config: GOOD[policy_type] }
      const { policy_id } = (await ask('POST', '/governance/policies', good)).body
      const changed = await ask('PUT', `/governance/policies/${policy_id}`, { config })
      assert.equal(changed.status, 422)
      assert.deepEqual(changed.body.detail, made.body.detail)
      assert.equal((await ask('GET', `/governance/policies/${policy_id}`)).body.version, 1)
    })
})

function operatorOf(operator: string) {
  return { field: 'x', operator, value: 1 }
}

const GOOD: Readonly<Record<string, object>> = {
  rate_limit: {},
  model_allowlist: { models: ['m'] },
  content_filter: { patterns: ['secret'] },
  data_scope: { allowed_stores: ['default'] },
  token_budget: {},
  hitl_required: { tools: ['pay'] },
  pii_guard: { patterns: ['\\d{16}'] },
  world_model_constraint: { require_params: ['amount'] },
  tool_deny: { denied_tools: ['shell'] },
}

test("'governance.policy_types' lists every type with a schema and needs no scope", async () => {
  const scopeless = await ask('POST', '/keys', { scopes: ['memory:read'] })
  const { status, body } = await scene.service.request('GET', '/v1/governance/policy-types', {
    key: scopeless.body.api_key,
  })
  assert.equal(status, 200)
  assert.deepEqual(
    body.types.map(({ type }: { type: string }) => type),
    Object.keys(GOOD),
  )
  for (const { config_schema } of body.types) {
    assert.equal(config_schema.type, 'object')
    assert.equal(config_schema.additionalProperties, false)
  }
})

test('a page of policies goes on behind the last one, also when that is gone', async () => {
  const made: string[] = []
  for (const [name, priority] of [
    ['a', -5],
    ['b', -5],
    ['c', 7],
    ['d', 7],
  ] as const) {
    const { body } = await ask('POST', '/governance/policies', { name, priority, ...SHORT_LIST })
    made.push(body.policy_id)
  }
  const path = '/governance/policies?limit=2'
  const first = (await ask('GET', path)).body
  const [a, b] = made
  assert.deepEqual(
    first.policies.map(({ name }: { name: string }) => name),
    ['a', 'b'],
  )
  for (const policy_id of [a, b]) await ask('DELETE', `/governance/policies/${policy_id}`)
  const { policies } = (await ask('GET', `${path}&cursor=${first.next_cursor}`)).body
  assert.deepEqual(
    policies.map(({ name }: { name: string }) => name),
    ['c', 'd'],
  )
})

// 'governance.get_policy'
test("'governance.update_policy' makes the next version; null changes nothing", async () => {
  const made = (await ask('POST', '/governance/policies', { name: 'One', ...SHORT_LIST })).body
  const path = `/governance/policies/${made.policy_id}`
  const changed = await ask('PUT', path, { name: 'Two', action: null, enabled: false })
  assert.equal(changed.status, 200)
  assert.deepEqual(
    [changed.body.name, changed.body.action, changed.body.enabled, changed.body.version],
    ['Two', 'deny', false, 2],
  )
  assert.equal(changed.body.created_at, made.created_at)
  const { history, ...now } = (await ask('GET', path)).body
  assert.deepEqual({ ...now, deleted: undefined }, { ...changed.body, deleted: undefined })
  assert.deepEqual(
    history.map((v: { version: number; change: string; name: string }) => [
      v.version,
      v.change,
      v.name,
    ]),
    [
      [2, 'updated', 'Two'],
      [1, 'created', 'One'],
    ],
  )
  const enabled = await ask('GET', '/governance/policies?enabled_only=true')
  assert.deepEqual(enabled.body.policies, [])
})

test('parallel updates of one policy each make a version of their own', async () => {
  const { policy_id } = (await ask('POST', '/governance/policies', { name: 'Busy', ...SHORT_LIST }))
    .body
  const priorities = Array.from({ length: 24 }, (_, priority) => priority)
  const answers = await Promise.all(
    priorities.map((priority) => ask('PUT', `/governance/policies/${policy_id}`, { priority })),
  )
  assert.deepEqual(
    answers.map(({ body }) => Number(body.version)).toSorted((a, b) => a - b),
    priorities.map((priority) => priority + 2),
    answers.map(({ text }) => text).join('\n'),
  )
})

test("'governance.delete_policy' keeps the history of what is out of force", async () => {
  const { policy_id } = (await ask('POST', '/governance/policies', { name: 'Gone', ...SHORT_LIST }))
    .body
  const path = `/governance/policies/${policy_id}`
  const deleted = await ask('DELETE', path)
  assert.deepEqual([deleted.status, deleted.body], [200, { deleted: true, policy_id }])
  assert.equal((await ask('GET', path)).body.error, 'policy_not_found')
  assert.equal((await ask('DELETE', path)).status, 404)
  assert.equal((await ask('PUT', path, { name: 'Back' })).status, 404)
  const { body } = await ask('GET', `${path}?include_deleted=true`)
  assert.deepEqual([body.deleted, body.name, body.history.length], [true, 'Gone', 2])
  assert.equal(body.history[0].change, 'deleted')
})

test("'governance.seed_defaults' makes what is missing, by its key", async () => {
  await ask('POST', '/governance/policies', { name: 'Own', ...SHORT_LIST })
  assert.deepEqual((await ask('POST', '/governance/seed-defaults')).body, { seeded: 3 })
  assert.deepEqual((await ask('POST', '/governance/seed-defaults')).body, { seeded: 0 })
  const { policies } = (await ask('GET', '/governance/policies')).body
  assert.deepEqual(
    policies.map(({ name, priority }: { name: string; priority: number }) => [name, priority]),
    [
      ['Default Rate Limit', 10],
      ['PII Output Guard', 20],
      ['Tool Text Guard', 30],
      ['Own', 100],
    ],
  )
  await ask('DELETE', `/governance/policies/${policies[0].policy_id}`)
  const both = await Promise.all([
    ask('POST', '/governance/seed-defaults'),
    ask('POST', '/governance/seed-defaults'),
  ])
  assert.deepEqual(both.map(({ body }) => body.seeded).toSorted(), [0, 1])
})

test('a retry of a creation under one key makes one policy', async () => {
  const body = { name: 'Once', ...SHORT_LIST }
  const headers = { 'idempotency-key': 'policy-once' }
  const first = await ask('POST', '/governance/policies', body, { headers })
  const second = await ask('POST', '/governance/policies', body, { headers })
  assert.deepEqual(second.body, first.body)
  assert.equal((await ask('GET', '/governance/policies')).body.count, 1)
})

test('a tenant has 200 policies at most', async () => {
  const body = { name: 'Many', ...SHORT_LIST }
  await Promise.all(Array.from({ length: 200 }, () => ask('POST', '/governance/policies', body)))
  const refused = await ask('POST', '/governance/policies', body)
  assert.deepEqual([refused.status, refused.body.error], [422, 'rejected'])
  const { policies } = (await ask('GET', '/governance/policies')).body
  assert.equal(policies.length, 200)
})

test('every change is on the log as ids, numbers and keyed hashes', async () => {
  const { policy_id } = (
    await ask('POST', '/governance/policies', { name: 'Wordy', ...SHORT_LIST })
  ).body
  await ask('PUT', `/governance/policies/${policy_id}`, { priority: 5 })
  await ask('DELETE', `/governance/policies/${policy_id}`)
  const { body, text } = await ask('GET', '/gcrumbs/breadcrumbs')
  const crumbs = body.breadcrumbs.filter(
    ({ subject }: { subject: string }) => subject === policy_id,
  )
  assert.deepEqual(
    crumbs.map(
      (crumb: { event_type: string; payload: { version: number; policy_set: number } }) => [
        crumb.event_type,
        crumb.payload.version,
        crumb.payload.policy_set,
      ],
    ),
    [
      ['policy.created', 1, 1],
      ['policy.updated', 2, 2],
      ['policy.deleted', 3, 3],
    ],
  )
  assert.ok(!text.includes('Wordy') && !text.includes('small'))
})
