// The registry of types: each version is a record, and the newest version is live.

import { type ListedType, type WorldType, worldModelLimits } from '@custos/contract'
import {
  actionOperation,
  canonicalize,
  schemaDigest,
  type WorldTypeRequest,
  worldTypeName,
} from '@custos/proof'
import { type AdmittedProposal, type Registry, rejection, showRow } from '../records/index.ts'
import { findType, type OpenType } from './find-types.ts'
import { mentionsOf, readSpec, specRefusal, typeKindOf } from './type-spec.ts'
import { countTypes } from './world-types.sql.ts'

/** @param together names of object types that are registered in the same unit of work */
export function typeRegistry(
  together: ReadonlySet<string> = new Set(),
): Registry<WorldTypeRequest> {
  return {
    kind: 'world_type',
    // Of a version; `type_id` is the id of the first version.
    id_field: 'record_id',
    schema_version: 'wm/1',
    issued_status: 'registered',
    approvable: false,
    not_found: 'type_not_found',
    series: true,
    operation: () => 'world_model.register_type',
    context: ({ kind, name }) => ({ kind, name }),
    content: (request) => canonicalize(request),
    name: worldTypeName,
    async fields(proposal) {
      const { request, version, series_id } = proposal
      await requireMentions(proposal, together)
      if (version === 1) await requireRoom(proposal)
      const schema_digest = schemaDigest(request.spec)
      return { document: { ...request, type_id: series_id, version, schema_digest } }
    },
  }
}

/** Refuses a spec that names an object type that does not exist. */
async function requireMentions(
  { kernel, tenant_id, request }: AdmittedProposal<WorldTypeRequest>,
  together: ReadonlySet<string>,
): Promise<void> {
  const spec = readSpec({ ...request, kind: typeKindOf(request) }, request.spec)
  for (const { name, loc } of mentionsOf(spec)) {
    if (together.has(name)) continue
    if (await findType(kernel, tenant_id, { kind: 'object', name })) continue
    throw specRefusal(loc, 'there is no such object type')
  }
}

/** Refuses a new type beyond the limit of the tenant. */
async function requireRoom({
  kernel,
  tenant_id,
}: AdmittedProposal<WorldTypeRequest>): Promise<void> {
  const { types_per_tenant } = worldModelLimits
  if ((await kernel.db.read(tenant_id, countTypes)) < types_per_tenant) return
  throw rejection([`there are ${types_per_tenant} types already`])
}

export function showType({ record, request }: OpenType, tenant_id: string): WorldType {
  const { series_id, version, record_id, live } = record.row
  const { name, spec } = request
  const kind = typeKindOf(request)
  return {
    type_id: series_id,
    kind,
    name,
    spec: { ...spec },
    version,
    record_id,
    schema_digest: schemaDigest(spec),
    newest: live === 1,
    operation: kind === 'action' ? actionOperation(name) : null,
    ...showRow(record, tenant_id),
  }
}

/** Two hundred large types do not fit on a page. */
export function showListedType(type: OpenType, tenant_id: string): ListedType {
  const { spec, ...shown } = showType(type, tenant_id)
  const large = type.record.row.sealed.length > worldModelLimits.listed_type_bytes
  return { ...shown, spec: large ? null : spec, document: null }
}
