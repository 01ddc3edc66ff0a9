// A type as it is shown, by itself and in a list.

import { type ListedType, type WorldType, worldModelLimits } from '@custos/contract'
import { actionOperation, schemaDigest } from '@custos/proof'
import { showRow } from '../records/index.ts'
import type { OpenType } from './find-types.ts'
import { kindOf } from './type-registry.ts'

export function showType({ record, request }: OpenType, tenant_id: string): WorldType {
  const { series_id, version, record_id, live } = record.row
  const { name, spec } = request
  const kind = kindOf(request)
  return {
    ...{ type_id: series_id, kind, name, spec: { ...spec }, version, record_id },
    schema_digest: schemaDigest(spec),
    newest: live === 1,
    operation: kind === 'action' ? actionOperation(name) : null,
    ...showRow(record, tenant_id),
  }
}

/** Two hundred large types are no page. */
export function showListedType(type: OpenType, tenant_id: string): ListedType {
  const { spec, ...shown } = showType(type, tenant_id)
  const large = type.record.row.sealed.length > worldModelLimits.listed_type_bytes
  return { ...shown, spec: large ? null : spec, document: null }
}
