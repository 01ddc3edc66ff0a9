// The registry of actions: the normal form of an action, its checks against a version of its type,
// its signed document, and how it is shown.

import {
  type Action,
  type InvokeRequest,
  type ListedAction,
  type RecordedAuthority,
  TRUST_TIERS,
  type TrustTier,
  worldModelLimits,
} from '@custos/contract'
import {
  type ActionRequest,
  type ActionSubject,
  actionOperation,
  canonicalize,
  isObject,
  type JsonObject,
  paramsDigest,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type AdmittedProposal,
  claimedAuthority,
  effectiveTier,
  type OpenRecord,
  type Registry,
  recordedAuthority,
  showRow,
  type TenantRecords,
  tierRank,
} from '../records/index.ts'
import { findProblems, type SchemaProblem } from './check-run.ts'
import { findType, findVersion, type OpenType, specOf } from './type-registry.ts'
import { specRefusal } from './type-spec.ts'

/** The normal form of a request, which names the newest version of the type. */
export function normalizeAction(
  kernel: Kernel,
  body: InvokeRequest,
  type: OpenType,
): ActionRequest {
  const params = body.params ?? {}
  if (!isObject(params)) throw specRefusal(['body', 'params'], 'must be an object')
  const { params_bytes } = worldModelLimits
  if (Buffer.byteLength(canonicalize(params)) > params_bytes)
    throw specRefusal(['body', 'params'], `parameters must not exceed ${params_bytes} bytes`)
  return {
    action_name: body.action_name,
    subject_refs: body.subject_refs.map(normalizeSubject),
    params,
    authority: claimedAuthority(body.authority ?? undefined),
    type: checkedType(kernel, type),
  }
}

/** The type version that an action is checked against, in the form that the action names it. */
function checkedType(kernel: Kernel, type: OpenType): ActionRequest['type'] {
  const { required_trust_tier, subject_type } = specOf(kernel, 'action', type)
  const { series_id, version, record_id } = type.record.row
  return {
    type_id: series_id,
    version,
    record_id,
    schema_digest: String(type.record.document?.['schema_digest']),
    required_trust_tier,
    subject_type,
  }
}

const normalizeSubject = (subject: InvokeRequest['subject_refs'][number]): ActionSubject =>
  typeof subject === 'string' ? subject : { type: subject.type, ref: subject.ref }

/** Returns why the trust tier is too low, or `null` if it is high enough. */
export function tierProblem(
  { authority, type }: ActionRequest,
  ceiling: TrustTier | null,
): string | null {
  const held = effectiveTier(ceiling, parseTier(authority.trust_tier))
  const required = parseTier(type.required_trust_tier)
  if (required !== null && tierRank(held) >= tierRank(required)) return null
  return `the trust tier ${held} is below ${type.required_trust_tier}, which the action requires`
}

/** The authority in the form that a record states it. */
const authorityOf = ({ authority }: ActionRequest, ceiling: TrustTier | null): RecordedAuthority =>
  recordedAuthority({ ...authority, trust_tier: parseTier(authority.trust_tier) }, ceiling)

/** Requests and records contain only tiers of the contract. */
const parseTier = (tier: string | null): TrustTier | null =>
  TRUST_TIERS.find((known) => known === tier) ?? null

/** Refuses subjects of other types, and parameters that do not fit, without their values. */
export async function assertFits(
  tenant: TenantRecords,
  { subject_refs, params }: ActionRequest,
  type: OpenType,
): Promise<void> {
  const { subject_type, test } = specOf(tenant.kernel, 'action', type)
  const wrong =
    subject_type === null
      ? await findUnknownType(tenant, subject_refs)
      : findOtherType(subject_refs, subject_type)
  if (wrong) throw specRefusal(['body', 'subject_refs', ...wrong.loc], wrong.msg)
  const problems = findProblems(test, params)
  if (problems.length === 0) return
  const detail = problems.map(({ loc, msg }) => ({
    loc: ['body', 'params', ...loc],
    msg,
    type: 'value_error',
  }))
  throw new Refusal('validation', undefined, { detail })
}

function findOtherType(
  subjects: readonly ActionSubject[],
  subject_type: string,
): SchemaProblem | null {
  const asked = `{"type": ${JSON.stringify(subject_type)}, "ref": …}`
  if (subjects.length === 0) return { loc: [], msg: `needs a subject: ${asked}` }
  const i = subjects.findIndex(
    (subject) => typeof subject === 'string' || subject.type !== subject_type,
  )
  return i === -1 ? null : { loc: [i], msg: `must be ${asked}` }
}

/** Finds a subject whose type does not exist, for actions that declare no subject type. */
async function findUnknownType(
  { kernel, tenant_id }: TenantRecords,
  subjects: readonly ActionSubject[],
): Promise<SchemaProblem | null> {
  const known = new Set<string>()
  for (const [i, subject] of subjects.entries()) {
    if (typeof subject === 'string' || known.has(subject.type)) continue
    const { type: name } = subject
    if (!(await findType(kernel, tenant_id, { kind: 'object', name })))
      return { loc: [i, 'type'], msg: 'there is no such object type' }
    known.add(name)
  }
  return null
}

/** Only this registry proposes actions. */
function isActionRequest(request: JsonObject): request is ActionRequest {
  return typeof request['type'] === 'object'
}

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

/** Checks the named version and the newest, which may have become stricter meanwhile. */
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

/** Omits large parameters, because a page of two hundred actions could not hold them. */
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
