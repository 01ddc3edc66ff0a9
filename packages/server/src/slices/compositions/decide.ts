// POST /v1/compositions/{composition_id}/approve and /reject: a person decides, once.

import type { compositions as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { applyDecision } from '../records/index.ts'
import { compositionRegistry } from './composition-registry.ts'
import { showComposition } from './show-composition.ts'

export const approve: Handler<typeof contract.approve> = async (call, { params, body }) => {
  const { approver, reason } = body
  const decision = { decision: 'approve', approver, reason } as const
  const record = await applyDecision(call, compositionRegistry, params.composition_id, decision)
  return showComposition(record, call.tenant_id)
}

export const reject: Handler<typeof contract.reject> = async (call, { params, body }) => {
  const { composition_id } = params
  const { approver, reason } = body
  const decision = { decision: 'deny', approver, reason } as const
  await applyDecision(call, compositionRegistry, composition_id, decision)
  return { composition_id, status: 'denied', approver }
}
