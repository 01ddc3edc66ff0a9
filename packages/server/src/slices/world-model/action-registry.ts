// The registry of actions: what is proposed, evaluated and signed, and how it is shown.

import { type Action, type ListedAction, worldModelLimits } from '@custos/contract'
import { type ActionRequest, actionOperation, paramsDigest } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { type AdmittedProposal, type OpenRecord, type Registry, showRow } from '../records/index.ts'
import {
  assertFits,
  authorityOf,
  checkedType,
  isActionRequest,
  parseTier,
  tierProblem,
} from './action-request.ts'
import { findType, findVersion } from './find-types.ts'

export const actionRegistry: Registry<ActionRequest> = {
  kind: 'action',
  id_field: 'action_id',
  schema_version: 'wm/1',
  issued_status: 'invoked',
  approvable: true,
  not_found: 'action_not_found',
  operation: ({ action_name }) => actionOperation(action_name),
  context: ({ action_name, subject_refs, params }) => ({
    action: action_name,
    params,
    subjects: subject_refs,
  }),
  names: { action: 'action_name', subjects: 'subject_refs' },
  async fields(proposal) {
    const { request, ceiling } = proposal
    await requireCurrentType(proposal)
    return {
      document: {
        ...request,
        authority: authorityOf(request, ceiling),
        operation: actionOperation(request.action_name),
        params_digest: paramsDigest(request.params),
        gate: 'allowed',
      },
    }
  },
}

/** Checks the named version and the newest: the type may be stricter since the action waits. */
async function requireCurrentType(proposal: AdmittedProposal<ActionRequest>): Promise<void> {
  const { kernel, tenant_id, request, ceiling } = proposal
  const named = await findVersion(kernel, tenant_id, request.type)
  const newest = await findType(kernel, tenant_id, { kind: 'action', name: request.action_name })
  // A policy that redacts the name of an action leaves none to invoke.
  if (!named || named.record.redacted || newest?.record.row.series_id !== request.type.type_id)
    throw new Refusal('type_not_found')
  const same = newest.record.row.record_id === named.record.row.record_id
  for (const type of same ? [named] : [named, newest]) {
    const problem = tierProblem({ ...request, type: checkedType(kernel, type) }, ceiling)
    if (problem !== null) throw trustRefusal(problem, proposal.record_id)
    await assertFits(proposal, request, type)
  }
}

/** The refusal of an action whose trust tier is below the required one. */
export function trustRefusal(reason: string, action_id: string): Refusal {
  const by = { policy_id: null, name: 'required_trust_tier', reason }
  const detail = { status: 'denied', reason, action_id }
  return new Refusal('policy_denied', reason, { members: by, detail })
}

/** Only this registry proposes actions. */
function requestOf({ request }: OpenRecord): ActionRequest {
  if (!isActionRequest(request)) throw new Refusal('action_not_found')
  return request
}

export function showAction(record: OpenRecord, tenant_id: string): Action {
  const request = requestOf(record)
  const { action_name, subject_refs, params, type } = request
  const { document, content, row } = record
  const required_trust_tier = parseTier(type.required_trust_tier) ?? 'root'
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

/** Two hundred actions with large parameters do not fit on a page. */
function showListed(record: OpenRecord, tenant_id: string): ListedAction {
  const shown = showAction(record, tenant_id)
  const large = record.row.sealed.length > worldModelLimits.listed_action_bytes
  return large ? { ...shown, params: null, document: null } : shown
}

export const actionView = {
  id: 'action_id',
  listKey: 'invocations',
  show: showAction,
  showListed,
} as const
