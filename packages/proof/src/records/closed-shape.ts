// The closed set of a document's members: what its kind does not have is no part of it.
import type { JsonObject } from '../canonical.ts'
import { findMisfit, isCount, isObject, isText, orNull } from '../shape.ts'
import { type Findings, record } from '../verdict.ts'

type Test = (value: unknown) => boolean
type Shape = Readonly<Record<string, Test>>

/** An object with these members and no other. */
export const closed =
  (shape: Shape): Test =>
  (value) =>
    isObject(value) && faultOf(value, shape) === null

export const listOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test)

export const isBoolean: Test = (value) => typeof value === 'boolean'
/** What is compared or recomputed elsewhere. */
export const isAnything: Test = () => true

const APPROVAL = closed({
  ...{ request_id: isText, approver: isText, approver_id: orNull(isText), decided_by: isText },
  ...{ decided_at: isText, reason: orNull(isText), proposal_digest: isText },
})

const COMMON: Shape = {
  ...{ schema_version: isText, record_kind: isText, tenant_id: isText, created_at: isText },
  ...{ issued_at: isText, nonce: isText, proposal_digest: isText, requested_by: isText },
  ...{ policy_set: isCount, evaluation_id: orNull(isText), approval: orNull(APPROVAL) },
  ...{ signature: isText, public_key: isText, key_id: isText },
}

/** The check `shape`: a document has the members of all records, its kind's own, and no other. */
export function checkShape(document: JsonObject, own: Shape, findings: Findings): void {
  const { signed_bytes, ...signed } = document
  const fault = faultOf(signed, { ...COMMON, ...own })
  record(findings, 'shape', fault === null, fault ?? undefined)
}

function faultOf(value: JsonObject, shape: Shape): string | null {
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(shape, name))
  if (unknown !== undefined) return `${unknown} is no member of it`
  const misfit = findMisfit(value, shape)
  return misfit === null ? null : `${misfit} is not of its shape`
}
