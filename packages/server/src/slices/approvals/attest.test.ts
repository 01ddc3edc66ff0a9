// Decisions by signature: exactly one is made, on exactly what was signed, and it verifies.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { attestationBytes, canonicalize, verifyApproval } from '@custos/proof'
import type { Answer } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import {
  ApprovingTenant,
  makeKey,
  openApprovalScene,
  type Waiting,
} from './testing/approval-scene.ts'

const scene = openApprovalScene()
const DECIDED = ['approval.approved', 'approval.denied', 'approval.expired']
const ARTIFACT = ['artifact.registered', 'artifact.denied', 'artifact.expired']

test("'approvals.attest' approves what was proposed; the record verifies offline", async () => {
  const { tenant } = scene
  const ana = await tenant.enroll('Ana Lima')
  const waiting = await tenant.register()
  const body = { ...(await tenant.signed(ana, waiting)), reason: 'looked at it' }
  const { status, body: answered, text } = await tenant.attest(waiting, body)
  assert.equal(status, 200, text)
  const { request_id, artifact_id } = waiting
  assert.deepEqual(answered, {
    request_id,
    status: 'approved',
    kind: 'artifact',
    record_id: artifact_id,
    record_status: 'registered',
  })
  const artifact = await tenant.ok('GET', `/artifacts/${artifact_id}`)
  assert.equal(artifact.status, 'registered')
  const { approver, approver_id, reason, proposal_digest } = artifact.document.approval
  assert.deepEqual([approver, approver_id, reason], ['Ana Lima', ana.approver_id, 'looked at it'])
  assert.equal(proposal_digest, artifact.document.proposal_digest)

  const { record } = await tenant.request(request_id)
  const { keys } = await tenant.ok('GET', '/gcrumbs/public_key')
  const verdict = await verifyApproval(record, keys)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.ok(verdict.checks.some(({ name }) => name === 'attestation'))
  assert.equal((await verifyApproval({ ...record, reason: 'another' }, keys)).valid, false)
})

test("'approvals.verify' recomputes a decision, and names what it cannot check", async () => {
  const { tenant } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const path = `/hitl/requests/${waiting.request_id}/verify`
  const pending = await tenant.ok('GET', path)
  assert.deepEqual([pending.status, pending.passed, pending.record], ['pending', false, null])

  const body = await tenant.signed(ana, waiting)
  assert.equal((await tenant.attest(waiting, body)).status, 200)
  const decided = await tenant.ok('GET', path)
  assert.deepEqual([decided.status, decided.passed], ['approved', true], JSON.stringify(decided))
  assert.equal(decided.signer_id, ana.approver_id)
  assert.equal(decided.signature, body.signature)
  assert.match(decided.not_checked.join(), /enrolled/)
  const { context, context_bytes_hex } = await tenant.request(waiting.request_id)
  assert.equal(decided.context_bytes_hex, context_bytes_hex)
  assert.equal(Buffer.from(context_bytes_hex, 'hex').toString(), canonicalize(context))
})

test("'approvals.request' shows the proposal and the exact bytes to sign", async () => {
  const { tenant } = scene
  const { request_id, artifact_id } = await tenant.register('models/shown')
  const shown = await tenant.request(request_id)
  assert.equal(shown.status, 'pending')
  assert.deepEqual(
    [shown.kind, shown.record_id, shown.resource],
    ['artifact', artifact_id, artifact_id],
  )
  assert.equal(shown.action, 'artifacts.register')
  assert.equal(shown.request.artifact_ref, 'models/shown')
  assert.equal(shown.policies.length, 1)
  assert.equal(shown.policies[0].name, 'ask first')
  assert.ok(shown.policies[0].reason.length > 0)
  assert.equal(shown.escalations[0].policy_id, shown.policies[0].policy_id)
  assert.equal(shown.context.proposal_digest, shown.proposal_digest)
  assert.equal(shown.context.tenant_id, tenant.tenant_id)
  for (const decision of ['approve', 'deny'] as const) {
    const bytes = Buffer.from(attestationBytes(shown.context, decision))
    assert.equal(shown.signing_input[decision], bytes.toString('base64'))
  }
  const day = 86_400_000
  assert.equal(Date.parse(shown.expires_at) - Date.parse(shown.issued_at), day)
  const listed = (await tenant.ok('GET', '/hitl/requests')).requests
  const { context, context_bytes_hex, signing_input, request, policies, record, ...more } = shown
  const { proposal, ...row } = more
  assert.deepEqual(listed, [row])
  // What is signed is what is shown: an approver makes the digest from it.
  assert.deepEqual(proposal.request, request)
  const digest = createHash('sha256').update(canonicalize(proposal)).digest('hex')
  assert.equal(digest, shown.proposal_digest)
})

test('a denial is signed too: nothing is issued, and the record says so', async () => {
  const { tenant } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const body = await tenant.signed(ana, waiting, 'deny')
  const answered = (await tenant.attest(waiting, body)).body
  assert.deepEqual([answered.status, answered.record_status], ['denied', 'denied'])
  assert.equal(await tenant.recordStatus(waiting), 'denied')
  const verified = await tenant.ok('GET', `/hitl/requests/${waiting.request_id}/verify`)
  assert.equal(verified.passed, true, JSON.stringify(verified.checks))
  assert.equal(verified.record.decision, 'deny')
  assert.deepEqual(
    (await tenant.events(...DECIDED, ...ARTIFACT)).map(({ event_type }) => event_type).toSorted(),
    ['approval.denied', 'artifact.denied'],
  )
})

describe('a signature not of this approver, request, context, decision is refused', () => {
  type Body = { decision: string; signer_id: string; signature: string }
  type Forge = (tenant: ApprovingTenant, waiting: Waiting) => Promise<Body>
  const forgeries: Readonly<Record<string, Forge>> = {
    'over the other decision': async (tenant, waiting) => ({
      ...(await tenant.signed(await tenant.enroll(), waiting, 'deny')),
      decision: 'approve',
    }),
    'over another request': async (tenant) =>
      tenant.signed(await tenant.enroll(), await tenant.register('models/another')),
    'by a key that is not enrolled': async (tenant, waiting) => {
      const { approver_id } = await tenant.enroll()
      return tenant.signed({ ...makeKey(), approver_id }, waiting)
    },
    'by another approver': async (tenant, waiting) => {
      const [{ approver_id }, ben] = [await tenant.enroll('Ana'), await tenant.enroll('Ben')]
      return { ...(await tenant.signed(ben, waiting)), signer_id: approver_id }
    },
    'over an altered context': async (tenant, waiting) => {
      const ana = await tenant.enroll()
      const { context } = await tenant.request(waiting.request_id)
      const altered = { ...context, expires_at: '2099-01-01T00:00:00.000000Z' }
      const signature = ana.sign(attestationBytes(altered, 'approve')).toString('hex')
      return { decision: 'approve', signer_id: ana.approver_id, signature }
    },
    'over the context without its domain': async (tenant, waiting) => {
      const ana = await tenant.enroll()
      const { context } = await tenant.request(waiting.request_id)
      const text = Buffer.from(canonicalize({ ...context, decision: 'approve' }))
      const signature = ana.sign(text).toString('hex')
      return { decision: 'approve', signer_id: ana.approver_id, signature }
    },
  }
  for (const [about, forge] of Object.entries(forgeries))
    test(about, async () => {
      const { tenant } = scene
      const waiting = await tenant.register()
      const answer = await tenant.attest(waiting, await forge(tenant, waiting))
      assert.equal(answer.status, 403)
      assert.equal(answer.body.error, 'attestation_invalid')
      await assertUntouched(tenant, waiting)
    })
})

async function assertUntouched(tenant: ApprovingTenant, waiting: Waiting): Promise<void> {
  assert.equal((await tenant.request(waiting.request_id)).status, 'pending')
  assert.equal(await tenant.recordStatus(waiting), 'waiting_hitl')
  assert.deepEqual(await tenant.events(...DECIDED, ...ARTIFACT), [])
}

test('a person never enrolled, revoked or of another tenant is no approver', async () => {
  const { tenant, service } = scene
  const waiting = await tenant.register()
  const revoked = await tenant.enroll()
  const other = await (await ApprovingTenant.create(service)).enroll()
  const bodies = [
    await tenant.signed(revoked, waiting),
    await tenant.signed(other, waiting),
    { ...(await tenant.signed(revoked, waiting)), signer_id: 'nobody' },
  ]
  await tenant.ok('DELETE', `/hitl/approvers/${revoked.approver_id}`)
  for (const body of bodies) {
    const answer = await tenant.attest(waiting, body)
    assert.equal(answer.body.error, 'approver_not_found')
  }
  await assertUntouched(tenant, waiting)
  await tenant.ok('PUT', `/hitl/approvers/${revoked.approver_id}`, { active: true })
  assert.equal((await tenant.attest(waiting, bodies[0])).status, 200)
})

test('an approver decides once: the same or the opposite again is refused', async () => {
  const { tenant } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const [yes, no] = [await tenant.signed(ana, waiting), await tenant.signed(ana, waiting, 'deny')]
  assert.equal((await tenant.attest(waiting, yes)).status, 200)
  for (const body of [yes, no]) {
    const again = await tenant.attest(waiting, body)
    assert.deepEqual([again.status, again.body.error], [409, 'not_waiting'])
  }
  assert.equal((await tenant.events(...DECIDED)).length, 1)
})

test('of 20 concurrent decisions exactly one is made, approvals or denials', async () => {
  const { tenant } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const signed = {
    approve: await tenant.signed(ana, waiting),
    deny: await tenant.signed(ana, waiting, 'deny'),
  }
  const named = (verb: string) =>
    tenant.ask('POST', `/artifacts/${waiting.artifact_id}/${verb}`, { approver: 'Ben' })
  const ways: readonly (() => Promise<Answer>)[] = [
    () => tenant.attest(waiting, signed.approve),
    () => tenant.attest(waiting, signed.deny),
    () => named('approve'),
    () => named('reject'),
  ]
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => ways[i % ways.length]?.() ?? assert.fail()),
  )
  const won = answers.filter(({ status }) => status === 200)
  assert.equal(won.length, 1, answers.map(({ text }) => text).join('\n'))
  for (const { status, body } of answers)
    if (status !== 200) assert.deepEqual([status, body.error], [409, 'not_waiting'])
  const events = await tenant.events(...DECIDED, ...ARTIFACT)
  assert.equal(events.length, 2)
  const { status } = await tenant.request(waiting.request_id)
  const stands = await tenant.recordStatus(waiting)
  assert.deepEqual(
    [status, stands],
    status === 'approved' ? ['approved', 'registered'] : ['denied', 'denied'],
  )
  const verified = await tenant.ok('GET', `/hitl/requests/${waiting.request_id}/verify`)
  assert.equal(verified.passed, true, JSON.stringify(verified.checks))
})

test('where credentials must differ, the credential that proposed cannot decide', async () => {
  const { tenant } = scene
  await tenant.ok('PUT', '/hitl/settings', { different_credential: true })
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const body = await tenant.signed(ana, waiting)
  const own = await tenant.attest(waiting, body)
  assert.deepEqual([own.status, own.body.error], [403, 'self_approval'])
  await assertUntouched(tenant, waiting)
  const { api_key } = await tenant.otherKey()
  assert.equal((await tenant.attest(waiting, body, api_key)).status, 200)
})

test('an approver enrolled under the id of the proposing credential cannot decide', async () => {
  const { tenant } = scene
  const waiting = await tenant.register()
  const { requested_by } = await tenant.request(waiting.request_id)
  const self = await tenant.enroll(requested_by)
  const answer = await tenant.attest(waiting, await tenant.signed(self, waiting))
  assert.deepEqual([answer.status, answer.body.error], [403, 'self_approval'])
  await assertUntouched(tenant, waiting)
})

test('where signatures are required, a name decides nothing', async () => {
  const { tenant } = scene
  await tenant.ok('PUT', '/hitl/settings', { attestation_required: true })
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  for (const verb of ['approve', 'reject']) {
    const path = `/artifacts/${waiting.artifact_id}/${verb}`
    const answer = await tenant.ask('POST', path, { approver: 'Ben' })
    assert.deepEqual([answer.status, answer.body.error], [403, 'attestation_required'], verb)
  }
  await assertUntouched(tenant, waiting)
  const body = await tenant.signed(ana, waiting)
  assert.equal((await tenant.attest(waiting, body)).status, 200)
})

test('a policy that denies at the time of the decision overrides a signature', async () => {
  const { tenant } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const config = { operations: ['artifacts.register'] }
  const denial = { name: 'no more', policy_type: 'hitl_required', action: 'deny', config }
  await tenant.ok('POST', '/governance/policies', denial)
  const answer = await tenant.attest(waiting, await tenant.signed(ana, waiting))
  assert.deepEqual([answer.status, answer.body.error], [403, 'policy_denied'])
  assert.notEqual(await tenant.recordStatus(waiting), 'registered')
})

test('a request of another tenant does not exist', async () => {
  const { tenant, service } = scene
  const waiting = await tenant.register()
  const other = await ApprovingTenant.create(service)
  const ana = await other.enroll()
  const body = await tenant.signed(ana, waiting)
  assert.equal((await other.attest(waiting, body)).body.error, 'request_not_found')
  for (const tail of ['', '/verify']) {
    const answer = await other.ask('GET', `/hitl/requests/${waiting.request_id}${tail}`)
    assert.equal(answer.body.error, 'request_not_found')
  }
  assert.equal((await other.ok('GET', '/hitl/requests?status=all')).count, 0)
  await assertUntouched(tenant, waiting)
})

test('an altered row does not verify, and cannot be approved', async () => {
  const { tenant, service } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  const body = await tenant.signed(ana, waiting)
  const alter = 'update approvals set proposal_digest = ? where request_id = ? returning 1'
  await rawSql(service, alter, ['ab'.repeat(32), waiting.request_id])
  assert.equal((await tenant.attest(waiting, body)).body.error, 'unavailable')
})

test('a decision altered in its rows afterwards does not verify', async () => {
  const { tenant, service } = scene
  const ana = await tenant.enroll()
  const approved = await tenant.register('models/approved')
  const denied = await tenant.register('models/denied')
  await tenant.attest(approved, await tenant.signed(ana, approved))
  await tenant.attest(denied, await tenant.signed(ana, denied, 'deny'))
  const failing = async ({ request_id }: Waiting): Promise<string[]> => {
    const { passed, checks } = await tenant.ok('GET', `/hitl/requests/${request_id}/verify`)
    const failed = checks.filter(({ ok }: { ok: boolean }) => !ok)
    assert.equal(passed, failed.length === 0)
    return failed.map(({ name }: { name: string }) => name)
  }
  assert.deepEqual([await failing(approved), await failing(denied)], [[], []])
  const key = 'update approvers set public_key = ? where approver_id = ? returning 1'
  await rawSql(service, key, [Buffer.from(makeKey().public_key, 'hex'), ana.approver_id])
  assert.deepEqual(await failing(approved), ['approver_key'])
  await rawSql(service, key, [Buffer.from(ana.public_key, 'hex'), ana.approver_id])
  const alter = async (column: string, value: string | number, { request_id }: Waiting) =>
    rawSql(service, `update approvals set ${column} = ? where request_id = ? returning 1`, [
      value,
      request_id,
    ])
  await alter('state', 'approved', denied)
  assert.deepEqual(await failing(denied), ['request', 'issued_record'])
  await alter('policy_set', 77, approved)
  assert.deepEqual(await failing(approved), ['request'])
})

test('an approver revoked at the same moment decides before it, or not at all', async () => {
  const { tenant } = scene
  for (let round = 0; round < 8; round++) {
    const ana = await tenant.enroll()
    const waiting = await tenant.register(`models/${round}`)
    const body = await tenant.signed(ana, waiting)
    const [answer] = await Promise.all([
      tenant.attest(waiting, body),
      tenant.ok('DELETE', `/hitl/approvers/${ana.approver_id}`),
    ])
    const events = await tenant.events('approval.approved', 'approver.revoked')
    const [first, second] = events.slice(answer.status === 200 ? -2 : -1)
    if (answer.status === 200)
      assert.deepEqual(
        [first.event_type, second.event_type],
        ['approval.approved', 'approver.revoked'],
      )
    else assert.equal(answer.body.error, 'approver_not_found')
  }
})
