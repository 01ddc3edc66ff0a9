// POST /v1/world-model/actions/invoke: type, trust, parameters, policies, and a signed record.

import type { worldModel as contract } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import {
  answerWaiting,
  findEarlierAnswer,
  type OpenRecord,
  proposeRecord,
  recordRefusal,
} from '../records/index.ts'
import { ACTION_ID, actionRegistry, showAction, tooLittleTrust } from './action-registry.ts'
import { actionRequest, assertFits, tierProblem } from './action-request.ts'
import { findType } from './find-types.ts'

export const invoke: Handler<typeof contract.invoke> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  // A retry is told of the first request, whatever the types say by now.
  const before = await findEarlierAnswer(call, actionRegistry)
  if (before) return answer(call, before)
  const named = { kind: 'action', name: body.action_name } as const
  const type = await findType(kernel, tenant_id, named)
  if (!type) return call.refuse('type_not_found')
  const request = actionRequest(kernel, body, type)

  const reason = tierProblem(request, principal.max_trust_tier ?? null)
  if (reason !== null) {
    const { row } = await recordRefusal(call, actionRegistry, request, {
      code: 'trust_tier',
      reason,
    })
    throw tooLittleTrust(reason, row.record_id)
  }

  await assertFits(call, request, type)

  const { record } = await proposeRecord(call, actionRegistry, request)
  return answer(call, record)
}

const answer = ({ kernel, tenant_id }: Call, record: OpenRecord) =>
  record.row.status === 'waiting_hitl'
    ? answerWaiting(kernel, tenant_id, record, ACTION_ID)
    : showAction(record, tenant_id)
