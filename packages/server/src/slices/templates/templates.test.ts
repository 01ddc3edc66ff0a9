// Templates over HTTP: what they contain, and that they are installed whole or not at all.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Answer, TestService } from '../../testing/harness.ts'
import { startTestService } from '../../testing/harness.ts'

let service: TestService
let key: string

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  key = (await service.createTenant()).api_key
})
after(() => service.stop())

type Headers = Readonly<Record<string, string>>
const ask = (method: string, path: string, body?: unknown, headers: Headers = {}) =>
  service.request(method, `/v1${path}`, { key, headers, ...(body === undefined ? {} : { body }) })

async function ok(asked: Promise<Answer>, status = 200): Promise<Answer['body']> {
  const answer = await asked
  assert.equal(answer.status, status, answer.text.slice(0, 500))
  return answer.body
}

const install = (template_id: string, more: object = {}, headers: Headers = {}) =>
  ask('POST', '/templates/install', { template_id, ...more }, headers)
const types = async () => (await ok(ask('GET', '/world-model/types?limit=200'))).types
const counts = async () => (await ok(ask('GET', '/world-model/actions/stats'))).types

const TEMPLATES = [
  ['gns-software-engineering', 'gns-software-engineering', 7, { action: 2, link: 2, object: 3 }],
  ['healthcare', 'healthcare-compliance', 5, { action: 2, link: 1, object: 2 }],
  ['virtualbank-receivables', 'virtualbank-receivables', 21, { action: 5, link: 7, object: 9 }],
] as const

test("'templates.list' lists the templates", async () => {
  for (const path of ['/templates', '/templates/']) {
    const { templates, ...envelope } = await ok(ask('GET', path))
    assert.deepEqual(envelope, { count: 3, limit: 50, offset: 0, next_cursor: null })
    assert.deepEqual(
      templates.map(({ id, name, version }: Record<string, string>) => [id, name, version]),
      TEMPLATES.map(([id, name]) => [id, name, '1.0.0']),
    )
    for (const { description } of templates) assert.ok(description.length > 10)
  }
})

test('templates are paged as every list is', async () => {
  const page = await ok(ask('GET', '/templates?limit=2'))
  assert.deepEqual(Object.keys(page)[0], 'templates')
  assert.deepEqual([page.templates.length, page.count, page.limit], [2, 2, 2])
  const rest = await ok(ask('GET', `/templates?limit=2&cursor=${page.next_cursor}`))
  assert.deepEqual(
    [rest.templates.map(({ id }: { id: string }) => id), rest.offset, rest.next_cursor],
    [[TEMPLATES[2][0]], 2, null],
  )
  assert.equal((await ask('GET', '/templates?cursor=x')).status, 422)
})

for (const [id, , count, kinds] of TEMPLATES)
  test(`'templates.install' registers the ${count} types of ${id}, each signed`, async () => {
    const { status, data } = await ok(install(id))
    assert.equal(status, 'success')
    assert.deepEqual([data.template, data.version], [id, '1.0.0'])
    assert.equal(data.installed_types_count, count)
    assert.deepEqual([data.installed.length, data.already_there], [count, []])
    assert.deepEqual(await counts(), kinds)
    for (const { type_id, spec } of await types()) {
      assert.equal(spec.template_source, id)
      assert.equal((await ok(ask('GET', `/world-model/types/${type_id}/verify`))).passed, true)
    }
    // Another tenant has none of it.
    key = (await service.createTenant()).api_key
    assert.deepEqual(await counts(), {})
  })

test('the types of a template hold what they say', async () => {
  await ok(install('virtualbank-receivables'))
  const specs = new Map(
    (await types()).map(({ kind, name, spec }: Answer['body']) => [`${kind} ${name}`, spec]),
  )
  const template_source = 'virtualbank-receivables'
  assert.deepEqual(specs.get('object Invoice'), {
    properties: {
      invoice_ref: { type: 'string', required: true },
      amount: { type: 'number' },
      currency: { type: 'string' },
      tenor_days: { type: 'number' },
      sector: { type: 'string' },
      risk_signal: { type: 'number' },
    },
    template_source,
  })
  assert.deepEqual(specs.get('link drawnOn'), {
    ...{ from_type: 'Invoice', to_type: 'Counterparty', cardinality: 'many_to_one' },
    template_source,
  })
  assert.deepEqual(specs.get('action clear_alert'), {
    operation: 'worldmodel.action.clear_alert',
    ...{ required_trust_tier: 'verified', subject_type: 'AMLAlert', template_source },
  })
  const invoked = await ok(
    ask('POST', '/world-model/actions/invoke', {
      action_name: 'clear_alert',
      subject_refs: [{ type: 'AMLAlert', ref: 'A-1' }],
      authority: { trust_tier: 'verified' },
    }),
    201,
  )
  assert.equal(invoked.status, 'invoked')
})

test('a second installation changes nothing, and names the existing types', async () => {
  await ok(install('healthcare'))
  const before = await types()
  const { data } = await ok(install('healthcare'))
  assert.equal(data.installed_types_count, 5)
  assert.deepEqual([data.installed, data.already_there.length], [[], 5])
  assert.deepEqual(await types(), before)
})

const DIAGNOSIS = {
  kind: 'object',
  name: 'Diagnosis',
  spec: { properties: { code: { type: 'string' } } },
}

test('what the tenant has edited is not overwritten: nothing is installed', async () => {
  const edited = await ok(ask('POST', '/world-model/types', DIAGNOSIS), 201)
  const preview = await ok(install('healthcare', { dry_run: true }))
  assert.deepEqual(preview.data.conflicts, [{ kind: 'object', name: 'Diagnosis' }])
  assert.deepEqual([preview.data.installed.length, preview.data.installed_types_count], [4, 0])
  const { status, body } = await install('healthcare')
  assert.deepEqual([status, body.error], [422, 'rejected'])
  assert.deepEqual(body.detail.conflicts, [{ kind: 'object', name: 'Diagnosis' }])
  assert.match(body.detail.reasons[0], /Diagnosis/)
  assert.deepEqual(await types(), [{ ...edited, document: null }])
})

test('a type that the tenant registered with the same spec counts as installed', async () => {
  const properties = {
    icd10_code: { type: 'string', required: true },
    description: { type: 'string' },
  }
  await ok(ask('POST', '/world-model/types', { ...DIAGNOSIS, spec: { properties } }), 201)
  const { data } = await ok(install('healthcare'))
  assert.deepEqual(data.already_there, [{ kind: 'object', name: 'Diagnosis' }])
  assert.deepEqual([data.installed.length, data.installed_types_count], [4, 5])
})

test('a dry run writes nothing', async () => {
  const { data } = await ok(install('virtualbank-receivables', { dry_run: true }))
  assert.deepEqual([data.dry_run, data.installed.length, data.installed_types_count], [true, 21, 0])
  assert.deepEqual(await types(), [])
})

test('a policy against one of the types stops all of them', async () => {
  const policy = {
    ...{ name: 'no exports', policy_type: 'content_filter' },
    config: { patterns: ['export_dataset'], check_fields: ['name'] },
  }
  await ok(ask('POST', '/governance/policies', policy))
  const { status, body } = await install('healthcare')
  assert.deepEqual([status, body.error], [403, 'policy_denied'])
  assert.deepEqual(await types(), [])
  assert.equal((await install('gns-software-engineering')).status, 200)
})

test('concurrent installations install each type once', async () => {
  const answers = await Promise.all(Array.from({ length: 4 }, () => install('healthcare')))
  const statuses = answers.map(({ status }) => status)
  assert.ok(statuses.includes(200), statuses.join())
  for (const status of statuses) assert.ok(status === 200 || status === 503, String(status))
  const all = await types()
  assert.equal(all.length, 5)
  for (const { version } of all) assert.equal(version, 1)
})

test('the same key installs once, and repeats its answer', async () => {
  const headers = { 'idempotency-key': 'one' }
  const first = await ok(install('healthcare', {}, headers))
  assert.equal(first.data.installed.length, 5)
  assert.deepEqual(await ok(install('healthcare', {}, headers)), first)
  // Whatever became of the types since.
  await ok(ask('POST', '/world-model/types', DIAGNOSIS), 201)
  assert.deepEqual(await ok(install('healthcare', {}, headers)), first)
  assert.equal((await install('gns-software-engineering', {}, headers)).status, 409)
  assert.equal((await install('healthcare', {}, { 'idempotency-key': 'two' })).status, 422)
})

test('an id that is not in the table is unknown', async () => {
  for (const id of ['unknown', '../healthcare', 'healthcare.yaml', '__proto__', 'constructor']) {
    const { status, body } = await install(id)
    assert.deepEqual([status, body.error], [404, 'template_not_found'], id)
  }
  assert.deepEqual(await types(), [])
  key = ''
  assert.equal((await install('healthcare')).status, 401)
})
