// Approving and rejecting an action that waits: what is signed is what was proposed.

import type { worldModel as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { decisionOf, resume } from '../records/index.ts'
import { ACTION_ID, actionRegistry } from './action-registry.ts'
import { showAction } from './show-action.ts'

export const approveAction: Handler<typeof contract.approve_action> = async (
  call,
  { params, body },
) => {
  const decision = decisionOf('approve', body)
  const record = await resume(call, actionRegistry, params.action_id, decision)
  return showAction(record, call.tenant_id)
}

export const rejectAction: Handler<typeof contract.reject_action> = async (
  call,
  { params, body },
) => {
  const decision = decisionOf('deny', body)
  const { row } = await resume(call, actionRegistry, params.action_id, decision)
  return { status: 'denied', approver: body.approver, [ACTION_ID]: row.record_id }
}
