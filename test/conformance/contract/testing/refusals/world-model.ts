// For every refusal an operation of the world model or of templates declares, a provocation.

import { worldModelLimits } from '@custos/contract'
import type { Answer } from '../../../../../packages/server/src/testing/harness.ts'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import type { World } from '../world.ts'
import { underLimit } from './provoke.ts'

type Provoke = (world: World) => Promise<Answer>

const REGISTER = 'world_model.register_type'
const INVOKE = 'world_model.invoke'
const APPROVE = 'world_model.approve_action'
const INSTALL = 'templates.install'
const TYPES_GATE = 'world_model.register_type'
const ACTION_GATE = 'worldmodel.action.certify'

const ask = ({ tenant, ids }: World, id: string, more: object = {}): Promise<Answer> => {
  const { body, ...sent } = exampleOf(id, ids)
  return tenant.ask(id, { ...sent, body: { ...Object(body), ...more } })
}

const changed =
  (id: string, more: object): Provoke =>
  (world) =>
    ask(world, id, more)

const underPolicy =
  (id: string, operation: string, action: 'deny' | 'escalate'): Provoke =>
  async (world) => {
    const config = { operations: [operation] }
    const body = { name: 'a new one', policy_type: 'hitl_required', action, config }
    await world.tenant.ok('governance.create_policy', { body })
    return ask(world, id)
  }

const COLUMNS =
  'kind, status, live, series_id, version, proposal_digest, policy_set, request_id, ' +
  'linked_id, requested_by, secret_no, sealed, created_us'

/** As many types as a tenant may have, by rows that double. */
const crowded: Provoke = async (world) => {
  const { service, tenant_id } = world.tenant
  for (let count = 1, i = 0; count < worldModelLimits.types_per_tenant; count *= 2, i += 1)
    await runSql(
      service,
      `INSERT INTO records (tenant_id, record_id, content_key, name_key, ${COLUMNS})
       SELECT tenant_id, record_id || '-${i}', content_key || '-${i}', name_key || '-${i}',
         ${COLUMNS}
       FROM records WHERE kind = 'world_type' AND live = 1 AND tenant_id = ?`,
      tenant_id,
    )
  return ask(world, REGISTER)
}

const decided = (id: string): Readonly<Record<string, Provoke>> => ({
  [`${id} not_waiting`]: ({ tenant, ids }) => {
    const { action_id } = ids
    return tenant.ask(id, { ...exampleOf(id, ids), params: { action_id } })
  },
  [`${id} self_approval`]: changed(id, { approver: 'ana' }),
  [`${id} attestation_required`]: async (world) => {
    await world.tenant.ok('approvals.change_settings', { body: { attestation_required: true } })
    return ask(world, id)
  },
  [`${id} approval_expired`]: async (world) => {
    const sql = 'UPDATE approvals SET expires_us = 1 WHERE record_id = ?'
    await runSql(world.tenant.service, sql, world.ids.waiting_action_id)
    return ask(world, id)
  },
})

const badCursor =
  (id: string): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { query: { cursor: 'not-a-cursor' } })

/** A type of the template's that the tenant has with another spec. */
const conflicting: Provoke = async (world) => {
  const body = { kind: 'object', name: 'Diagnosis', spec: { properties: {} } }
  await world.tenant.ok(REGISTER, { body })
  return ask(world, INSTALL)
}

/** Cases by `operation code`. */
export const provokingWorldModel: Readonly<Record<string, Provoke>> = {
  ...decided(APPROVE),
  ...decided('world_model.reject_action'),
  [`${REGISTER} rejected`]: crowded,
  [`${REGISTER} policy_denied`]: underPolicy(REGISTER, TYPES_GATE, 'deny'),
  [`${REGISTER} rate_limited`]: underLimit(REGISTER, TYPES_GATE),
  [`${REGISTER} approval_required`]: underPolicy(REGISTER, TYPES_GATE, 'escalate'),
  'world_model.list_types rejected': badCursor('world_model.list_types'),
  'world_model.list_actions rejected': badCursor('world_model.list_actions'),
  'templates.list rejected': badCursor('templates.list'),
  'world_model.validate_object type_not_found': changed('world_model.validate_object', {
    type_name: 'Nobody',
  }),
  'world_model.validate_link type_not_found': changed('world_model.validate_link', {
    link_name: 'nothing',
  }),
  [`${INVOKE} type_not_found`]: changed(INVOKE, { action_name: 'nothing' }),
  [`${INVOKE} policy_denied`]: changed(INVOKE, { authority: { trust_tier: 'untrusted' } }),
  [`${APPROVE} policy_denied`]: underPolicy(APPROVE, ACTION_GATE, 'deny'),
  // Every action, by the name of the operation in the contract.
  [`${INVOKE} rate_limited`]: underLimit(INVOKE, INVOKE),
  [`${APPROVE} rate_limited`]: underLimit(APPROVE, ACTION_GATE),
  [`${APPROVE} approval_required`]: underPolicy(APPROVE, ACTION_GATE, 'escalate'),
  [`${INSTALL} template_not_found`]: changed(INSTALL, { template_id: 'nothing' }),
  [`${INSTALL} rejected`]: conflicting,
  [`${INSTALL} policy_denied`]: underPolicy(INSTALL, TYPES_GATE, 'deny'),
  [`${INSTALL} rate_limited`]: underLimit(INSTALL, TYPES_GATE),
  [`${INSTALL} approval_required`]: underPolicy(INSTALL, TYPES_GATE, 'escalate'),
}
