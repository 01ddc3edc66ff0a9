// POST /v1/world-model/actions/invoke: type, trust, parameters, policies, and a signed record.

import type { worldModel as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { propose, refused, waitingAnswer } from '../records/index.ts'
import { ACTION_ID, actionRegistry, tooLittleTrust } from './action-registry.ts'
import { actionRequest, assertFits, tierProblem } from './action-request.ts'
import { findType } from './find-types.ts'
import { showAction } from './show-action.ts'

export const invoke: Handler<typeof contract.invoke> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  const named = { kind: 'action', name: body.action_name } as const
  const type = await findType(kernel, tenant_id, named)
  if (!type) return call.refuse('type_not_found')
  const request = actionRequest(body, type)

  const reason = tierProblem(request, principal.max_trust_tier ?? null)
  if (reason !== null) {
    const { row } = await refused(call, actionRegistry, request, { code: 'trust_tier', reason })
    throw tooLittleTrust(reason, row.record_id)
  }

  await assertFits(call, request, type)

  const { record } = await propose(call, actionRegistry, request)
  if (record.row.status === 'waiting_hitl')
    return waitingAnswer(kernel, tenant_id, record, ACTION_ID)
  return showAction(record, tenant_id)
}
