// The registry of types. Each version is a record, and the newest is live. Finds types by kind and
// name or by id and version, and caches their compiled specs.

import {
  type ListedType,
  type WorldType,
  type WorldTypeKind,
  worldModelLimits,
} from '@custos/contract'
import {
  actionOperation,
  canonicalize,
  type JsonObject,
  schemaDigest,
  type WorldTypeRequest,
  worldTypeName,
} from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { LruCache } from '../../platform/lru-cache.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type AdmittedProposal,
  countTypes,
  findLiveByName,
  findTypeVersion,
  listTypeIds,
  nameKey,
  type OpenRecord,
  openRecords,
  openRecordsInBatches,
  type RecordRow,
  type Registry,
  rejection,
  showRow,
} from '../records/index.ts'
import { mentionsOf, readSpec, type SpecOf, specRefusal, typeKindOf } from './type-spec.ts'

/** One version of a type, opened. */
export interface OpenType {
  readonly record: OpenRecord
  readonly request: WorldTypeRequest
}

/** Finds the newest version of a type. */
export async function findType(
  kernel: Kernel,
  tenant_id: string,
  named: { readonly kind: WorldTypeKind; readonly name: string },
): Promise<OpenType | null> {
  const key = await nameKey(kernel, tenant_id, { kind: 'world_type', name: worldTypeName(named) })
  return openFirst(kernel, tenant_id, (db) => findLiveByName(db, 'world_type', key))
}

/** @param version defaults to the newest */
export const findVersion = (
  kernel: Kernel,
  tenant_id: string,
  { type_id, version }: { readonly type_id: string; readonly version?: number | undefined },
): Promise<OpenType | null> =>
  openFirst(kernel, tenant_id, (db) => findTypeVersion(db, type_id, version))

async function openFirst(
  kernel: Kernel,
  tenant_id: string,
  query: (db: TenantDb) => Promise<RecordRow | undefined>,
): Promise<OpenType | null> {
  const row = await kernel.db.read(tenant_id, query)
  if (!row) return null
  const [record] = await openRecords(kernel, tenant_id, [row])
  return record ? openType(record) : null
}

export function openType(record: OpenRecord): OpenType {
  const { request, redacted, document } = record
  if ((document === null && !redacted) || !isTypeRequest(request))
    throw new Refusal('type_not_found')
  return { record, request }
}

// Only the registration of a type writes these requests.
function isTypeRequest(request: JsonObject): request is WorldTypeRequest {
  return typeof request['spec'] === 'object'
}

/** Compiled specs are cached: large schemas are slow to read, and versions never change. */
const SPECS_MAX = 64
const specCaches = perKernel<{ readonly [K in WorldTypeKind]: LruCache<string, SpecOf[K]> }>(
  () => ({
    object: new LruCache({ max: SPECS_MAX }),
    link: new LruCache({ max: SPECS_MAX }),
    action: new LruCache({ max: SPECS_MAX }),
  }),
)

/** The requirements of a registered type. */
export function specOf<K extends WorldTypeKind>(
  kernel: Kernel,
  kind: K,
  { record, request: { name, spec } }: OpenType,
): SpecOf[K] {
  const cache: LruCache<string, SpecOf[K]> = specCaches(kernel)[kind]
  const { record_id } = record.row
  return cache.get(record_id) ?? cache.set(record_id, readSpec({ kind, name }, spec))
}

/** Kind and name of a type. They are sealed with the rest, so they are cached once opened. */
interface TypeTitle {
  readonly record_id: string
  readonly kind: WorldTypeKind
  readonly name: string
}

const TITLES_MAX = 20_000
const titleCache = perKernel(() => new LruCache<string, TypeTitle>({ max: TITLES_MAX }))

/** The newest version of every type, by kind and name. */
export async function listTitles(kernel: Kernel, tenant_id: string): Promise<TypeTitle[]> {
  // Types registered concurrently may exceed the limit.
  const limit = 2 * worldModelLimits.types_per_tenant
  const ids = await kernel.db.read(tenant_id, (db) => listTypeIds(db, limit))
  const cache = titleCache(kernel)
  const found = ids.map((id) => cache.get(id) ?? id)
  const missing = found.filter((one) => typeof one === 'string')
  const opened = await openTypesInBatches(kernel, tenant_id, missing, ({ record, request }) => {
    const { record_id } = record.row
    return cache.set(record_id, { record_id, kind: typeKindOf(request), name: request.name })
  })
  const all = [...found.filter((one) => typeof one !== 'string'), ...opened]
  const orderOf = ({ kind, name }: TypeTitle): string => `${kind} ${name}`
  return all.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

/** How many types are open at once, because types are large. */
const BATCH = 4

/** Returns the result of `show` for each type, in the order of `ids`. */
export const openTypesInBatches = <T>(
  kernel: Kernel,
  tenant_id: string,
  ids: readonly string[],
  show: (type: OpenType) => T,
): Promise<T[]> =>
  openRecordsInBatches(kernel, tenant_id, { kind: 'world_type', ids, batch: BATCH }, (record) =>
    show(openType(record)),
  )

/** @param together names of object types that are registered in the same unit of work */
export function typeRegistry(
  together: ReadonlySet<string> = new Set(),
): Registry<WorldTypeRequest> {
  return {
    kind: 'world_type',
    // The id of a version. `type_id` is the id of the first version.
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

/** Omits large specs, because a page of two hundred types could not hold them. */
export function showListedType(type: OpenType, tenant_id: string): ListedType {
  const { spec, ...shown } = showType(type, tenant_id)
  const large = type.record.row.sealed.length > worldModelLimits.listed_type_bytes
  return { ...shown, spec: large ? null : spec, document: null }
}
