// The normal form of an action, and its checks against a version of its type.

import {
  type InvokeRequest,
  type RecordedAuthority,
  TRUST_TIERS,
  type TrustTier,
  worldModelLimits,
} from '@custos/contract'
import {
  type ActionRequest,
  type ActionSubject,
  canonicalize,
  isObject,
  type JsonObject,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  claimedAuthority,
  effectiveTier,
  recordedAuthority,
  type TenantRecords,
  tierRank,
} from '../records/index.ts'
import { findProblems } from './check-run.ts'
import { findType, type OpenType, specOf } from './find-types.ts'
import { specRefusal } from './type-spec.ts'

/** The normal form, with the newest version of the type. */
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

/** The version of the type that an action is checked against, as the action names it. */
export function checkedType(kernel: Kernel, type: OpenType): ActionRequest['type'] {
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

/** Why the trust tier is too low; null: it is high enough. */
export function tierProblem(
  { authority, type }: ActionRequest,
  ceiling: TrustTier | null,
): string | null {
  const held = effectiveTier(ceiling, parseTier(authority.trust_tier))
  const required = parseTier(type.required_trust_tier)
  if (required !== null && tierRank(held) >= tierRank(required)) return null
  return `the trust tier ${held} is below ${type.required_trust_tier}, which the action requires`
}

/** The authority as a record states it. */
export const authorityOf = (
  { authority }: ActionRequest,
  ceiling: TrustTier | null,
): RecordedAuthority =>
  recordedAuthority({ ...authority, trust_tier: parseTier(authority.trust_tier) }, ceiling)

/** Requests and records hold tiers of the contract only. */
export const parseTier = (tier: string | null): TrustTier | null =>
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

interface WrongSubject {
  readonly loc: readonly (string | number)[]
  readonly msg: string
}

function findOtherType(
  subjects: readonly ActionSubject[],
  subject_type: string,
): WrongSubject | null {
  const asked = `{"type": ${JSON.stringify(subject_type)}, "ref": …}`
  if (subjects.length === 0) return { loc: [], msg: `needs a subject: ${asked}` }
  const i = subjects.findIndex(
    (subject) => typeof subject === 'string' || subject.type !== subject_type,
  )
  return i === -1 ? null : { loc: [i], msg: `must be ${asked}` }
}

/** An action without a subject type takes no subject of a type that does not exist. */
async function findUnknownType(
  { kernel, tenant_id }: TenantRecords,
  subjects: readonly ActionSubject[],
): Promise<WrongSubject | null> {
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
export function isActionRequest(request: JsonObject): request is ActionRequest {
  return typeof request['type'] === 'object'
}
