// Compositions as records: what is derived is recomputed, even with a valid signature.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import { isObject } from '../core/shape.ts'
import { keyIdOf, signedBytes } from '../core/signature.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  type CompositionMember,
  type CompositionRequest,
  compositionContent,
  compositionVerdict,
  type MemberSnapshot,
  membersDigest,
} from './composition.ts'
import { proposalDigest, recordId } from './registry-record.ts'

const key = seededKey(0x41)
const keys = [publish(key, 'record')]

const found = {
  kind: 'artifact',
  id: 'aa'.repeat(16),
  status: 'certified',
  licenses: ['Apache-2.0', 'ISC'],
} satisfies MemberSnapshot

const adapter: CompositionMember = {
  ...{ ref_id: 'adapter', license: 'MIT OR GPL-3.0-only', certified: true, found: null },
  license_terms: [['GPL-3.0-only'], ['MIT']],
  found_terms: [],
}
const base: CompositionMember = {
  ...{ ref_id: 'base', license: 'Apache-2.0', certified: true, found },
  license_terms: [['Apache-2.0']],
  found_terms: [[['Apache-2.0']], [['ISC']]],
}
const members = [adapter, base]

const proposedOf = ({ ref_id, license, certified, found: where }: CompositionMember) => ({
  ...{ ref_id, license, certified, found: where },
})

const request: CompositionRequest = {
  composition_kind: 'stack',
  members: members.map(proposedOf),
  target_ref: 'stack:1',
  authority: {
    ...{ delegation_ref: null, human_principal: 'ada' },
    ...{ claimed_tier: 'trusted', trust_tier: 'verified' },
  },
  required_trust_tier: 'verified',
}

function documentOf(): JsonObject {
  const proposal = {
    tenant_id: 't-1',
    kind: 'composition',
    request,
    created_at: '2026-02-03T04:05:06.000007Z',
    nonce: '0f'.repeat(16),
  } as const
  const { created_at, nonce, tenant_id } = proposal
  return {
    ...{ schema_version: 'comp/1', record_kind: 'composition', tenant_id, nonce, created_at },
    composition_id: recordId(proposal),
    issued_at: created_at,
    proposal_digest: proposalDigest(proposal),
    requested_by: 'local',
    policy_set: 0,
    evaluation_id: null,
    approval: null,
    composition_kind: 'stack',
    members,
    member_ids: ['adapter', 'base'],
    members_digest: membersDigest(members),
    license_verdict: compositionVerdict(members),
    target_ref: 'stack:1',
    authority: request.authority,
    required_trust_tier: 'verified',
  }
}

function sign(record: JsonObject): JsonObject {
  const message = signedBytes('composition', record)
  return {
    ...record,
    signed_bytes: toBase64(message),
    signature: toBase64(key.sign(message)),
    public_key: toBase64(key.publicKey),
    key_id: keyIdOf(key.publicKey),
  }
}

const verifyByKind = (record: JsonObject) =>
  verifyEnvelope({ type: 'record', kind: 'composition', record }, { keys })

async function failed(record: JsonObject): Promise<string[]> {
  const { checks } = await verifyByKind(record)
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

/** What is wrong with a document that a holder of the key signed with other members. */
const fails = (set: JsonObject) => failed(sign({ ...documentOf(), ...set }))

test('a genuine composition verifies, and says what it cannot show', async () => {
  const verdict = await verifyByKind(sign(documentOf()))
  assert.equal(verdict.valid, true, verdict.reason)
  assert.equal(verdict.not_checked.length, 3)
  assert.deepEqual(verdict.valid_with, [keyIdOf(key.publicKey)])
})

/** Every value of a document replaced by another, one at a time. */
function* mutations(value: Json, path = ''): Generator<readonly [string, Json]> {
  if (Array.isArray(value)) {
    yield [`${path} longer`, [...value, 'more']]
    for (const [i, item] of value.entries())
      for (const [where, other] of mutations(item, `${path}[${i}]`))
        yield [where, value.map((one: Json, j: number) => (i === j ? other : one))]
  } else if (isObject(value)) {
    yield [`${path} larger`, { ...value, more: 1 }]
    for (const [name, item] of Object.entries(value))
      for (const [where, other] of mutations(item, `${path}.${name}`))
        yield [where, { ...value, [name]: other }]
  } else
    yield [path, typeof value === 'string' ? `${value}x` : typeof value === 'boolean' ? !value : 1]
}

test('each altered leaf is caught', async () => {
  let count = 0
  for (const [path, changed] of mutations(sign(documentOf()))) {
    assert.ok(isObject(changed))
    assert.equal((await verifyByKind(changed)).valid, false, path)
    count++
  }
  assert.ok(count > 55, `${count} mutations`)
})

test('what is derived is recomputed even where the signature holds', async () => {
  assert.deepEqual(await fails({}), [])
  assert.deepEqual(await fails({ member_ids: ['base', 'adapter'] }), ['members_consistent'])
  assert.deepEqual(await fails({ member_ids: ['adapter'] }), ['members_consistent'])
  assert.deepEqual(await fails({ members_digest: '0'.repeat(64) }), ['members_consistent'])
  const verdict = { ...compositionVerdict(members), detail: 'fine' }
  assert.deepEqual(await fails({ license_verdict: verdict }), ['licenses_compatible'])
  assert.deepEqual(await fails({ license_verdict: null }), ['licenses_compatible'])
})

test('a verdict that follows from its members but is against them fails', async () => {
  const clashing = members.map((member, i) => ({
    ...member,
    license_terms: [[i === 0 ? 'GPL-2.0-only' : 'Apache-2.0']],
  }))
  const set = {
    members: clashing,
    members_digest: membersDigest(clashing),
    license_verdict: compositionVerdict(clashing),
  }
  assert.deepEqual(await fails(set), ['licenses_compatible'])
})

test('an uncertified member, an unclaimed tier and one below the required fail', async () => {
  const proposal = ['proposal_digest', 'composition_id']
  const doubtful = members.map((member, i) => ({ ...member, certified: i === 0 }))
  const set = { members: doubtful, members_digest: membersDigest(doubtful) }
  assert.deepEqual(await fails(set), [...proposal, 'members_certified'])
  const { authority } = documentOf()
  assert.ok(isObject(authority))
  for (const tiers of [
    { trust_tier: 'basic' },
    { trust_tier: 'root' },
    { trust_tier: 'admin' },
    { claimed_tier: null },
  ]) {
    const names = await fails({ authority: { ...authority, ...tiers } })
    assert.deepEqual(names, [...proposal, 'tier_sufficient'])
  }
  const required = await fails({ required_trust_tier: 'admin' })
  assert.deepEqual(required, [...proposal, 'tier_sufficient'])
})

test('a member that stands twice or has no name fails', async () => {
  const proposal = ['proposal_digest', 'composition_id']
  for (const ref_id of ['base', '']) {
    const listed = members.map((member, i) => (i === 0 ? { ...member, ref_id } : member))
    const set = {
      members: listed,
      member_ids: listed.map((member) => member.ref_id).sort(),
      members_digest: membersDigest(listed),
      license_verdict: compositionVerdict(listed),
    }
    assert.deepEqual(await fails(set), [...proposal, 'members_consistent'])
  }
})

test('members of a wrong shape are findings, and never an accident', async () => {
  for (const name of Object.keys(documentOf()))
    for (const value of [null, 7, 'x', [], {}, [[]], [{}], [{ license_terms: [[1]] }]]) {
      const verdict = await verifyByKind(sign({ ...documentOf(), [name]: value }))
      assert.equal(typeof verdict.valid, 'boolean')
    }
})

test('the content of a composition does not depend on the order of its members', () => {
  const turned = { ...request, members: [...request.members].reverse() }
  assert.equal(compositionContent(turned), compositionContent(request))
  const other = { ...request, target_ref: 'stack:2' }
  assert.notEqual(compositionContent(other), compositionContent(request))
})

/** The same with other members, whose digest, verdict, proposal and id follow. */
function composedOf(altered: readonly CompositionMember[], more: JsonObject = {}): JsonObject {
  const document = documentOf()
  const { created_at, nonce } = document
  const proposal = {
    ...{ tenant_id: 't-1', kind: 'composition' as const },
    request: { ...request, members: altered.map(proposedOf), ...more },
    ...{ created_at: String(created_at), nonce: String(nonce) },
  }
  return sign({
    ...document,
    ...more,
    members: altered,
    members_digest: membersDigest(altered),
    license_verdict: compositionVerdict(altered),
    proposal_digest: proposalDigest(proposal),
    composition_id: recordId(proposal),
  })
}

test('a member that was found in a state that vouches for nothing fails', async () => {
  assert.deepEqual(await failed(composedOf([adapter, base])), [])
  for (const [kind, status] of [
    ['artifact', 'registered'],
    ['artifact', 'issued'],
    ['landing', 'denied'],
    ['corpus', 'waiting_hitl'],
    ['composition', 'certified'],
    ['artifact', 'invoked'],
  ] as const) {
    const altered = { ...base, found: { ...found, kind, status } }
    assert.deepEqual(await failed(composedOf([adapter, altered])), ['members_standing'], status)
  }
  const unlike: CompositionMember[] = [
    { ...base, found_terms: [] },
    { ...base, found: { ...found, licenses: [] } },
    { ...base, found: null },
  ]
  for (const altered of unlike)
    assert.deepEqual(await failed(composedOf([adapter, altered])), ['members_standing'])
})

test('members unknown to a composition are refused, even with a valid signature', async () => {
  const { authority } = request
  const verified = { ...base, ...{ verified: true } }
  const checked = { ...base, found: { ...found, ...{ checked: true } } }
  for (const record of [
    sign({ ...documentOf(), note: 'approved by legal' }),
    sign({ ...documentOf(), approved: true }),
    composedOf([adapter, verified]),
    composedOf([adapter, checked]),
    composedOf([adapter, base], { authority: { ...authority, attested: true } }),
  ])
    assert.deepEqual(await failed(record), ['shape'])
})

test('a found member whose record states no licence is named as not compared', async () => {
  const silent = { ...base, found: { ...found, licenses: [] }, found_terms: [] }
  const verdict = await verifyByKind(composedOf([adapter, silent]))
  assert.equal(verdict.valid, true, verdict.reason)
  assert.match(verdict.not_checked.at(-1) ?? '', /^license of "base": .* none to compare$/)
})

test('licences that a record states count beside the one that is claimed', async () => {
  const gpl = { ...base, found_terms: [[['Apache-2.0']], [['GPL-2.0-only']]] }
  assert.deepEqual(await failed(composedOf([adapter, gpl])), ['licenses_compatible'])
})
