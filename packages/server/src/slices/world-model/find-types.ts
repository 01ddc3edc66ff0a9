// Looking types up: by kind and name, by id and version, all of them.

import { type WorldTypeKind, worldModelLimits } from '@custos/contract'
import { type JsonObject, type WorldTypeRequest, worldTypeName } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { listRecords, nameKey, type OpenRecord, openRecords } from '../records/index.ts'
import { readSpec, type SpecOf } from './type-spec.ts'
import { findNewestRow, findVersionRow, type TypeRow } from './world-types.sql.ts'

/** One version of a type, opened. */
export interface OpenType {
  readonly record: OpenRecord
  readonly request: WorldTypeRequest
  readonly document: JsonObject
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
  look: (db: TenantDb) => Promise<TypeRow | undefined>,
): Promise<OpenType | null> {
  const row = await kernel.db.read(tenant_id, look)
  if (!row) return null
  const [record] = await openRecords(kernel, tenant_id, [row])
  return record ? openType(record) : null
}

/** The newest version of every type, by kind and name. */
export async function listTypes(kernel: Kernel, tenant_id: string): Promise<OpenType[]> {
  // The limit may be passed by what is registered at the same time.
  const page = pageOf({}, 2 * worldModelLimits.types_per_tenant)
  const records = await listRecords(kernel, tenant_id, {
    ...{ kind: 'world_type', page },
    live_only: true,
  })
  const orderOf = ({ request: { kind, name } }: OpenType): string => `${kind} ${name}`
  return records.map(openType).sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

export function openType(record: OpenRecord): OpenType {
  const { request, document } = record
  if (document === null || !isTypeRequest(request)) throw new Refusal('type_not_found')
  return { record, request, document }
}

// Written by registering a type, and by nothing else.
function isTypeRequest(request: JsonObject): request is WorldTypeRequest {
  return typeof request['spec'] === 'object'
}

/** What a type that is there asks for. */
export const specOf = <K extends WorldTypeKind>(
  kind: K,
  { request: { name, spec } }: OpenType,
): SpecOf[K] => readSpec({ kind, name }, spec)
