// Decisions about artifacts: only the members of a decision count, whatever else is sent.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'

let service: TestService
let key: string

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  key = (await service.createTenant()).api_key
})
after(() => service.stop())

const ask = (method: string, path: string, body?: unknown) =>
  service.request(method, `/v1${path}`, { key, ...(body ? { body } : {}) })

/** The id of an artifact that waits. */
async function waiting(): Promise<string> {
  const config = { operations: ['artifacts.register'] }
  const policy = { name: 'four eyes', policy_type: 'hitl_required', config }
  assert.equal((await ask('POST', '/governance/policies', policy)).status, 200)
  const { body } = await ask('POST', '/artifacts/register', {
    ...{ artifact_ref: 'adapter/support@3', base_model_ref: 'base-7b' },
    layers: [{ digest: 'a'.repeat(64) }],
  })
  return body.detail.artifact_id
}

const ATTESTED: readonly unknown[] = [
  null,
  {},
  'x',
  { approver_id: 'f'.repeat(32), attestation: { public_key: '', signature: '' } },
]

/** Asserts that a decision with more than its own fields is refused and decides nothing. */
async function assertForgeriesRefused(artifact_id: string, verb: string): Promise<void> {
  const forgeries = [...ATTESTED.map((attested) => ({ attested })), { decision: 'approve' }]
  for (const forged of forgeries) {
    const path = `/artifacts/${artifact_id}/${verb}`
    const { status, body } = await ask('POST', path, { approver: 'Dana', ...forged })
    assert.deepEqual([status, body.error], [422, 'validation'])
  }
  const { body: row } = await ask('GET', `/artifacts/${artifact_id}`)
  assert.deepEqual([row.status, row.document], ['waiting_hitl', null])
}

test("'artifacts.approve' refuses a decision or attestation that the body adds", async () => {
  key = (await service.createTenant()).api_key
  const artifact_id = await waiting()
  await assertForgeriesRefused(artifact_id, 'approve')
  const approver = { approver: 'Dana' }
  const { status, body, text } = await ask('POST', `/artifacts/${artifact_id}/approve`, approver)
  assert.equal(status, 200, text)
  assert.equal(body.status, 'registered')
  assert.deepEqual([body.approval.approver, body.approval.approver_id], ['Dana', null])
})

test("'artifacts.reject' refuses a decision or attestation that the body adds", async () => {
  key = (await service.createTenant()).api_key
  const artifact_id = await waiting()
  await assertForgeriesRefused(artifact_id, 'reject')
  const approver = { approver: 'Dana' }
  const { status, body, text } = await ask('POST', `/artifacts/${artifact_id}/reject`, approver)
  assert.equal(status, 200, text)
  assert.deepEqual(body, { artifact_id, status: 'denied', approver: 'Dana' })
  const { body: row } = await ask('GET', `/artifacts/${artifact_id}`)
  assert.deepEqual([row.status, row.document, row.approval.approver_id], ['denied', null, null])
})

test('an unverified attestation does not satisfy a tenant that requires one', async () => {
  const settings = await ask('PUT', '/hitl/settings', { attestation_required: true })
  const artifact_id = await waiting()
  for (const verb of ['approve', 'reject']) {
    await assertForgeriesRefused(artifact_id, verb)
    const decision = { approver: 'Dana' }
    const { status, body } = await ask('POST', `/artifacts/${artifact_id}/${verb}`, decision)
    assert.deepEqual([status, body.error], [403, 'attestation_required'], settings.text)
  }
})
