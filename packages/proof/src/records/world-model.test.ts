// Types and actions as records: what is derived is recomputed, even with a valid signature.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import { isObject } from '../core/shape.ts'
import { keyIdOf, signedBytes } from '../core/signature.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import { actionRules, paramsDigest } from './action.ts'
import { proposalDigest, type RecordRules, recordId } from './registry-record.ts'
import { actionOperation, schemaDigest, worldTypeName, worldTypeRules } from './world-type.ts'

const key = seededKey(0x31)
const keys = [publish(key, 'record')]
const TENANT = 't-1'
const CREATED = '2026-02-03T04:05:06.000007Z'
const NONCE = '0f'.repeat(16)

type Json = JsonObject[string]

/** Signed as a service would: the common members, then those of the kind. */
function issue(rules: RecordRules, request: JsonObject, fields: (id: string) => JsonObject) {
  const proposal = {
    tenant_id: TENANT,
    kind: rules.kind,
    request,
    created_at: CREATED,
    nonce: NONCE,
  }
  const id = recordId(proposal)
  return sign(rules, {
    schema_version: rules.schema_version,
    record_kind: rules.kind,
    tenant_id: TENANT,
    [rules.id_field]: id,
    created_at: CREATED,
    issued_at: CREATED,
    nonce: NONCE,
    proposal_digest: proposalDigest(proposal),
    requested_by: 'local',
    policy_set: 0,
    evaluation_id: null,
    approval: null,
    ...request,
    ...fields(id),
  })
}

function sign(rules: RecordRules, record: JsonObject): JsonObject {
  const message = signedBytes(rules.kind, record)
  return {
    ...record,
    signed_bytes: toBase64(message),
    signature: toBase64(key.sign(message)),
    public_key: toBase64(key.publicKey),
    key_id: keyIdOf(key.publicKey),
  }
}

const SPEC = { properties: { amount: { type: 'number', required: true } } }
const typeRequest = { kind: 'object', name: 'Invoice', spec: SPEC }
const versionOne = (id: string) => ({
  type_id: id,
  version: 1,
  schema_digest: schemaDigest(SPEC),
})
const type = issue(worldTypeRules, typeRequest, versionOne)
const actionType = issue(
  worldTypeRules,
  {
    kind: 'action',
    name: 'certify',
    spec: { operation: 'worldmodel.action.certify', required_trust_tier: 'verified' },
  },
  () => ({
    type_id: 'aa'.repeat(16),
    version: 3,
    schema_digest: schemaDigest({
      operation: 'worldmodel.action.certify',
      required_trust_tier: 'verified',
    }),
  }),
)

const params = { amount: 5, notes: [{ text: 'fine' }] }
const actionRequest = {
  action_name: 'certify',
  subject_refs: [{ type: 'Invoice', ref: 'INV-1' }],
  params,
  authority: { delegation_ref: null, human_principal: 'ada', trust_tier: 'trusted' },
  type: {
    type_id: 'aa'.repeat(16),
    version: 2,
    record_id: 'cc'.repeat(16),
    schema_digest: '0'.repeat(64),
    required_trust_tier: 'verified',
    subject_type: 'Invoice',
  },
}
const authority = {
  ...actionRequest.authority,
  ...{ claimed_tier: 'trusted', trust_tier: 'verified' },
}
const actionFields = {
  authority,
  operation: actionOperation('certify'),
  params_digest: paramsDigest(params),
  gate: 'allowed',
}
const action = issue(actionRules, actionRequest, () => actionFields)

const verifyByKind = (rules: RecordRules, record: JsonObject) =>
  verifyEnvelope({ type: 'record', kind: rules.kind, record }, { keys })

async function failed(rules: RecordRules, record: JsonObject): Promise<string[]> {
  const verdict = await verifyByKind(rules, record)
  return verdict.checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

/** The same record with other members, signed by a key that is published for records. */
const resigned = (rules: RecordRules, record: JsonObject, set: JsonObject): JsonObject =>
  sign(rules, { ...record, ...set })

/** Every leaf once with another value in its place. */
function* mutations(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (const i of value.keys())
      for (const other of mutations(value[i])) yield value.with(i, other)
    yield [...value, 'added']
  } else if (typeof value === 'object' && value !== null) {
    const fields: JsonObject = Object.fromEntries(Object.entries(value))
    for (const [name, inner] of Object.entries(fields))
      for (const other of mutations(inner)) yield { ...fields, [name]: other }
    yield { ...fields, added: true }
  } else yield typeof value === 'number' ? value + 1 : `${value}x`
}

for (const [rules, record] of [
  [worldTypeRules, type],
  [worldTypeRules, actionType],
  [actionRules, action],
] as const) {
  const what = `${rules.kind} ${record['name'] ?? record['action_name']}`

  test(`a genuine record of ${what} verifies, and says what it does not show`, async () => {
    const verdict = await verifyByKind(rules, record)
    assert.equal(verdict.valid, true, verdict.reason)
    assert.deepEqual(verdict.valid_with, [keys[0]?.key_id])
  })

  test(`no leaf of a record of ${what} can be changed unnoticed`, async () => {
    let count = 0
    for (const changed of mutations(record)) {
      count += 1
      const verdict = await verifyByKind(rules, isObject(changed) ? changed : {})
      assert.equal(verdict.valid, false, JSON.stringify(changed))
    }
    assert.ok(count > 20, `${count} mutations`)
  })
}

test('what is derived in an action is recomputed even where the signature holds', async () => {
  const fails = (set: JsonObject) => failed(actionRules, resigned(actionRules, action, set))
  assert.deepEqual(await fails({}), [])
  assert.deepEqual(await fails({ params_digest: paramsDigest({}) }), ['params_consistent'])
  assert.deepEqual(await fails({ operation: 'landing.issue' }), ['operation'])
  assert.deepEqual(await fails({ gate: 'denied' }), ['gate'])
  const proposal = ['proposal_digest', 'action_id']
  assert.deepEqual(await fails({ params: {} }), [...proposal, 'params_consistent'])
  const fewer = { ...authority, trust_tier: 'basic' }
  assert.deepEqual(await fails({ authority: fewer }), ['trust_tier'])
  const more = { ...authority, trust_tier: 'root' }
  assert.deepEqual(await fails({ authority: more }), ['trust_tier'])
  const unclaimed = { ...authority, claimed_tier: null }
  assert.deepEqual(await fails({ authority: unclaimed }), [...proposal, 'trust_tier'])
  const strange = { ...actionRequest.type, required_trust_tier: 'admin' }
  assert.deepEqual(await fails({ type: strange }), [...proposal, 'shape', 'trust_tier'])
  const unnamed = { ...actionRequest.type, version: 1 }
  assert.deepEqual(await fails({ type: unnamed }), [...proposal, 'type'])
  assert.deepEqual(await fails({ subject_refs: ['INV-1'] }), [...proposal, 'subject_type'])
  assert.deepEqual(await fails({ subject_refs: [] }), [...proposal, 'subject_type'])
})

test('what is derived in a type is recomputed even where the signature holds', async () => {
  const fails = (record: JsonObject, set: JsonObject) =>
    failed(worldTypeRules, resigned(worldTypeRules, record, set))
  assert.deepEqual(await fails(type, {}), [])
  assert.deepEqual(await fails(type, { schema_digest: schemaDigest({}) }), ['schema_consistent'])
  assert.deepEqual(await fails(type, { version: 2, type_id: 'aa'.repeat(16) }), [])
  for (const set of [{ version: 2 }, { version: 0 }, { type_id: 'aa'.repeat(16) }])
    assert.deepEqual(await fails(type, set), ['version'], JSON.stringify(set))
  const spec = { operation: 'worldmodel.action.certify', required_trust_tier: 'untrusted' }
  const opened = await fails(actionType, { spec, schema_digest: schemaDigest(spec) })
  assert.deepEqual(opened, ['proposal_digest', 'record_id'])
})

test('an action has the members of an action and no others, at every depth', async () => {
  const fails = (set: JsonObject) => failed(actionRules, resigned(actionRules, action, set))
  const proposal = ['proposal_digest', 'action_id']
  assert.deepEqual(await fails({ also: 1 }), ['shape'])
  assert.deepEqual(await fails({ authority: { ...authority, also: 1 } }), ['shape'])
  const given = actionRequest.type
  for (const set of [
    ...[{ also: 1 }, { type_id: 'x' }, { record_id: 'C'.repeat(32) }, { subject_type: 7 }],
    ...[{ schema_digest: 'x' }, { schema_digest: '0'.repeat(63) }, { version: 1.5 }],
  ]) {
    const found = await fails({ type: { ...given, ...set } })
    assert.deepEqual(found.slice(0, 3), [...proposal, 'shape'], JSON.stringify(set))
  }
  for (const set of [
    ...[{ action_name: 7 }, { params: [] }, { params_digest: 'x' }, { gate: null }],
    ...[{ type: null }, { authority: null }, { subject_refs: 'INV-1' }, { subject_refs: [7] }],
    ...[
      { type: 'Invoice', ref: 'a', also: 1 },
      { type: 'Invoice', ref: 7 },
    ].map((subject) => ({
      subject_refs: [subject],
    })),
    ...[{ delegation_ref: 7 }, { claimed_tier: 'admin' }, { trust_tier: 'admin' }].map((other) => ({
      authority: { ...authority, ...other },
    })),
  ])
    assert.ok((await fails(set)).includes('shape'), JSON.stringify(set))
})

test('a type has the members and words of a type and no others', async () => {
  const fails = (set: JsonObject) => failed(worldTypeRules, resigned(worldTypeRules, type, set))
  assert.deepEqual(await fails({ also: 1 }), ['shape'])
  assert.deepEqual(await fails({ name: 7 }), ['proposal_digest', 'record_id', 'shape'])
  assert.deepEqual(await fails({ version: 2, type_id: 'x' }), ['shape'])
  const banana = issue(worldTypeRules, { ...typeRequest, kind: 'banana' }, versionOne)
  assert.deepEqual(await failed(worldTypeRules, banana), ['shape'])
})

const TIER = { required_trust_tier: 'root' }
const ENDS = { from_type: 'A', to_type: 'B' }
for (const [kind, spec, passes] of [
  ['action', TIER, true],
  ['action', { ...TIER, operation: 'x', input_schema: {}, subject_type: 'A' }, true],
  ['link', ENDS, true],
  ['link', { ...ENDS, cardinality: 'one_to_one', description: 'x' }, true],
  ['object', { type: 'object', additionalProperties: false }, true],
  ['action', { required_trust_tier: 'admin' }, false],
  ['action', {}, false],
  ['action', { ...TIER, also: 1 }, false],
  ['action', { ...TIER, input_schema: 'x' }, false],
  ['link', { from_type: 'A' }, false],
  ['link', { ...ENDS, cardinality: 'some' }, false],
  ['link', { ...ENDS, template_source: 7 }, false],
] as const)
  test(`a spec of a ${kind}, ${JSON.stringify(spec)}: ${passes}`, async () => {
    const record = issue(worldTypeRules, { kind, name: 'x', spec }, (id) => ({
      ...{ type_id: id, version: 1, schema_digest: schemaDigest(spec) },
    }))
    assert.deepEqual(await failed(worldTypeRules, record), passes ? [] : ['spec'])
  })

test('members of a wrong shape are findings, and never an accident', async () => {
  for (const [rules, record] of [
    [worldTypeRules, type],
    [actionRules, action],
  ] as const)
    for (const name of Object.keys(record))
      for (const value of [null, 7, 'x', [], {}, [[]], { type: {} }]) {
        const changed = sign(rules, { ...record, [name]: value })
        const verdict = await verifyByKind(rules, { ...changed, [name]: value })
        assert.equal(typeof verdict.valid, 'boolean')
      }
})

test('the name of a type is one text for all its versions, and for no other type', () => {
  const names = [
    ['object', 'a"]'],
    ['object', 'a'],
    ['link', 'a'],
    ['object","a', ''],
  ].map(([kind = '', name = '']) => worldTypeName({ kind, name }))
  assert.equal(new Set(names).size, names.length)
})
