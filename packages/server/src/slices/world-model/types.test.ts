// Types over HTTP: what is registered, its versions, and what is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CERTIFY, CLIENT, INVOICE, mutations, OWNS, openWorldScene } from './testing/world-scene.ts'

const scene = openWorldScene()
const { ask, told, register } = scene
const UNKNOWN = '0'.repeat(32)

test("'world_model.register_type' registers what 'world_model.get_type' reads", async () => {
  const row = await register(INVOICE)
  assert.match(row.type_id, /^[0-9a-f]{32}$/)
  assert.match(row.schema_digest, /^[0-9a-f]{64}$/)
  const { kind, name, spec, version, newest, status, operation, tenant_id } = row
  assert.deepEqual({ kind, name, spec }, INVOICE)
  assert.deepEqual([version, newest, status, operation], [1, true, 'registered', null])
  assert.equal(tenant_id, scene.tenant_id)
  assert.equal(row.record_id, row.type_id)
  assert.deepEqual(await told(200, 'GET', `/world-model/types/${row.type_id}`), row)
  assert.deepEqual(await register(INVOICE), row)
  const [crumb, ...more] = await scene.crumbs('world_type.registered')
  assert.equal(more.length, 0)
  assert.equal(crumb.subject, row.record_id)
  assert.ok(!JSON.stringify(crumb).includes('Invoice'))
})

test('another spec is the next version under the same id; the earlier remains', async () => {
  const first = await register(CLIENT)
  const changed = { ...CLIENT, spec: { properties: { name: { type: 'string', required: true } } } }
  const second = await register(changed)
  assert.equal(second.type_id, first.type_id)
  assert.notEqual(second.record_id, first.record_id)
  assert.deepEqual([second.version, second.newest], [2, true])
  const path = `/world-model/types/${first.type_id}`
  assert.deepEqual(await told(200, 'GET', path), second)
  assert.deepEqual(await told(200, 'GET', `${path}?version=2`), second)
  assert.deepEqual(await told(200, 'GET', `${path}?version=1`), { ...first, newest: false })
  assert.equal((await ask('GET', `${path}?version=3`)).status, 404)
  assert.equal((await ask('GET', `/world-model/types/${second.record_id}`)).status, 404)
  for (const version of [1, 2]) {
    const verified = await told(200, 'GET', `${path}/verify?version=${version}`)
    assert.deepEqual([verified.passed, verified.version], [true, version])
  }
  // Back to the first spec is a third version, not the first one again.
  assert.equal((await register(CLIENT)).version, 3)
  const { types } = await told(200, 'GET', '/world-model/types')
  assert.deepEqual(
    types.map((type: { version: number }) => type.version),
    [3],
  )
})

test('versions registered concurrently have numbers of their own', async () => {
  const specs = Array.from({ length: 6 }, (_, i) => ({
    properties: { [`p${i}`]: { type: 'string' } },
  }))
  const rows = await Promise.all(
    specs.map((spec) => ask('POST', '/world-model/types', { ...CLIENT, spec })),
  )
  const made = rows.filter(({ status }) => status === 201).map(({ body }) => body)
  assert.ok(made.length > 0)
  // Who lost too often was told to come back.
  for (const { status } of rows) assert.ok(status === 201 || status === 503, String(status))
  assert.equal(new Set(made.map(({ type_id }) => type_id)).size, 1)
  const versions = made.map(({ version }) => version).sort((a, b) => a - b)
  assert.deepEqual(
    versions,
    versions.map((_, i) => i + 1),
  )
})

test("'world_model.verify_type' names what it checked; offline it verifies too", async () => {
  await register(INVOICE)
  await register(CLIENT)
  for (const type of [INVOICE, OWNS, CERTIFY]) {
    const { type_id, document } = await register(type)
    const verified = await told(200, 'GET', `/world-model/types/${type_id}/verify`)
    assert.equal(verified.passed, true)
    assert.deepEqual([verified.kind, verified.name], [type.kind, type.name])
    for (const name of ['signature', 'schema_consistent', 'record_id', 'proposal_digest'])
      assert.equal(verified.checks[name], true, name)
    assert.equal((await scene.offline(document)).valid, true)
    let count = 0
    for (const changed of mutations(document)) {
      count += 1
      assert.equal((await scene.offline(changed)).valid, false, JSON.stringify(changed))
    }
    assert.ok(count >= 18, String(count))
  }
})

test("'world_model.list_types' lists the newest of each, by kind and name", async () => {
  await scene.build()
  await register({ ...CLIENT, spec: { properties: { name: {} } } })
  const names = async (query: string) => {
    const page = await told(200, 'GET', `/world-model/types${query}`)
    return page.types.map((type: { kind: string; name: string }) => `${type.kind} ${type.name}`)
  }
  const all = ['action certify', 'link owns', 'object Client', 'object Invoice']
  assert.deepEqual(await names(''), all)
  assert.deepEqual(await names('?kind=object'), all.slice(2))
  assert.deepEqual(await names('?limit=1&offset=1'), ['link owns'])
  const { next_cursor } = await told(200, 'GET', '/world-model/types?limit=2')
  assert.deepEqual(await names(`?limit=2&cursor=${next_cursor}`), all.slice(2))
  assert.equal((await ask('GET', '/world-model/types?kind=thing')).status, 422)
  const stats = await told(200, 'GET', '/world-model/actions/stats')
  assert.deepEqual(stats, { types: { action: 1, link: 1, object: 2 }, actions: {} })
})

test('a page of types opens no more than it shows, and never many at once', async (t) => {
  const { keyring } = scene.service.kernel
  const names = Array.from({ length: 25 }, (_, i) => `T${String(i).padStart(2, '0')}`)
  for (const name of names) await register({ ...CLIENT, name })
  await register(INVOICE)
  const secrets = t.mock.method(keyring, 'secrets')
  const opened = async (path: string) => {
    secrets.mock.resetCalls()
    const body = await told(200, 'GET', path)
    const counts = secrets.mock.calls
      .filter(({ arguments: [tenant_id] }) => tenant_id === scene.tenant_id)
      .map(({ arguments: [, , numbers] }) => numbers.length)
    assert.ok(Math.max(0, ...counts) <= 4, `${counts}`)
    return { body, count: counts.reduce((sum, count) => sum + count, 0) }
  }
  assert.equal((await opened('/world-model/types?limit=200')).count, 2 * 26)
  const page = await opened('/world-model/types?limit=2&offset=3&kind=object')
  assert.deepEqual(
    page.body.types.map(({ name }: { name: string }) => name),
    ['T02', 'T03'],
  )
  assert.equal(page.count, 2)
  const stats = await opened('/world-model/actions/stats')
  assert.deepEqual([stats.body.types, stats.count], [{ object: 26 }, 0])
  // A new version is another record.
  await register({ ...CLIENT, name: 'T00', spec: { properties: { a: {} } } })
  assert.equal((await opened('/world-model/actions/stats')).count, 1)
})

test('a list leaves documents out, and large specs', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 900 }, (_, i) => [`p${i}`, { description: 'x'.repeat(30) }]),
  )
  const large = await register({ ...CLIENT, spec: { properties } })
  const small = await register(INVOICE)
  const { types } = await told(200, 'GET', '/world-model/types')
  assert.deepEqual(types, [
    { ...large, spec: null, document: null },
    { ...small, document: null },
  ])
  assert.deepEqual(await told(200, 'GET', `/world-model/types/${large.type_id}`), large)
})

const refused: readonly (readonly [what: string, type: object, at: string])[] = [
  ['a link from nothing', { ...OWNS, spec: { ...OWNS.spec, from_type: 'Nobody' } }, 'from_type'],
  ['a link to nothing', { ...OWNS, spec: { ...OWNS.spec, to_type: 'owns' } }, 'to_type'],
  [
    'an unknown cardinality',
    { ...OWNS, spec: { ...OWNS.spec, cardinality: 'some' } },
    'cardinality',
  ],
  ['a link without ends', { ...OWNS, spec: {} }, 'from_type'],
  [
    'a misspelt member',
    { ...OWNS, spec: { ...OWNS.spec, cardinalty: 'one_to_one' } },
    'cardinalty',
  ],
  ['an object without properties', { ...CLIENT, spec: {} }, 'properties'],
  ['an unknown type', { ...CLIENT, spec: { properties: { a: { type: 'money' } } } }, 'type'],
  ['a property that is no object', { ...CLIENT, spec: { properties: { a: 'string' } } }, 'a'],
  [
    'a requirement in another form',
    { ...CLIENT, spec: { properties: { a: { required: 'yes' } } } },
    'required',
  ],
  ['an action without a tier', { ...CERTIFY, spec: { operation: 'x' } }, 'required_trust_tier'],
  [
    'an unknown tier',
    { ...CERTIFY, spec: { ...CERTIFY.spec, required_trust_tier: 'admin' } },
    'required_trust_tier',
  ],
  [
    'an unknown subject',
    { ...CERTIFY, spec: { ...CERTIFY.spec, subject_type: 'Nobody' } },
    'subject_type',
  ],
  ['an action that policies cannot name', { ...CERTIFY, name: 'certify it' }, 'name'],
  ['an action with a long name', { ...CERTIFY, name: 'a'.repeat(47) }, 'name'],
  [
    'a pattern',
    { ...CLIENT, spec: { type: 'object', properties: { a: { pattern: '(a+)+$' } } } },
    'pattern',
  ],
  [
    'a reference elsewhere',
    { ...CLIENT, spec: { type: 'object', properties: { a: { $ref: 'https://x.test/s' } } } },
    '$ref',
  ],
]
for (const [what, type, at] of refused)
  test(`${what} is refused and nothing is registered`, async () => {
    await register(INVOICE)
    await register(CLIENT)
    const { status, body } = await ask('POST', '/world-model/types', type)
    assert.equal(status, 422, JSON.stringify(body))
    assert.equal(body.detail[0].loc.at(-1), at, JSON.stringify(body))
    const { types } = await told(200, 'GET', '/world-model/types')
    assert.equal(types.length, 2)
  })

test('an action is governed under its own name, whatever its spec calls it', async () => {
  await register(INVOICE)
  const spec = { ...CERTIFY.spec, operation: 'harmless' }
  const row = await register({ ...CERTIFY, spec })
  assert.equal(row.operation, 'worldmodel.action.certify')
  assert.equal(row.spec.operation, 'harmless')
  await scene.policy('hitl_required', { operations: ['worldmodel.action.certify'] })
  assert.equal((await scene.invoke()).status, 202)
})

test('a policy denies or escalates a registration, and nothing is stored', async () => {
  const operations = ['world_model.register_type']
  const policy_id = await scene.policy('hitl_required', { operations }, { action: 'deny' })
  const denied = await ask('POST', '/world-model/types', CLIENT)
  assert.deepEqual([denied.status, denied.body.error], [403, 'policy_denied'])
  await told(200, 'PUT', `/governance/policies/${policy_id}`, { action: 'escalate' })
  const held = await ask('POST', '/world-model/types', CLIENT)
  assert.deepEqual([held.status, held.body.error], [403, 'approval_required'])
  const { types } = await told(200, 'GET', '/world-model/types')
  assert.deepEqual(types, [])
})

test('an unknown type, and that of another tenant, are the same 404', async () => {
  const { type_id } = await register(CLIENT)
  await scene.changeTenant()
  for (const id of [type_id, UNKNOWN])
    for (const path of [id, `${id}/verify`]) {
      const { status, body } = await ask('GET', `/world-model/types/${path}`)
      assert.deepEqual([status, body.error], [404, 'type_not_found'])
    }
  assert.equal((await register(CLIENT)).version, 1)
})
