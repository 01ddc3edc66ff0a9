// The version of a type that an action names: there, and as the action says it is.

import { canonicalize, type JsonObject, schemaDigest } from '@custos/proof'
import type { TenantTypes } from './action-request.ts'
import { findVersion, type OpenType } from './find-types.ts'
import { isObject } from './schema-keywords.ts'

/** @param document the signed one of an action */
export async function matchesTypeVersion(
  { kernel, tenant_id }: TenantTypes,
  document: JsonObject,
): Promise<boolean> {
  const named = document['type']
  if (!isObject(named)) return false
  const { type_id, version } = named
  if (typeof type_id !== 'string' || typeof version !== 'number') return false
  const found = await findVersion(kernel, tenant_id, { type_id, version })
  return found !== null && isNamedVersion(named, found, document['action_name'])
}

/** Compared with what was registered, and not with what is made of it today. */
export function isNamedVersion(
  named: JsonObject,
  { record, request }: OpenType,
  action_name: unknown,
): boolean {
  const { series_id: type_id, version, record_id } = record.row
  const { required_trust_tier = null, subject_type = null } = request.spec
  const there = {
    ...{ type_id, version, record_id, required_trust_tier, subject_type },
    schema_digest: schemaDigest(request.spec),
  }
  const called = request.kind === 'action' && request.name === action_name
  return called && canonicalize(there) === canonicalize(named)
}
