// World-model types: a tenant's types of objects, of links between them, and of actions.
import { canonicalBytes, canonicalize, type JsonObject } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { toHex } from '../core/encoding.ts'
import { isCount, isObject, isText, optional } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import {
  ACTION_TIERS,
  checkShape,
  exactObject,
  isDigest,
  isOneOf,
  isRecordId,
} from './document-shape.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'

/** The request for a type, in normal form. */
export type WorldTypeRequest = {
  /** `object`, `link` or `action`. */
  readonly kind: string
  readonly name: string
  readonly spec: JsonObject
}

/** One version of a type: a separate record under a `type_id` that all versions share. */
export type WorldTypeDocument = RecordMembers & {
  readonly record_id: string
  /** The `record_id` of version 1. */
  readonly type_id: string
  /** Version of the type, from 1 without gaps. */
  readonly version: number
  readonly kind: string
  readonly name: string
  readonly spec: JsonObject
  readonly schema_digest: string
}

/** Prefix under which policies govern every action, whatever its author calls it. */
export const ACTION_OPERATION_PREFIX = 'worldmodel.action.'

/** The name of the operation of an action in policies. */
export const actionOperation = (name: string): string => `${ACTION_OPERATION_PREFIX}${name}`

/** Hex SHA-256 of the RFC 8785 bytes of the spec. */
export function schemaDigest(spec: JsonObject): string {
  return toHex(sha256(canonicalBytes(spec)))
}

/** A text that is equal for all versions of a type. */
export const worldTypeName = ({ kind, name }: Pick<WorldTypeRequest, 'kind' | 'name'>): string =>
  canonicalize([kind, name])

function requestOf({ kind = null, name = null, spec = null }: JsonObject): JsonObject {
  return { kind, name, spec }
}

const SHAPE = {
  ...{ record_id: isRecordId, type_id: isRecordId, version: isCount, schema_digest: isDigest },
  ...{ kind: isOneOf(['object', 'link', 'action']), name: isText, spec: isObject },
}

const NOTES = { description: optional(isText), template_source: optional(isText) }
const isLinkSpec = exactObject({
  ...NOTES,
  from_type: isText,
  to_type: isText,
  cardinality: optional(isOneOf(['one_to_one', 'one_to_many', 'many_to_one', 'many_to_many'])),
})
const isActionSpec = exactObject({
  ...NOTES,
  operation: optional(isText),
  required_trust_tier: isOneOf(ACTION_TIERS),
  input_schema: optional(isObject),
  subject_type: optional(isText),
})

/** Whether a value is a spec of the kind. The spec of an object is a schema with any members. */
function isSpec(kind: unknown, spec: unknown): boolean {
  if (kind === 'link') return isLinkSpec(spec)
  return kind === 'action' ? isActionSpec(spec) : isObject(spec)
}

function check(document: JsonObject, findings: VerdictDraft): void {
  checkShape(document, SHAPE, findings)
  const { kind, spec } = document
  addCheck(findings, 'spec', isSpec(kind, spec), 'is not one of its kind')
  const digest = isObject(spec) && document['schema_digest'] === schemaDigest(spec)
  addCheck(findings, 'schema_consistent', digest, 'schema_digest does not follow from the spec')
  const { record_id, type_id, version } = document
  const first = version === 1 && type_id === record_id
  const later = isCount(version) && version > 1 && isText(type_id) && type_id !== record_id
  addCheck(findings, 'version', first || later, 'does not fit the ids of the type and its version')
  if (!first) findings.notChecked.push('the earlier versions: type_id is the record of the first')
  if (kind === 'link') findings.notChecked.push('the types it joins: they are records of their own')
}

export const worldTypeRules: RecordRules = {
  kind: 'world_type',
  id_field: 'record_id',
  schema_version: 'wm/1',
  requestOf,
  check,
}
