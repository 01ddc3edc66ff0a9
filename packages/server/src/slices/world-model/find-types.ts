// Looking types up, by kind and name or by id and version, and what they ask for.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type WorldTypeKind, worldModelLimits } from '@custos/contract'
import { type JsonObject, type WorldTypeRequest, worldTypeName } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { nameKey, type OpenRecord, openRecords } from '../records/index.ts'
import { Remembered } from './remembered.ts'
import { readSpec, type SpecOf, typeKindOf } from './type-spec.ts'
import {
  findNewestRow,
  findTypeRows,
  findVersionRow,
  listNewestIds,
  type TypeRow,
} from './world-types.sql.ts'

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

export function openType(record: OpenRecord): OpenType {
  const { request, document } = record
  if (document === null || !isTypeRequest(request)) throw new Refusal('type_not_found')
  return { record, request, document }
}

// Written by registering a type, and by nothing else.
function isTypeRequest(request: JsonObject): request is WorldTypeRequest {
  return typeof request['spec'] === 'object'
}

/** A large schema takes a while to read. */
const SPECS_MAX = 64
type Specs = { readonly [K in WorldTypeKind]: Remembered<SpecOf[K]> }
const readSpecs = perKernel<Specs>(() => ({
  object: new Remembered(SPECS_MAX),
  link: new Remembered(SPECS_MAX),
  action: new Remembered(SPECS_MAX),
}))

/** What a type that is there asks for; read once of each version. */
export function specOf<K extends WorldTypeKind>(
  kernel: Kernel,
  kind: K,
  { record, request: { name, spec } }: OpenType,
): SpecOf[K] {
  const specs: Remembered<SpecOf[K]> = readSpecs(kernel)[kind]
  const { record_id } = record.row
  return specs.find(record_id) ?? specs.keep(record_id, readSpec({ kind, name }, spec))
}

/** What a type is called. */
interface TypeTitle {
  readonly record_id: string
  readonly kind: WorldTypeKind
  readonly name: string
}

const TITLES_MAX = 20_000
const titles = perKernel(() => new Remembered<TypeTitle>(TITLES_MAX))

/** The newest version of every type, by kind and name. */
export async function listTitles(kernel: Kernel, tenant_id: string): Promise<TypeTitle[]> {
  // The limit may be passed by what is registered at the same time.
  const limit = 2 * worldModelLimits.types_per_tenant
  const ids = await kernel.db.read(tenant_id, (db) => listNewestIds(db, limit))
  const known = titles(kernel)
  const found = ids.map((id) => known.find(id) ?? id)
  const unknown = found.filter((one) => typeof one === 'string')
  const opened = await openInBatches(kernel, tenant_id, unknown, ({ record, request }) => {
    const { record_id } = record.row
    const title = { record_id, kind: typeKindOf(request), name: request.name }
    return known.keep(record_id, title)
  })
  const all = [...found.filter((one) => typeof one !== 'string'), ...opened]
  const orderOf = ({ kind, name }: TypeTitle): string => `${kind} ${name}`
  return all.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

/** How many are open at once. */
const BATCH = 4

/**
 * What `show` makes of each, in the order of the ids. They are opened in small turns: only what is
 * shown stays in memory, and other requests run in between.
 */
export async function openInBatches<T>(
  kernel: Kernel,
  tenant_id: string,
  record_ids: readonly string[],
  show: (type: OpenType) => T,
): Promise<T[]> {
  const shown: T[] = []
  for (let at = 0; at < record_ids.length; at += BATCH) {
    const some = record_ids.slice(at, at + BATCH)
    const rows = await kernel.db.read(tenant_id, (db) => findTypeRows(db, some))
    const byId = new Map(rows.map((row) => [row.record_id, row]))
    const ordered = some.flatMap((id) => byId.get(id) ?? [])
    for (const record of await openRecords(kernel, tenant_id, ordered))
      shown.push(show(openType(record)))
    await nextTurn()
  }
  return shown
}
