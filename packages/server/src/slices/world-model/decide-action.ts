// Approving and rejecting an action that waits: what is signed is what was proposed.

import type { worldModel as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { applyDecision, readDecision } from '../records/index.ts'
import { ACTION_ID, actionRegistry, showAction } from './action-registry.ts'

export const approveAction: Handler<typeof contract.approve_action> = async (
  call,
  { params, body },
) => {
  const decision = readDecision('approve', body)
  const record = await applyDecision(call, actionRegistry, params.action_id, decision)
  return showAction(record, call.tenant_id)
}

export const rejectAction: Handler<typeof contract.reject_action> = async (
  call,
  { params, body },
) => {
  const decision = readDecision('deny', body)
  const { row } = await applyDecision(call, actionRegistry, params.action_id, decision)
  return { status: 'denied', approver: body.approver, [ACTION_ID]: row.record_id }
}
