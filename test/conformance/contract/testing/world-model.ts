// A small world model: types of each kind, an action that was invoked and one that waits.

import { letWait } from './approval.ts'
import type { Tenant } from './tenant.ts'

export const INVOCATION = {
  action_name: 'certify',
  subject_refs: [{ type: 'Invoice', ref: 'INV-1' }],
  params: { amount: 12.5 },
  authority: { human_principal: 'ana', delegation_ref: 'd-1', trust_tier: 'verified' },
}

/** What the sweeps ask for by id; the names are those of the examples. */
export async function buildWorldModel(tenant: Tenant, word: string) {
  const register = (kind: string, name: string, spec: object) =>
    tenant.ok('world_model.register_type', {
      body: { kind, name, spec: { ...spec, description: word } },
    })
  await register('object', 'Client', { properties: {} })
  const { type_id } = await register('object', 'Invoice', {
    properties: { invoice_ref: { type: 'string', required: true }, amount: { type: 'number' } },
  })
  await register('link', 'owns', { from_type: 'Client', to_type: 'Invoice' })
  await register('action', 'certify', {
    operation: word,
    required_trust_tier: 'basic',
    subject_type: 'Invoice',
    input_schema: { amount: { type: 'number', required: true }, note: { type: 'string' } },
  })
  const id = 'world_model.invoke'
  const body = {
    ...INVOCATION,
    subject_refs: [{ type: 'Invoice', ref: word }],
    params: { amount: 1, note: word },
  }
  const { action_id } = await tenant.ok(id, { body })
  const request_id = await letWait(tenant, { id, gate: 'worldmodel.action.certify', body })
  const { record_id } = await tenant.ok('approvals.request', { params: { request_id } })
  return { type_id, action_id, waiting_action_id: record_id }
}
