// Compositions over HTTP: what is governed, what is rejected, and that answers verify offline.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMPOSITION_MEMBERS_MAX } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import fc from 'fast-check'
import { member, openCompositionScene } from './testing/composition-scene.ts'

const scene = openCompositionScene()
const { ok, compose, governed, rejected, offline } = scene

const UNKNOWN = '0'.repeat(32)
const statuses = () => ok('GET', '/compositions/stats')

test("K1 K2 K3: 'compositions.compose' signs what 'compositions.get' reads", async () => {
  const row = await governed()
  assert.match(row.composition_id, /^[0-9a-f]{32}$/)
  const { composition_kind, target_ref, member_count, status, tenant_id } = row
  assert.deepEqual(
    { composition_kind, target_ref, member_count, status, tenant_id },
    {
      ...{ composition_kind: 'stack', target_ref: 'stacks/support', member_count: 2 },
      ...{ status: 'governed', tenant_id: scene.tenant_id },
    },
  )
  assert.equal(row.signature, row.document.signature)
  assert.equal(row.signer_public_key, row.document.public_key)
  assert.deepEqual(row.document.member_ids, ['adapter', 'base'])
  assert.match(row.document.members_digest, /^[0-9a-f]{64}$/)
  assert.equal(row.document.schema_version, 'comp/1')
  const { compatible, detail, expression, reasons } = row.license_verdict
  assert.deepEqual(
    { compatible, detail, expression, reasons },
    { compatible: true, detail: 'compatible', expression: 'Apache-2.0 AND MIT', reasons: [] },
  )
  assert.deepEqual(row.authority, {
    ...{ delegation_ref: null, human_principal: 'ana@example.org' },
    ...{ claimed_tier: 'verified', trust_tier: 'verified' },
  })
  assert.deepEqual(await ok('GET', `/compositions/${row.composition_id}`), row)
  assert.deepEqual(await statuses(), { governed: 1 })
  const { compositions, count } = await ok('GET', '/compositions')
  assert.deepEqual([compositions, count], [[row], 1])
  const [event] = (await scene.crumbs()).filter(({ subject }) => subject === row.composition_id)
  assert.equal(event?.event_type, 'composition.governed')
  assert.doesNotMatch(JSON.stringify(event), /ana@|adapter|stack|MIT/)
})

test("'compositions.verify' recomputes all, and names what the caller claims", async () => {
  const { composition_id } = await governed()
  const verified = await ok('GET', `/compositions/${composition_id}/verify`)
  const { passed, status, reason, attestation, unverified_members } = verified
  assert.deepEqual({ passed, status, reason }, { passed: true, status: 'governed', reason: null })
  for (const name of ['signature', 'members_consistent', 'licenses_compatible', 'key_known'])
    assert.equal(verified.checks[name], true, name)
  assert.deepEqual(attestation, {
    ...{ kind: 'stack', members: ['adapter', 'base'], target: 'stacks/support' },
    ...{ by: 'ana@example.org', licenses: ['MIT', 'Apache-2.0'] },
  })
  assert.deepEqual(unverified_members, ['adapter', 'base'])
  assert.ok(verified.not_checked.length > 0)
})

test("K10: 'compositions.artifact' answers what to register the result as", async () => {
  const { composition_id } = await governed()
  assert.deepEqual(await ok('GET', `/compositions/${composition_id}/artifact`), {
    ...{ artifact_ref: 'stacks/support', composition_id, members: ['adapter', 'base'] },
    ...{ kind: 'stack', status: 'governed' },
  })
})

test('an unknown composition is 404 for every operation', async () => {
  const decision = { approver: 'ben' }
  for (const [method, path, body] of [
    ['GET', ''],
    ['GET', '/verify'],
    ['GET', '/artifact'],
    ['POST', '/approve', decision],
    ['POST', '/reject', decision],
  ] as const) {
    const answer = await scene.ask(method, `/compositions/${UNKNOWN}${path}`, body)
    assert.deepEqual([answer.status, answer.body.error], [404, 'composition_not_found'], path)
  }
})

test('K4: no leaf of a signed composition can be changed undetected', async () => {
  const row = await governed()
  assert.equal((await offline(row)).valid, true)
  let count = 0
  for (const document of mutations(row.document)) {
    assert.equal((await offline({ ...row, document })).valid, false, JSON.stringify(document))
    count += 1
  }
  assert.ok(count >= 40, `${count} mutations`)
})

type Leaf = JsonObject[string]

/** Every leaf once with another value in its place; never the name that says what it is. */
function* mutations(value: Leaf, name = ''): Generator<Leaf> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      for (const other of mutations(item)) yield value.with(i, other)
  } else if (typeof value === 'object' && value !== null) {
    for (const [inner, item] of Object.entries(value))
      for (const other of mutations(item, inner)) yield { ...value, [inner]: other }
  } else if (name !== 'record_kind') yield typeof value === 'string' ? `${value}x` : 'x'
}

test('K5: the order of the members never matters: it is the same composition', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'é', '𝒻', '\uffee']
  const members = names.map((name) => member(name))
  const first = await governed({ members })
  const orders = fc.shuffledSubarray(members, { minLength: members.length })
  await fc.assert(
    fc.asyncProperty(orders, async (shuffled) => {
      assert.deepEqual(await governed({ members: shuffled }), first)
    }),
    { numRuns: 20 },
  )
  assert.deepEqual(await governed({ members: [...members, member('a')] }), first)
  assert.deepEqual(await statuses(), { governed: 1 })
  const other = await governed({ members, target_ref: 'stacks/other' })
  assert.notEqual(other.composition_id, first.composition_id)
})

test('K6: an uncertified member is rejected, and nothing is stored', async () => {
  const members = [member('adapter', 'MIT', false), member('base'), member('c', 'MIT', false)]
  const { reasons } = await rejected({ members })
  assert.deepEqual(reasons, ['"adapter" is not certified', '"c" is not certified'])
  const unlike = [member('a', 'GPL-2.0-only'), member('b', 'Apache-2.0', false)]
  const all = await rejected({ members: unlike, required_trust_tier: 'root' })
  const [claim, conflict, tier, ...more] = all.reasons
  assert.deepEqual([claim, more], ['"b" is not certified', []])
  assert.match(conflict ?? '', /^Apache-2\.0 with GPL-2\.0-only /)
  assert.match(tier ?? '', /^the trust tier is .* root is required$/)
  assert.equal(all.composition_id, undefined, 'nothing is stored')
  const twice = await rejected({ members: [member('a'), member('a', 'ISC')] })
  assert.match(twice.reasons.join(), /"a" is listed twice with different claims/)
  assert.deepEqual(await statuses(), {})
})

test('K7: incompatible licences are rejected with rule and source', async () => {
  for (const [one, other, reason] of [
    ['cc-by-nd', 'MIT', /adapted material/],
    ['CC-BY-NC-ND-4.0', 'MIT', /creativecommons\.org\/licenses\/by-nd/],
    ['cc-by-nc', 'commercial', /forbids commercial use/],
    ['CC-BY-NC-4.0', 'Commercial', /forbids commercial use/],
    ['GPL-2.0-only', 'Apache-2.0', /gnu\.org\/licenses\/license-list\.html#apache2/],
    ['gpl-2.0', 'GPL-3.0-only', /gpl-faq/],
    ['GPL-3.0-or-later', 'CC-BY-SA-3.0', /ShareAlike before version 4\.0/],
    ['MIT AND GPL-2.0-only', 'Apache-2.0 OR CDDL-1.0', /GPL/],
  ] as const) {
    const { reasons } = await rejected({ members: [member('a', one), member('b', other)] })
    assert.match(reasons.join('\n'), reason)
  }
  assert.deepEqual(await statuses(), {})
  for (const [one, other] of [
    ['GPL-2.0-only OR MIT', 'Apache-2.0'],
    ['GPL-2.0-or-later', 'Apache-2.0'],
    ['GPL-2.0-only', 'Apache-2.0 WITH LLVM-exception'],
    ['CC-BY-NC-4.0', 'MIT'],
    ['non-commercial', 'cc-by-nc'],
  ] as const)
    await governed({ members: [member('a', one), member('b', other)] })
})

test('a licence that is no SPDX expression is accepted, and the record says so', async () => {
  const row = await governed({ members: [member('a', 'commercial'), member('b', 'LicenseRef-x')] })
  const { compatible, expression, reported, detail } = row.license_verdict
  assert.deepEqual([compatible, expression], [true, null])
  assert.deepEqual(
    reported.map(({ license, members }: { license: string; members: string[] }) => [
      license,
      members,
    ]),
    [
      ['LicenseRef-x', ['b']],
      ['not SPDX: commercial', ['a']],
    ],
  )
  assert.match(detail, /not judged: LicenseRef-x, not SPDX: commercial/)
})

test('a licence with too many alternatives is rejected', async () => {
  const pairs = ['MIT OR ISC', 'Zlib OR X11', '0BSD OR curl', 'NCSA OR JSON', 'TCL OR SL']
  const license = [...pairs, 'AFL-1.1 OR AFL-1.2', 'Vim OR W3C'].map((p) => `(${p})`).join(' AND ')
  const { reasons } = await rejected({ members: [member('a', license)] })
  assert.deepEqual(reasons, ['the licence of "a" has more than 64 alternatives'])
})

test('K8: a tier below the required one is rejected, stored and logged', async () => {
  for (const [authority, required_trust_tier] of [
    [{ trust_tier: 'basic' }, undefined],
    [{}, undefined],
    [undefined, 'basic'],
    [{ trust_tier: 'trusted' }, 'release'],
  ] as const) {
    const { reasons, composition_id } = await rejected({ authority, required_trust_tier })
    assert.match(reasons.join(), /the trust tier is \w+ \(.*\), and \w+ is required/)
    const row = await ok('GET', `/compositions/${composition_id}`)
    assert.deepEqual([row.status, row.document, row.reason], ['denied', null, reasons[0]])
    const [event] = (await scene.crumbs()).filter(({ subject }) => subject === composition_id)
    assert.deepEqual([event?.event_type, event?.payload.reason], ['composition.denied', 'tier'])
    const verified = await ok('GET', `/compositions/${composition_id}/verify`)
    assert.deepEqual([verified.passed, verified.checks.signature], [false, false])
    const descriptor = await ok('GET', `/compositions/${composition_id}/artifact`)
    assert.deepEqual([descriptor.artifact_ref, descriptor.members], [null, null])
  }
  await governed({ authority: { trust_tier: 'release' }, required_trust_tier: 'release' })
  await governed({ authority: undefined, required_trust_tier: 'untrusted' })
  assert.deepEqual(await statuses(), { denied: 4, governed: 2 })
})

test('a claim above the ceiling of the credential counts as the ceiling', async () => {
  const key = await scene.key({ scopes: ['artifacts:admin'], max_trust_tier: 'basic' })
  const authority = { trust_tier: 'root' }
  const low = await compose({ authority }, { key })
  assert.deepEqual([low.status, low.body.error], [422, 'rejected'])
  assert.match(low.body.detail.reasons[0], /is basic \(root is claimed\), and verified is required/)
  const enough = await compose({ authority, required_trust_tier: 'basic' }, { key })
  assert.equal(enough.status, 201, enough.text)
  const { claimed_tier, trust_tier } = enough.body.document.authority
  assert.deepEqual([claimed_tier, trust_tier], ['root', 'basic'])
})

test('a retry under the same key gets the same composition', async () => {
  const headers = { 'idempotency-key': 'k-1' }
  const [first, again] = [await compose({}, { headers }), await compose({}, { headers })]
  assert.deepEqual([again.status, again.body], [first.status, first.body])
  const authority = { trust_tier: 'basic' }
  const denied = { headers: { 'idempotency-key': 'k-2' } }
  const refusal = await compose({ authority }, denied)
  assert.deepEqual((await compose({ authority }, denied)).body.detail, refusal.body.detail)
  const other = await compose({ target_ref: 'other' }, { headers })
  assert.deepEqual([other.status, other.body.error], [409, 'idempotency_key_reused'])
  assert.deepEqual(await statuses(), { denied: 1, governed: 1 })
})

test('a key that found an existing composition is used as well', async () => {
  const row = await governed()
  const headers = { 'idempotency-key': 'late' }
  for (const replayed of [null, 'true']) {
    const answer = await compose({}, { headers })
    assert.deepEqual([answer.status, answer.body], [201, row])
    assert.equal(answer.headers.get('idempotency-replayed'), replayed)
  }
  const other = await compose({ target_ref: 'other' }, { headers })
  assert.deepEqual([other.status, other.body.error], [409, 'idempotency_key_reused'])
})

test("requests of a wrong shape change nothing in 'compositions.stats'", async () => {
  const many = Array.from({ length: COMPOSITION_MEMBERS_MAX + 1 }, (_, i) => member(`m-${i}`))
  for (const more of [
    { members: [] },
    { members: many },
    { members: [{ license: 'MIT', certified: true }] },
    { members: [{ ref_id: 'a', certified: true }] },
    { members: [{ ref_id: 'a', license: 'MIT', certified: 'yes' }] },
    { members: ['a'] },
    { required_trust_tier: 'admin' },
    { authority: { trust_tier: 'admin' } },
    { target_ref: '' },
    { composition_kind: undefined },
  ]) {
    const { status, body } = await compose(more)
    assert.equal(status, 422, JSON.stringify(more))
    assert.ok(Array.isArray(body.detail))
  }
  const most = many.slice(1)
  assert.equal((await governed({ members: most })).member_count, COMPOSITION_MEMBERS_MAX)
  assert.deepEqual(await statuses(), { governed: 1 })
})

test("pages of 'compositions.list' are newest first, and never another tenant’s", async () => {
  const made: string[] = []
  for (const target_ref of ['1', '2', '3'])
    made.unshift((await governed({ target_ref })).composition_id)
  const ids = (page: { compositions: { composition_id: string }[] }) =>
    page.compositions.map(({ composition_id }) => composition_id)
  const first = await ok('GET', '/compositions?limit=2')
  assert.deepEqual(ids(first), made.slice(0, 2))
  const next = await ok('GET', `/compositions?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual(ids(next), made.slice(2))
  assert.equal((await scene.ask('GET', '/compositions?cursor=x')).status, 422)
  const other = await scene.service.createTenant()
  const foreign = await scene.ask('GET', '/compositions', undefined, { key: other.api_key })
  assert.deepEqual(foreign.body.compositions, [])
  const path = `/compositions/${made[0]}`
  const hidden = await scene.ask('GET', path, undefined, { key: other.api_key })
  assert.equal(hidden.status, 404)
})

test('a composition of a composition inherits the terms of its members', async () => {
  const inner = await governed({ members: [member('x', 'GPL-2.0-only')] })
  const { composition_id } = inner
  const members = [member(composition_id, 'MIT'), member('y', 'Apache-2.0')]
  const { reasons } = await rejected({ members, target_ref: 'outer' })
  assert.match(reasons.join(), /^Apache-2\.0 with GPL-2\.0-only /)
  const outer = await governed({ members: members.slice(0, 1), target_ref: 'outer' })
  assert.equal(outer.license_verdict.expression, 'GPL-2.0-only AND MIT')
  assert.deepEqual(outer.members[0].found, {
    ...{ kind: 'composition', id: composition_id, status: 'governed' },
    licenses: ['GPL-2.0-only'],
  })
})
