// Policies on compositions, and decisions about waiting ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member, openCompositionScene } from './testing/composition-scene.ts'

const scene = openCompositionScene()
const { ask, ok, compose, governed, rejected, waiting, policy, certified } = scene

const BEN = { approver: 'ben', reason: 'looked at it' }
const GOVERN = { operations: ['compositions.compose'] }

const decide = (composition_id: string, verb: string, body: object = BEN) =>
  ask('POST', `/compositions/${composition_id}/${verb}`, body)
const rowOf = (composition_id: string) => ok('GET', `/compositions/${composition_id}`)

test('K9: a denial is stored, logged and answered with the policy and its reason', async () => {
  const policy_id = await policy('hitl_required', GOVERN, { action: 'deny', name: 'none today' })
  const { composition_id = '', ...detail } = await rejected({})
  assert.match(detail.reasons.join(), /^denied by the policy "none today": /)
  assert.deepEqual(Object.keys(detail).sort(), ['name', 'policy_id', 'reason', 'reasons', 'status'])
  assert.ok(JSON.stringify(detail).includes(policy_id))
  const row = await rowOf(composition_id)
  assert.deepEqual([row.status, row.document, row.license_verdict], ['denied', null, null])
  const events = (await scene.crumbs()).filter(({ subject }) => subject === composition_id)
  assert.deepEqual(
    events.map(({ event_type }) => event_type),
    ['composition.denied'],
  )
  assert.deepEqual(await ok('GET', '/compositions/stats'), { denied: 1 })
})

test("K9: 'compositions.approve' governs what waited under the same id, says who", async () => {
  const composition_id = await waiting()
  const before = await rowOf(composition_id)
  assert.deepEqual([before.status, before.document], ['waiting_hitl', null])
  const again = await compose()
  assert.deepEqual([again.status, again.body.detail.composition_id], [202, composition_id])
  const { status, body, text } = await decide(composition_id, 'approve')
  assert.equal(status, 200, text)
  assert.deepEqual([body.composition_id, body.status], [composition_id, 'governed'])
  const { approver, reason, request_id, proposal_digest } = body.document.approval
  assert.deepEqual(
    [approver, reason, request_id, proposal_digest],
    ['ben', 'looked at it', before.approval_request_id, before.proposal_digest],
  )
  const verified = await ok('GET', `/compositions/${composition_id}/verify`)
  assert.deepEqual([verified.passed, verified.status], [true, 'governed'])
  assert.equal((await scene.offline(body)).valid, true)
  assert.equal((await decide(composition_id, 'approve')).body.error, 'not_waiting')
  assert.deepEqual(await governed(), body)
})

test("'compositions.reject' denies once, and the composition can be proposed again", async () => {
  const composition_id = await waiting()
  const { status, body } = await decide(composition_id, 'reject')
  assert.deepEqual([status, body], [200, { composition_id, status: 'denied', approver: 'ben' }])
  const row = await rowOf(composition_id)
  assert.deepEqual([row.status, row.reason, row.approval.approver], ['denied', BEN.reason, 'ben'])
  for (const verb of ['approve', 'reject'])
    assert.equal((await decide(composition_id, verb)).body.error, 'not_waiting', verb)
  const again = await compose()
  assert.equal(again.status, 202)
  assert.notEqual(again.body.detail.composition_id, composition_id)
})

test('nobody approves their own composition', async () => {
  const composition_id = await waiting()
  for (const approver of ['ana@example.org', ' ANA@example.org '])
    for (const verb of ['approve', 'reject']) {
      const { status, body } = await decide(composition_id, verb, { approver })
      assert.deepEqual([status, body.error], [403, 'self_approval'])
    }
  assert.equal((await rowOf(composition_id)).status, 'waiting_hitl')
})

test('of twenty concurrent decisions exactly one is made', async () => {
  const composition_id = await waiting()
  const verbs = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'approve' : 'reject'))
  const answers = await Promise.all(verbs.map((verb) => decide(composition_id, verb)))
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)])
  const kept = (await scene.crumbs()).filter(({ subject }) => subject === composition_id)
  assert.equal(kept.length, 2)
})

test('what a policy denies meanwhile is not approved, and still waits', async () => {
  const composition_id = await waiting()
  const denying = await policy('hitl_required', GOVERN, { action: 'deny', name: 'no more' })
  const refused = await decide(composition_id, 'approve')
  assert.deepEqual([refused.status, refused.body.error], [422, 'rejected'])
  assert.match(refused.body.detail.reasons.join(), /^denied by the policy "no more": /)
  assert.equal((await rowOf(composition_id)).status, 'waiting_hitl')
  await ok('DELETE', `/governance/policies/${denying}`)
  assert.equal((await decide(composition_id, 'approve')).status, 200)
})

test('an escalation by a newer policy is not approved either', async () => {
  const composition_id = await waiting()
  await policy('hitl_required', GOVERN, { name: 'legal too' })
  const refused = await decide(composition_id, 'approve')
  assert.deepEqual([refused.status, refused.body.error], [403, 'approval_required'])
})

test('members are read again: a composition of changed members is not approved', async () => {
  const composition_id = await waiting({ members: [member('adapters/new', 'GPL-3.0-only')] })
  await certified('adapters/new', { license: 'MIT' })
  const { status, body } = await decide(composition_id, 'approve')
  assert.deepEqual([status, body.error], [422, 'rejected'])
  assert.match(body.detail.reasons[0], /"adapters\/new" is not what it was when this was proposed/)
  assert.match(body.detail.reasons[1], /is registered under another/)
  assert.equal((await rowOf(composition_id)).status, 'waiting_hitl')
  assert.equal((await decide(composition_id, 'reject')).status, 200)
})

test('what cannot be issued is not put before a person', async () => {
  await policy('hitl_required', GOVERN)
  await rejected({ members: [member('a', 'GPL-2.0-only'), member('b', 'Apache-2.0')] })
  await rejected({ authority: { trust_tier: 'basic' } })
  assert.deepEqual(await ok('GET', '/compositions/stats'), { denied: 1 })
})

test('a world_model_constraint can refuse members that nobody has verified', async () => {
  const deny_if = {
    action: 'compositions.compose',
    params_has: [
      { list_path: 'members', match_all: [{ field: 'verified', operator: '==', value: false }] },
    ],
  }
  await policy('world_model_constraint', { deny_if })
  const { artifact_id } = await certified('adapters/a')
  assert.match((await rejected({})).reasons.join(), /denied by the policy/)
  await rejected({ members: [member(artifact_id), member('elsewhere')] })
  await governed({ members: [member(artifact_id)] })
})

test('a content_filter can refuse unverified members, licences and tiers', async () => {
  const { artifact_id } = await certified('adapters/a')
  const members = [member(artifact_id)]
  const filter = (pattern: string, field: string) =>
    policy('content_filter', { patterns: [pattern], check_fields: [field] })
  const first = await filter('.', 'unverified_members')
  await rejected({})
  await governed({ members })
  await ok('DELETE', `/governance/policies/${first}`)
  await filter('GPL', 'licenses')
  await rejected({ members: [member('x', 'LGPL-3.0-only')] })
  await filter('^(untrusted|basic)$', 'trust_tier')
  await rejected({ authority: { trust_tier: 'basic' }, required_trust_tier: 'untrusted' })
  await filter('^secret/', 'target')
  await rejected({ target_ref: 'secret/stack' })
  await governed({ target_ref: 'open/secret/stack' })
})

test('personal data is redacted, and denied where a member would be lost', async () => {
  const redacting = { redact: true, entities: ['EMAIL_ADDRESS'] }
  const log_only = { action: 'log_only' }
  await policy('pii_guard', { ...redacting, check_fields: ['target', 'kind'] }, log_only)
  const row = await governed({ target_ref: 'stack of eve@example.org' })
  assert.equal(row.target_ref, 'stack of <EMAIL_ADDRESS>')
  assert.doesNotMatch(JSON.stringify(row), /eve@example/)
  await policy('pii_guard', { ...redacting, check_fields: ['members'] }, log_only)
  const { status, body } = await compose({ members: [member('model of eve@example.org')] })
  assert.deepEqual([status, body.error], [403, 'policy_denied'])
})

test('what a policy redacts is not stored in a refusal either', async () => {
  const config = { redact: true, entities: ['EMAIL_ADDRESS'], check_fields: ['target'] }
  await policy('pii_guard', config, { action: 'log_only' })
  const { composition_id = '' } = await rejected({
    ...{ authority: {}, target_ref: 'stack of eve@example.org' },
  })
  const row = await rowOf(composition_id)
  assert.deepEqual([row.status, row.target_ref], ['denied', 'stack of <EMAIL_ADDRESS>'])
  assert.doesNotMatch(JSON.stringify(row), /eve@example/)
})

test('policies read required tiers, stated licences, and licences without a rule', async () => {
  await certified('adapters/gpl', { license: 'GPL-3.0-only' })
  const inner = await governed({ members: [member('adapters/gpl', 'GPL-3.0-only')] })
  const outer = { members: [member(inner.composition_id)], target_ref: 'outer' }
  const filter = (pattern: string, field: string) =>
    policy('content_filter', { patterns: [pattern], check_fields: [field] })
  const licenses = await filter('GPL', 'licenses')
  assert.match((await rejected(outer)).reasons.join(), /denied by the policy/)
  await ok('DELETE', `/governance/policies/${licenses}`)
  const tiers = await filter('^untrusted$', 'required_trust_tier')
  await rejected({ ...outer, required_trust_tier: 'untrusted' })
  await ok('DELETE', `/governance/policies/${tiers}`)
  await governed(outer)
  const doubtful = { members: [member('a', 'CC-BY-SA-3.0'), member('b', 'LGPL-2.1-only')] }
  await governed(doubtful)
  await filter('.', 'unjudged')
  const { reasons } = await rejected({ ...doubtful, target_ref: 'again' })
  assert.match(reasons.join(), /denied by the policy/)
  await governed({ target_ref: 'judged' })
})
