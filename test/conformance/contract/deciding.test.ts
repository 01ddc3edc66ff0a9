// Deciding what waits: the route says what is decided, and a body that says more is refused.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
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
  service = await startContractService()
})
after(() => service.stop())

for (const [reject, get] of REJECTING)
  test(`${reject} denies; a body with a decision or attestation decides nothing`, async () => {
    const { tenant, ids } = await buildWorld(service)
    const { params = {}, body } = exampleOf(reject, ids)
    for (const [name, forged] of Object.entries(FORGED)) {
      const refused = await tenant.ask(reject, {
        params,
        body: { ...Object(body), [name]: forged },
      })
      assert.deepEqual([refused.status, refused.body.error], [422, 'validation'], refused.text)
    }
    const answer = await tenant.ask(reject, { params, body })
    assert.deepEqual([answer.status, answer.body.status], [200, 'denied'], answer.text)
    const record = await tenant.ok(get, { params })
    assert.deepEqual([record.status, record.document], ['denied', null])
    assert.equal(record.approval.approver_id, null)
  })
