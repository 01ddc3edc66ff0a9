// Finds types by kind and name or by id and version, and keeps what was read of them.

import { type WorldTypeKind, worldModelLimits } from '@custos/contract'
import { type JsonObject, type WorldTypeRequest, worldTypeName } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { LruCache } from '../../platform/lru-cache.ts'
import { Refusal } from '../../platform/refusal.ts'
import { nameKey, type OpenRecord, openRecords, openRecordsInBatches } from '../records/index.ts'
import { readSpec, type SpecOf, typeKindOf } from './type-spec.ts'
import { findNewestRow, findVersionRow, listNewestIds, type TypeRow } from './world-types.sql.ts'

/** One version of a type, opened. */
export interface OpenType {
  readonly record: OpenRecord
  readonly request: WorldTypeRequest
}

/** The newest version. */
export async function findType(
  kernel: Kernel,
  tenant_id: string,
  named: { readonly kind: WorldTypeKind; readonly name: string },
): Promise<OpenType | null> {
  const key = await nameKey(kernel, tenant_id, { kind: 'world_type', name: worldTypeName(named) })
  return openFirst(kernel, tenant_id, (db) => findNewestRow(db, key))
}

/** @param version the newest, where none is named */
export const findVersion = (
  kernel: Kernel,
  tenant_id: string,
  { type_id, version }: { readonly type_id: string; readonly version?: number | undefined },
): Promise<OpenType | null> =>
  openFirst(kernel, tenant_id, (db) => findVersionRow(db, type_id, version))

async function openFirst(
  kernel: Kernel,
  tenant_id: string,
  query: (db: TenantDb) => Promise<TypeRow | undefined>,
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

// Written by registering a type, and by nothing else.
function isTypeRequest(request: JsonObject): request is WorldTypeRequest {
  return typeof request['spec'] === 'object'
}

/** A large schema takes a while to read, and a version of a type never changes. */
const SPECS_MAX = 64
type SpecCaches = { readonly [K in WorldTypeKind]: LruCache<string, SpecOf[K]> }
const specCaches = perKernel<SpecCaches>(() => ({
  object: new LruCache({ max: SPECS_MAX }),
  link: new LruCache({ max: SPECS_MAX }),
  action: new LruCache({ max: SPECS_MAX }),
}))

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
  // Types that are registered at the same time may exceed the limit.
  const limit = 2 * worldModelLimits.types_per_tenant
  const ids = await kernel.db.read(tenant_id, (db) => listNewestIds(db, limit))
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

/** Types are large: how many are open at once. */
const BATCH = 4

/** What `show` returns for each type, in the order of the ids. */
export const openTypesInBatches = <T>(
  kernel: Kernel,
  tenant_id: string,
  ids: readonly string[],
  show: (type: OpenType) => T,
): Promise<T[]> =>
  openRecordsInBatches(kernel, tenant_id, { kind: 'world_type', ids, batch: BATCH }, (record) =>
    show(openType(record)),
  )
