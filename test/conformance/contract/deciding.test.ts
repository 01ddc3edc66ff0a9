// Deciding what waits: the route says what is decided, whatever else stands in the body.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { buildWorld } from './testing/world.ts'

const REJECTING = [
  ['artifacts.reject', 'artifacts.get'],
  ['landing.reject', 'landing.get'],
  ['compositions.reject', 'compositions.get'],
  ['world_model.reject_action', 'world_model.get_action'],
] as const

const FORGED = {
  decision: 'approve',
  attested: { approver_id: 'x', attestation: { signature: 'x', public_key: 'x' } },
  require: 'x',
}

let service: TestService

before(async () => {
  service = await startTestService()
})
after(() => service.stop())

for (const [reject, get] of REJECTING)
  test(`${reject} denies, whatever decision or attestation stands beside`, async () => {
    const { tenant, ids } = await buildWorld(service)
    const { params = {}, body } = exampleOf(reject, ids)
    const answer = await tenant.ask(reject, { params, body: { ...Object(body), ...FORGED } })
    assert.deepEqual([answer.status, answer.body.status], [200, 'denied'], answer.text)
    const record = await tenant.ok(get, { params })
    assert.deepEqual([record.status, record.document], ['denied', null])
    assert.equal(record.approval.approver_id, null)
  })
