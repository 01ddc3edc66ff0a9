// Actions: the operation, its subjects, its authority and the type it was checked against.
import { canonicalBytes, type Json, type JsonObject } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { toHex } from '../core/encoding.ts'
import { isCount, isObject, isText, orNull } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import {
  ACTION_TIERS,
  checkShape,
  exactObject,
  isDigest,
  isOneOf,
  isRecordId,
  listOf,
} from './document-shape.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'
import { actionOperation } from './world-type.ts'

export { ACTION_TIERS }

/** The name of an object, or its name with its stated type. */
export type ActionSubject = string | { readonly type: string; readonly ref: string }

/** The version of the type that an action was checked against. */
export type ActionType = {
  readonly type_id: string
  readonly version: number
  /** The id of the record of that version. */
  readonly record_id: string
  readonly schema_digest: string
  readonly required_trust_tier: string
  readonly subject_type: string | null
}

/** The action that is proposed and, if it has to wait, approved. It is in normal form. */
export type ActionRequest = {
  readonly action_name: string
  readonly subject_refs: readonly ActionSubject[]
  readonly params: JsonObject
  readonly authority: {
    readonly delegation_ref: string | null
    readonly human_principal: string | null
    /** The tier that the caller claims. */
    readonly trust_tier: string | null
  }
  readonly type: ActionType
}

export type ActionDocument = RecordMembers &
  Omit<ActionRequest, 'authority'> & {
    readonly action_id: string
    readonly authority: {
      readonly delegation_ref: string | null
      readonly human_principal: string | null
      readonly claimed_tier: string | null
      /** The effective tier: the claimed one, limited by the credential. */
      readonly trust_tier: string
    }
    readonly operation: string
    readonly params_digest: string
    /** The verdict of the policies on this action, after the approval of a person if needed. */
    readonly gate: 'allowed'
  }

/** Hex SHA-256 of the RFC 8785 bytes of the parameters. */
export function paramsDigest(params: JsonObject): string {
  return toHex(sha256(canonicalBytes(params)))
}

function requestOf(document: JsonObject): JsonObject {
  const { action_name = null, subject_refs = null, params = null, type = null } = document
  const authority = isObject(document['authority']) ? document['authority'] : {}
  const { delegation_ref = null, human_principal = null, claimed_tier = null } = authority
  return {
    ...{ action_name, subject_refs, params, type },
    authority: { delegation_ref, human_principal, trust_tier: claimed_tier },
  }
}

const isType = exactObject({
  type_id: isRecordId,
  version: isCount,
  record_id: isRecordId,
  schema_digest: isDigest,
  required_trust_tier: isOneOf(ACTION_TIERS),
  subject_type: orNull(isText),
})
const isTypedSubject = exactObject({ type: isText, ref: isText })
const SHAPE = {
  ...{ action_id: isRecordId, action_name: isText, operation: isText, gate: isText },
  ...{ params: isObject, params_digest: isDigest, type: isType },
  subject_refs: listOf((subject) => isText(subject) || isTypedSubject(subject)),
  authority: exactObject({
    delegation_ref: orNull(isText),
    human_principal: orNull(isText),
    claimed_tier: orNull(isOneOf(ACTION_TIERS)),
    trust_tier: isOneOf(ACTION_TIERS),
  }),
}

function check(document: JsonObject, findings: VerdictDraft): void {
  checkShape(document, SHAPE, findings)
  const { action_name, operation, params, gate } = document
  const { type, authority, subject_refs } = document
  const digest = isObject(params) && document['params_digest'] === paramsDigest(params)
  addCheck(
    findings,
    'params_consistent',
    digest,
    'params_digest does not follow from the parameters',
  )
  const named = isText(action_name) && operation === actionOperation(action_name)
  addCheck(findings, 'operation', named, 'is not the one of the action')
  addCheck(findings, 'gate', gate === 'allowed', 'is not allowed')
  const checked = isObject(type) ? type : {}
  addCheck(findings, 'type', isVersion(checked), 'is not a version of a type')
  const sufficient = isSufficient(isObject(authority) ? authority : {}, checked)
  addCheck(findings, 'trust_tier', sufficient, 'is below what the action requires')
  const typed = isOfType(subject_refs ?? null, checked['subject_type'] ?? null)
  addCheck(findings, 'subject_type', typed, 'is not the one of a subject')
  findings.notChecked.push(
    'the parameters against their schema: see the version of the type that is named',
    'who human_principal is: a name as the caller gave it',
  )
}

/** Whether id and version agree: the record id of the first version is the id of the type. */
function isVersion({ type_id, version, record_id }: JsonObject): boolean {
  return version === 1
    ? type_id === record_id
    : isCount(version) && version > 1 && type_id !== record_id
}

/** Whether a tier suffices. An unknown tier never suffices and is never satisfied. */
function isSufficient({ trust_tier, claimed_tier = null }: JsonObject, type: JsonObject): boolean {
  const held = rank(trust_tier)
  const required = rank(type['required_trust_tier'])
  // The effective tier must not be above the claimed one.
  const claimed = claimed_tier === null ? rank('untrusted') : rank(claimed_tier)
  return held >= 0 && required >= 0 && held >= required && held <= claimed
}

const RANKED: readonly unknown[] = ACTION_TIERS
const rank = (tier: unknown): number => RANKED.indexOf(tier)

function isOfType(subjects: Json, subject_type: Json): boolean {
  if (!Array.isArray(subjects)) return false
  if (subject_type === null) return true
  return (
    subjects.length > 0 &&
    subjects.every((subject) => isObject(subject) && subject['type'] === subject_type)
  )
}

export const actionRules: RecordRules = {
  kind: 'action',
  id_field: 'action_id',
  schema_version: 'wm/1',
  requestOf,
  check,
}
