// The registry of types: each version a record of its own, the newest of them live.

import { type WorldTypeKind, worldModelLimits } from '@custos/contract'
import { canonicalize, schemaDigest, type WorldTypeRequest, worldTypeName } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import type { Proposed, Registry } from '../records/index.ts'
import { findType } from './find-types.ts'
import { mentionsOf, readSpec, refusedSpec } from './type-spec.ts'
import { countTypes } from './world-types.sql.ts'

/** Of a version; a type is known by the id of its first. */
export const RECORD_ID = 'record_id'

/** @param together names of object types that come to be in the same unit */
export function typeRegistry(
  together: ReadonlySet<string> = new Set(),
): Registry<WorldTypeRequest> {
  return {
    kind: 'world_type',
    id_field: RECORD_ID,
    schema_version: 'wm/1',
    standing: 'registered',
    waits: false,
    not_found: 'type_not_found',
    series: true,
    operation: () => 'worldmodel.type.register',
    context: ({ kind, name }) => ({ kind, name }),
    content: (request) => canonicalize(request),
    name: worldTypeName,
    async fields(proposed) {
      const { request, version, series_id } = proposed
      await assertFounded(proposed, together)
      if (version === 1) await assertRoom(proposed)
      const schema_digest = schemaDigest(request.spec)
      return { ...request, type_id: series_id, version, schema_digest }
    },
  }
}

/** The types that it names are there. */
async function assertFounded(
  { kernel, tenant_id, request }: Proposed<WorldTypeRequest>,
  together: ReadonlySet<string>,
): Promise<void> {
  const spec = readSpec({ ...request, kind: kindOf(request) }, request.spec)
  for (const { name, loc } of mentionsOf(spec)) {
    if (together.has(name)) continue
    if (await findType(kernel, tenant_id, { kind: 'object', name })) continue
    throw refusedSpec(loc, 'there is no such object type')
  }
}

async function assertRoom({ kernel, tenant_id }: Proposed<WorldTypeRequest>): Promise<void> {
  const { types_per_tenant } = worldModelLimits
  if ((await kernel.db.read(tenant_id, countTypes)) < types_per_tenant) return
  const reason = `there are ${types_per_tenant} types already`
  throw new Refusal('rejected', reason, { detail: { status: 'rejected', reasons: [reason] } })
}

/** Requests hold kinds of the contract only. */
export const kindOf = ({ kind }: Pick<WorldTypeRequest, 'kind'>): WorldTypeKind =>
  kind === 'link' || kind === 'action' ? kind : 'object'
