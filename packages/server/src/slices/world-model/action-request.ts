// What an action asks for, checked against the version of its type that it names.

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
  type JsonObject,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { claimedAuthority, effectiveTier, recordedAuthority, tierRank } from '../records/index.ts'
import { findProblems } from './check-run.ts'
import { findType, type OpenType, specOf } from './find-types.ts'
import { isObject } from './schema-keywords.ts'
import { specRefusal } from './type-spec.ts'

/** The normal form, under the version of the type there is now. */
export function actionRequest(kernel: Kernel, body: InvokeRequest, type: OpenType): ActionRequest {
  const params = body.params ?? {}
  if (!isObject(params)) throw specRefusal(['body', 'params'], 'must be an object')
  const { params_bytes } = worldModelLimits
  if (Buffer.byteLength(canonicalize(params)) > params_bytes)
    throw specRefusal(['body', 'params'], `parameters have ${params_bytes} bytes at most`)
  return {
    action_name: body.action_name,
    subject_refs: body.subject_refs.map(normalizeSubject),
    params,
    authority: claimedAuthority(body.authority ?? undefined),
    type: checkedType(kernel, type),
  }
}

/** How the version that an action is checked against stands in it. */
export function checkedType(kernel: Kernel, type: OpenType): ActionRequest['type'] {
  const { required_trust_tier, subject_type } = specOf(kernel, 'action', type)
  const { series_id, version, record_id } = type.record.row
  return {
    ...{ type_id: series_id, version, record_id },
    schema_digest: String(type.document['schema_digest']),
    ...{ required_trust_tier, subject_type },
  }
}

const normalizeSubject = (subject: InvokeRequest['subject_refs'][number]): ActionSubject =>
  typeof subject === 'string' ? subject : { type: subject.type, ref: subject.ref }

/** Why the trust that holds is not enough; null: it is. */
export function tierProblem(
  { authority, type }: ActionRequest,
  ceiling: TrustTier | null,
): string | null {
  const held = effectiveTier(ceiling, parseTier(authority.trust_tier))
  const required = parseTier(type.required_trust_tier)
  if (required !== null && tierRank(held) >= tierRank(required)) return null
  return `the trust tier ${held} is below ${type.required_trust_tier}, which the action requires`
}

/** The authority as it stands in a record. */
export const authorityOf = (
  { authority }: ActionRequest,
  ceiling: string | null,
): RecordedAuthority =>
  recordedAuthority(
    { ...authority, trust_tier: parseTier(authority.trust_tier) },
    parseTier(ceiling),
  )

/** Requests and records hold tiers of the contract only. */
export const parseTier = (tier: string | null): TrustTier | null =>
  TRUST_TIERS.find((known) => known === tier) ?? null

export interface TenantTypes {
  readonly kernel: Kernel
  readonly tenant_id: string
}

/** Refuses subjects of other types, and parameters that do not fit: 422 without their values. */
export async function assertFits(
  asking: TenantTypes,
  { subject_refs, params }: ActionRequest,
  type: OpenType,
): Promise<void> {
  const { subject_type, test } = specOf(asking.kernel, 'action', type)
  const wrong =
    subject_type === null
      ? await findUnknownType(asking, subject_refs)
      : findOtherType(subject_refs, subject_type)
  if (wrong) throw specRefusal(['body', 'subject_refs', ...wrong.loc], wrong.msg)
  const problems = findProblems(test, params)
  if (problems.length === 0) return
  const detail = problems.map(({ loc, msg }) => ({
    ...{ loc: ['body', 'params', ...loc], msg },
    type: 'value_error',
  }))
  throw new Refusal('validation', undefined, { detail })
}

interface WrongSubject {
  readonly loc: readonly (string | number)[]
  readonly msg: string
}

type ActionSubjects = readonly ActionSubject[]

function findOtherType(subjects: ActionSubjects, subject_type: string): WrongSubject | null {
  const asked = `{"type": ${JSON.stringify(subject_type)}, "ref": …}`
  if (subjects.length === 0) return { loc: [], msg: `needs a subject: ${asked}` }
  const i = subjects.findIndex(
    (subject) => typeof subject === 'string' || subject.type !== subject_type,
  )
  return i === -1 ? null : { loc: [i], msg: `must be ${asked}` }
}

/** An action of any subject takes no subject of a type that is not there. */
async function findUnknownType(
  { kernel, tenant_id }: TenantTypes,
  subjects: ActionSubjects,
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

/** Written by invoking an action, and by nothing else. */
export function isActionRequest(request: JsonObject): request is ActionRequest {
  return typeof request['type'] === 'object'
}
