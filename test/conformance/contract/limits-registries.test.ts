// Declared limits of the registries, at the edge and beyond it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { letWait } from './testing/approval.ts'
import { startContractService } from './testing/payments.ts'
import { newTenant, type Tenant } from './testing/tenant.ts'
import { GHOSTS } from './testing/world.ts'

const REGISTER = 'artifacts.register'

let service: TestService
let tenant: Tenant

before(async () => {
  service = await startContractService()
  tenant = await newTenant(service)
})
after(() => service.stop())

const artifact = (more: object) => ({ ...Object(exampleOf(REGISTER, GHOSTS).body), ...more })
const register = (more: object) => tenant.ask(REGISTER, { body: artifact(more) })

async function assertEdge(max: number, ask: (n: number) => ReturnType<typeof register>) {
  for (const n of [1, max - 1, max]) {
    const { status, text } = await ask(n)
    assert.equal(status, 201, `${n}: ${text.slice(0, 200)}`)
  }
  for (const n of [0, max + 1]) {
    const { status, text } = await ask(n)
    assert.equal(status, 422, `${n}: ${text.slice(0, 200)}`)
  }
}

test('artifacts.register keeps ref_chars to the unit', () =>
  assertEdge(limits.ref_chars, (n) => register({ artifact_ref: 'a'.repeat(n) })))

test('artifacts.register keeps layers_per_artifact to the unit', () =>
  assertEdge(limits.layers_per_artifact, (n) =>
    register({
      layers: Array.from({ length: n }, (_, i) => ({ digest: i.toString(16).padStart(64, '0') })),
    }),
  ))

test('artifacts.reject keeps reason_chars to the unit', async () => {
  const gate = 'artifacts.register'
  for (const [n, status] of [
    [limits.reason_chars + 1, 422],
    [limits.reason_chars - 1, 200],
    [limits.reason_chars, 200],
  ] as const) {
    const body = artifact({ artifact_ref: `adapter of ${n}` })
    const request_id = await letWait(tenant, { id: REGISTER, gate, body })
    const { record_id } = await tenant.ok('approvals.request', { params: { request_id } })
    const answer = await tenant.ask('artifacts.reject', {
      params: { artifact_id: record_id },
      body: { approver: 'Dana', reason: 'r'.repeat(n) },
    })
    assert.equal(answer.status, status, answer.text.slice(0, 200))
  }
})
