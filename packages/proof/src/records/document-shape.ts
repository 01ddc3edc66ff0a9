// The shape of signed documents. Each kind has a closed set of members, checked by predicates.
import type { JsonObject } from '../core/canonical.ts'
import { findMismatch, isCount, isObject, isText, orNull } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'

type MemberTest = (value: unknown) => boolean
type Shape = Readonly<Record<string, MemberTest>>

/** Tests for an object with these members and no others. */
export const exactObject =
  (shape: Shape): MemberTest =>
  (value) =>
    isObject(value) && faultOf(value, shape) === null

export const listOf =
  (test: MemberTest): MemberTest =>
  (value) =>
    Array.isArray(value) && value.every(test)

export const isBoolean: MemberTest = (value) => typeof value === 'boolean'
/** Accepts any value: for members that other code compares or recomputes. */
export const isAnything: MemberTest = () => true

const APPROVAL = exactObject({
  ...{ request_id: isText, approver: isText, approver_id: orNull(isText), decided_by: isText },
  ...{ decided_at: isText, reason: orNull(isText), proposal_digest: isText },
})

const COMMON: Shape = {
  ...{ schema_version: isText, record_kind: isText, tenant_id: isText, created_at: isText },
  ...{ issued_at: isText, nonce: isText, proposal_digest: isText, requested_by: isText },
  ...{ policy_set: isCount, evaluation_id: orNull(isText), approval: orNull(APPROVAL) },
  ...{ signature: isText, public_key: isText, key_id: isText },
}

/** Adds the check `shape`: the members common to all records, the kind's own, and no others. */
export function checkShape(document: JsonObject, own: Shape, findings: VerdictDraft): void {
  const { signed_bytes, ...signed } = document
  const fault = faultOf(signed, { ...COMMON, ...own })
  addCheck(findings, 'shape', fault === null, fault ?? undefined)
}

function faultOf(value: JsonObject, shape: Shape): string | null {
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(shape, name))
  if (unknown !== undefined) return `${unknown} is no member of it`
  const misfit = findMismatch(value, shape)
  return misfit === null ? null : `${misfit} is not of its shape`
}

/** Tiers of trust in ascending order. */
export const ACTION_TIERS = [
  'untrusted',
  'basic',
  'verified',
  'trusted',
  'release',
  'root',
] as const

export const isOneOf =
  (words: readonly string[]) =>
  (value: unknown): boolean =>
    isText(value) && words.includes(value)

/** Whether a value is a SHA-256 in lower-case hex. */
export const isDigest = (value: unknown): boolean => isText(value) && /^[0-9a-f]{64}$/.test(value)

export const isRecordId = (value: unknown): boolean => isText(value) && /^[0-9a-f]{32}$/.test(value)

/** Also accepts an absent member. */
export const absentOr =
  (test: MemberTest): MemberTest =>
  (value) =>
    value === undefined || test(value)

/** Tests for an object with these members and any others. */
export const objectWith =
  (shape: Readonly<Record<string, MemberTest>>): MemberTest =>
  (value) =>
    isObject(value) && findMismatch(value, shape) === null
