// An action as it is shown, by itself and in a list, whatever became of it.

import { type Action, type ListedAction, worldModelLimits } from '@custos/contract'
import { type ActionRequest, actionOperation } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { type OpenRecord, showRow } from '../records/index.ts'
import { authorityOf, isActionRequest, tierNamed } from './action-request.ts'

/** What was asked for: the same in every state. */
export function requestOf({ request }: OpenRecord): ActionRequest {
  if (!isActionRequest(request)) throw new Refusal('action_not_found')
  return request
}

export function showAction(record: OpenRecord, tenant_id: string): Action {
  const request = requestOf(record)
  const { action_name, subject_refs, params, type } = request
  const { document, content, row } = record
  const required_trust_tier = tierNamed(type.required_trust_tier) ?? 'root'
  return {
    action_id: row.record_id,
    action_name,
    subject_refs: [...subject_refs],
    params: { ...params },
    params_digest: document === null ? null : String(document['params_digest']),
    authority: authorityOf(request, content.ceiling),
    operation: actionOperation(action_name),
    gate: document === null ? null : 'allowed',
    type: { ...type, required_trust_tier },
    ...showRow(record, tenant_id),
  }
}

/** Two hundred actions with large parameters are no page. */
export function showListedAction(record: OpenRecord, tenant_id: string): ListedAction {
  const shown = showAction(record, tenant_id)
  const large = record.row.sealed.length > worldModelLimits.listed_action_bytes
  return large ? { ...shown, params: null, document: null } : shown
}
