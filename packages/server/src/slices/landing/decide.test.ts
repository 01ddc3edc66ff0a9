// Waiting certificates: they are decided once, by somebody else, on exactly what was proposed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IssueLandingRequest } from '@custos/contract'
import { landingRegistry, normalizeLanding } from './index.ts'
import { AUTHORITY, openLandingScene, request } from './testing/landing-scene.ts'

const scene = openLandingScene()
const ANA = AUTHORITY.human_principal
const PARALLEL = 20

const decide = (id: string, verb: 'approve' | 'reject', more: object = {}) =>
  scene.ask('POST', `/landing/${id}/${verb}`, { approver: 'bo', ...more })

test("G9: 'landing.approve' issues what waits, under the same id, and it verifies", async () => {
  const block = await scene.corpus()
  const id = await scene.waiting({ data_provenance: block, kind: 'full' })
  const before = await scene.ok('GET', `/landing/${id}`)
  assert.deepEqual([before.status, before.document], ['waiting_hitl', null])
  assert.deepEqual((await scene.verify(id)).passed, false)

  const { status, body, text } = await decide(id, 'approve', { reason: 'looked at it' })
  assert.equal(status, 200, text)
  assert.equal(body.certificate_id, id)
  assert.deepEqual(
    [body.artifact.kind, body.data_provenance, body.permitted_actions, body.authority.trust_tier],
    ['full', block, ['answer', 'summarise'], 'verified'],
  )
  const { approver, reason, proposal_digest, request_id } = body.approval
  assert.deepEqual(
    [approver, reason, proposal_digest, request_id],
    ['bo', 'looked at it', before.proposal_digest, before.approval_request_id],
  )
  const row = await scene.ok('GET', `/landing/${id}`)
  assert.deepEqual([row.status, row.document], ['issued', body])
  const verified = await scene.verify(id)
  assert.equal(verified.passed, true, verified.reason)
  assert.equal((await scene.offline(body)).valid, true)
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), { issued: 1 })
  const events = await scene.events()
  for (const event of ['landing.waiting_hitl', 'approval.approved', 'landing.issued'])
    assert.equal(events.filter((one) => one === event).length, 1, event)
})

test("after 'landing.reject' it stays denied", async () => {
  const id = await scene.waiting()
  const { status, body } = await decide(id, 'reject', { reason: 'no' })
  assert.deepEqual([status, body], [200, { certificate_id: id, status: 'denied', approver: 'bo' }])
  for (const verb of ['approve', 'reject'] as const)
    assert.equal((await decide(id, verb)).body.error, 'not_waiting')
  const row = await scene.ok('GET', `/landing/${id}`)
  assert.deepEqual([row.status, row.reason, row.document], ['denied', 'no', null])
})

describe('a decision is its approver and its reason', () => {
  const FORGED = {
    attested: { approver_id: 'ab'.repeat(16), attestation: { signature: 'AAAA' } },
    approver_id: 'ab'.repeat(16),
    decided_by: 'somebody',
  }

  test('another decision in the body is refused, and decides nothing', async () => {
    const id = await scene.waiting()
    for (const [verb, body] of [
      ['approve', { ...FORGED, decision: 'deny' }],
      ['reject', { decision: 'approve' }],
    ] as const) {
      const answer = await decide(id, verb, body)
      assert.deepEqual([answer.status, answer.body.error], [422, 'validation'])
    }
    const waiting = await scene.ok('GET', `/landing/${id}`)
    assert.deepEqual([waiting.status, waiting.document], ['waiting_hitl', null])
    const approved = await decide(id, 'approve', { reason: 'fine' })
    assert.equal(approved.status, 200, approved.text)
    const { approver, approver_id, reason } = approved.body.approval
    assert.deepEqual([approver, approver_id, reason], ['bo', null, 'fine'])
  })

  test('an attestation in the body does not count', async () => {
    const id = await scene.waiting()
    await scene.ok('PUT', '/hitl/settings', { attestation_required: true })
    for (const verb of ['approve', 'reject'] as const) {
      const forged = await decide(id, verb, FORGED)
      assert.deepEqual([forged.status, forged.body.error], [422, 'validation'])
      const { status, body } = await decide(id, verb)
      assert.deepEqual([status, body.error], [403, 'attestation_required'])
    }
    assert.equal((await scene.ok('GET', `/landing/${id}`)).status, 'waiting_hitl')
  })
})

test('a certificate that is issued directly does not wait', async () => {
  const { certificate_id } = await scene.issued()
  for (const verb of ['approve', 'reject'] as const) {
    const { status, body } = await decide(certificate_id, verb)
    assert.deepEqual([status, body.error], [409, 'not_waiting'])
  }
})

test(`of ${PARALLEL} approvals at once one issues, and certifies the artifact once`, async () => {
  const { artifact_id } = await scene.register()
  const id = await scene.waiting()
  const answers = await Promise.all(
    Array.from({ length: PARALLEL }, (_, i) => decide(id, 'approve', { approver: `bo ${i}` })),
  )
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array(PARALLEL - 1).fill(409)])
  const won = answers.find(({ status }) => status === 200)
  const row = await scene.ok('GET', `/landing/${id}`)
  assert.deepEqual(row.document, won?.body)
  const events = await scene.events()
  const counted = ['landing.issued', 'approval.approved', 'artifact.certified'].map(
    (event) => events.filter((one) => one === event).length,
  )
  assert.deepEqual(counted, [1, 1, 1])
  const artifact = await scene.ok('GET', `/artifacts/${artifact_id}`)
  assert.deepEqual([artifact.status, artifact.certificate_id], ['certified', id])
})

test('of concurrent approvals and rejections one decides', async () => {
  const id = await scene.waiting()
  const answers = await Promise.all(
    Array.from({ length: PARALLEL }, (_, i) => decide(id, i % 2 === 0 ? 'approve' : 'reject')),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  const [stats] = [await scene.ok('GET', '/landing/stats')]
  assert.ok(['issued', 'denied'].some((status) => stats[status] === 1))
})

test('nobody approves a request in their own name', async () => {
  const id = await scene.waiting()
  for (const approver of [ANA, ` ${ANA.toUpperCase()} `]) {
    const { status, body } = await decide(id, 'approve', { approver })
    assert.deepEqual([status, body.error], [403, 'self_approval'])
  }
  assert.equal((await decide(id, 'approve')).status, 200)
})

describe('an approval is evaluated by what is known when it is given', () => {
  test('a policy that denies by then refuses it, and the record still waits', async () => {
    const id = await scene.waiting()
    const policy_id = await scene.rule('deny', { name: 'never' })
    const refused = await decide(id, 'approve')
    assert.deepEqual([refused.status, refused.body.error], [403, 'policy_denied'])
    await scene.ok('DELETE', `/governance/policies/${policy_id}`)
    assert.equal((await decide(id, 'approve')).status, 200)
  })

  test('a registry that contradicts it by then refuses it', async () => {
    const id = await scene.waiting()
    await scene.register({ layers: [{ digest: 'f'.repeat(64) }] })
    const { status, body } = await decide(id, 'approve')
    assert.deepEqual([status, body.error], [422, 'rejected'], JSON.stringify(body))
    assert.equal((await scene.ok('GET', `/landing/${id}`)).status, 'waiting_hitl')
  })

  test('the ceiling is that of the proposing credential, not of the deciding one', async () => {
    const grants = { scopes: ['compliance:read', 'compliance:admin'] }
    const low = await scene.key({ ...grants, max_trust_tier: 'basic' })
    const id = await scene.waiting()
    const approved = await scene.ask(
      'POST',
      `/landing/${id}/approve`,
      { approver: 'bo' },
      { key: low },
    )
    assert.equal(approved.body.authority.trust_tier, 'verified', approved.text)
    const above = await scene.ask('POST', '/landing/issue', request(), { key: low })
    assert.deepEqual([above.status, above.body.error], [422, 'rejected'])
  })
})

describe('a registered artifact of the same content', () => {
  const statusOf = async (artifact_id: string) => {
    const { status, certificate_id } = await scene.ok('GET', `/artifacts/${artifact_id}`)
    return [status, certificate_id]
  }

  test('is certified with the certificate, and keeps its first one', async () => {
    const { artifact_id } = await scene.register()
    const first = await scene.issued()
    assert.equal(first.conformance.evidence.artifact_id, artifact_id)
    assert.deepEqual(await statusOf(artifact_id), ['certified', first.certificate_id])
    const second = await scene.issued()
    assert.equal(second.conformance.per_policy.artifact_integrity, 'pass')
    assert.deepEqual(await statusOf(artifact_id), ['certified', first.certificate_id])
    const events = await scene.events()
    assert.equal(events.filter((event) => event === 'artifact.certified').length, 1)
  })

  test('is not changed by a certificate of another artifact, or of none', async () => {
    const { artifact_id } = await scene.register()
    await scene.issued({ artifact_ref: 'adapters/other' })
    await scene.rule('deny')
    await scene.issue()
    assert.deepEqual(await statusOf(artifact_id), ['registered', null])
  })

  test('is not certified where it was registered after the certificate looked for it', async () => {
    const { kernel } = scene.service
    const { tenant_id } = scene
    const body: IssueLandingRequest = {
      ...request(),
      authority: { delegation_ref: 'd-1', human_principal: ANA },
      conformance: { result: 'pass' },
    }
    const record_id = 'c'.repeat(32)
    const { effect } = await landingRegistry.fields({
      ...{ kernel, tenant_id, ceiling: null, request: normalizeLanding(body) },
      ...{ record_id, proposal_digest: '', nonce: '', created_us: 0 },
      ...{ series_id: record_id, version: 1 },
    })
    const { artifact_id } = await scene.register()
    assert.ok(effect)
    await kernel.db.transact(tenant_id, (tx) => effect(tx, record_id))
    assert.deepEqual(await statusOf(artifact_id), ['registered', null])
  })

  test('has exactly one of many concurrent certificates', async () => {
    const { artifact_id } = await scene.register()
    const answers = await Promise.all(Array.from({ length: 8 }, () => scene.issue()))
    const ids = answers.map(({ status, body, text }) => {
      assert.equal(status, 201, text)
      return body.certificate_id
    })
    const [status, certificate_id] = await statusOf(artifact_id)
    assert.equal(status, 'certified')
    assert.ok(ids.includes(certificate_id))
    const events = await scene.events()
    assert.equal(events.filter((event) => event === 'artifact.certified').length, 1)
  })
})
