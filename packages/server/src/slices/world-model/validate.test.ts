// Validation of objects in both forms of schema, and of links with their cardinality.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENT, OWNS, openWorldScene } from './testing/world-scene.ts'
import { findType, findVersion, specOf } from './type-registry.ts'

const scene = openWorldScene()
const { ask, told, register } = scene

const object = (instance: unknown, more: object = {}) =>
  told(200, 'POST', '/world-model/validate/object', { type_name: 'Invoice', instance, ...more })

test("'world_model.validate_object' names what an object lacks, without values", async () => {
  await scene.build()
  const good = {
    invoice_ref: 'INV-1',
    ...{ amount: 1.5, tenor: 30, paid: false, client: 'C-1', lines: [1], address: { city: 'x' } },
    other: 'is nobody’s business',
  }
  assert.deepEqual((await object(good)).errors, [])
  assert.equal((await object(good)).valid, true)
  const missing = await object({})
  assert.deepEqual([missing.valid, missing.errors], [false, ['invoice_ref: is required']])
  const wrong = await object({
    invoice_ref: 7,
    ...{ amount: true, tenor: 1.5, paid: 'canary', client: '', lines: {}, address: [] },
  })
  assert.equal(wrong.valid, false)
  assert.deepEqual(wrong.errors.sort(), [
    'address: must be object',
    'amount: must be number',
    'client: has fewer characters than 1',
    'invoice_ref: must be string',
    'lines: must be array',
    'paid: must be boolean',
    'tenor: must be integer',
  ])
  assert.ok(!JSON.stringify(wrong).includes('canary'))
  // A property that every object of the language has is not one that was sent.
  await register({
    ...CLIENT,
    spec: { properties: { toString: { type: 'string', required: true } } },
  })
  assert.equal((await object({}, { type_name: 'Client' })).valid, false)
})

test('a JSON Schema is enforced, and an object can be checked against an earlier one', async () => {
  await register(CLIENT)
  const { version } = await register({
    ...CLIENT,
    spec: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string', minLength: 2 }, tier: { $ref: '#/$defs/tier' } },
      additionalProperties: false,
      $defs: { tier: { enum: ['gold', 'tin'] } },
    },
  })
  const client = (instance: unknown, more: object = {}) =>
    object(instance, { type_name: 'Client', ...more })
  assert.equal((await client({ name: 'Ada', tier: 'tin' })).valid, true)
  const wrong = await client({ name: 'A', tier: 'mud', more: 1 })
  assert.deepEqual(wrong.errors, [
    'name: has fewer characters than 2',
    'tier: is not one of the allowed values',
    'more: is not allowed',
  ])
  assert.equal(wrong.version, version)
  assert.equal((await client({ more: 1 }, { version: 1 })).valid, true)
  const unknown = { type_name: 'Client', instance: {}, version: 9 }
  assert.equal((await ask('POST', '/world-model/validate/object', unknown)).status, 404)
})

test('the schema of a version is read once, and each version has its own', async () => {
  const { kernel } = scene.service
  const { version } = await register(CLIENT)
  const load = async (wanted: number | undefined) => {
    const name = { kind: 'object', name: 'Client' } as const
    const newest = await findType(kernel, scene.tenant_id, name)
    assert.ok(newest)
    const { series_id: type_id } = newest.record.row
    const found = await findVersion(kernel, scene.tenant_id, { type_id, version: wanted })
    assert.ok(found)
    return specOf(kernel, 'object', found)
  }
  const first = await load(version)
  assert.equal(await load(version), first)
  await register({ ...CLIENT, spec: { properties: { a: { required: true } } } })
  assert.notEqual(await load(undefined), first)
  assert.equal(await load(version), first)
})

test('an unknown type is 404, and a link is no object type', async () => {
  await scene.build()
  for (const type_name of ['Nobody', 'owns']) {
    const { status, body } = await ask('POST', '/world-model/validate/object', {
      ...{ type_name, instance: {} },
    })
    assert.deepEqual([status, body.error], [404, 'type_not_found'])
  }
  const nothing = { link_name: 'Invoice', from_type: 'Client', to_type: 'Invoice' }
  assert.equal((await ask('POST', '/world-model/validate/link', nothing)).status, 404)
})

const link = (more: object = {}, name = 'owns') =>
  told(200, 'POST', '/world-model/validate/link', {
    ...{ link_name: name, from_type: 'Client', to_type: 'Invoice' },
    ...more,
  })

test("'world_model.validate_link' checks both ends, and names what it did not check", async () => {
  await scene.build()
  const ends = await link()
  assert.deepEqual([ends.valid, ends.errors, ends.cardinality], [true, [], 'one_to_many'])
  assert.equal(ends.not_checked.length, 1)
  const swapped = await link({ from_type: 'Invoice', to_type: 'Client' })
  assert.equal(swapped.valid, false)
  assert.deepEqual(swapped.errors, ['from_type must be Client', 'to_type must be Invoice'])
  const half = { link_name: 'owns', from_type: 'Client', to_type: 'Invoice', from_id: 'a' }
  const { status, body } = await ask('POST', '/world-model/validate/link', half)
  assert.deepEqual([status, body.detail[0].loc], [422, ['body', 'to_id']])
})

const pairs = (...links: readonly string[]) =>
  links.map((text) => ({ from_id: text[0] ?? '', to_id: text[1] ?? '' }))

for (const [cardinality, existing, valid] of [
  ['one_to_one', [], true],
  ['one_to_one', ['a1'], true],
  ['one_to_one', ['b2'], true],
  ['one_to_one', ['a2'], false],
  ['one_to_one', ['b1'], false],
  ['one_to_many', ['a2', 'a3'], true],
  ['one_to_many', ['b1'], false],
  ['many_to_one', ['b1', 'c1'], true],
  ['many_to_one', ['a2'], false],
  ['many_to_many', ['a2', 'b1'], true],
] as const)
  test(`${cardinality}: a to 1 beside ${existing.join(' ') || 'nothing'}: ${valid}`, async () => {
    await scene.build()
    await register({ ...OWNS, spec: { ...OWNS.spec, cardinality } })
    const answer = await link({ from_id: 'a', to_id: '1', existing: pairs(...existing) })
    assert.equal(answer.valid, valid, JSON.stringify(answer))
    assert.equal(answer.errors.length > 0, !valid)
  })
