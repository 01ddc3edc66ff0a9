// For every refusal an operation of approvals declares, a request that provokes it.

import type { Answer } from '../../../../../packages/server/src/testing/harness.ts'
import { exampleOf } from '../../examples.ts'
import { enroll, letWait } from '../approval.ts'
import { runSql } from '../rows.ts'
import type { World } from '../world.ts'
import { askWith, type Provoke, underLimit, underPolicy } from './provoke.ts'

const ATTEST = 'approvals.attest'
const BAD_CURSOR = { query: { cursor: 'not-a-cursor' } }

const attest = (world: World, more: object = {}): Promise<Answer> => askWith(world, ATTEST, more)

/** A certificate that a registered artifact contradicts by the time it is approved. */
const contradicted: Provoke = async ({ tenant, ids }) => {
  const artifact = { artifact_ref: 'adapters/other', base_model_ref: 'models/base' }
  const body = {
    ...artifact,
    layer_hashes: ['1'.repeat(64)],
    data_provenance: { merkle_root: '5'.repeat(64) },
    authority: { delegation_ref: 'delegations/1', human_principal: 'ana', trust_tier: 'verified' },
    conformance: { result: 'pass' },
    permitted_actions: ['answer'],
  }
  const waiting = { id: 'landing.issue', gate: 'landing.issue', body }
  const request_id = await letWait(tenant, waiting)
  await tenant.ok('artifacts.register', {
    body: { ...artifact, layers: [{ digest: 'f'.repeat(64) }] },
  })
  const approver = await enroll(tenant, 'ben')
  const signature = await approver.sign(request_id)
  const { body: example } = exampleOf(ATTEST, ids)
  return tenant.ask(ATTEST, {
    params: { request_id },
    body: { ...Object(example), signer_id: approver.approver_id, signature },
  })
}

/** Cases by `operation code`. */
export const provokingApprovals: Readonly<Record<string, Provoke>> = {
  'approvals.requests rejected': ({ tenant }) => tenant.ask('approvals.requests', BAD_CURSOR),
  'approvals.approvers rejected': ({ tenant }) => tenant.ask('approvals.approvers', BAD_CURSOR),
  'approvals.enroll rejected': ({ tenant }) =>
    tenant.ask('approvals.enroll', { body: { name: 'Eve', public_key: '0'.repeat(64) } }),
  'approvals.attest approver_not_found': (world) => attest(world, { signer_id: 'nobody' }),
  'approvals.attest attestation_invalid': (world) => attest(world, { decision: 'deny' }),
  'approvals.attest self_approval': async (world) => {
    await world.tenant.ok('approvals.change_settings', { body: { different_credential: true } })
    return attest(world)
  },
  'approvals.attest policy_denied': underPolicy(ATTEST, 'artifacts.register', 'deny'),
  'approvals.attest approval_required': underPolicy(ATTEST, 'artifacts.register', 'escalate'),
  'approvals.attest rate_limited': underLimit(ATTEST, 'artifacts.register'),
  'approvals.attest rejected': contradicted,
  'approvals.attest not_waiting': async (world) => {
    await attest(world)
    return attest(world)
  },
  'approvals.attest approval_expired': async (world) => {
    const { service } = world.tenant
    const sql = 'UPDATE approvals SET expires_us = 1 WHERE request_id = ?'
    // What is signed changes with it: the expiry is judged after the signature.
    await runSql(service, sql, world.ids.request_id)
    const approver = await enroll(world.tenant, 'ben')
    const signature = await approver.sign(world.ids.request_id)
    return attest(world, { signer_id: approver.approver_id, signature })
  },
}
