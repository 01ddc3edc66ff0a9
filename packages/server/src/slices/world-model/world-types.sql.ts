// SQL of types: the newest version by name, the newest of all, one version, and their number.

import type { Row } from '../../platform/db/schema/tables.ts'
import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

export type TypeRow = Row<'records'>

/** The live record of the name: the newest version. */
export const findNewestRow = (db: TenantDb, name_key: string): Promise<TypeRow | undefined> =>
  db.first(
    from(db, 'records')
      .selectAll()
      .where('kind', '=', 'world_type')
      .where('name_key', '=', name_key)
      .where('live', '=', 1),
  )

/** Finds one version, or the newest if `version` is undefined. */
export function findVersionRow(
  db: TenantDb,
  type_id: string,
  version: number | undefined,
): Promise<TypeRow | undefined> {
  const rows = from(db, 'records')
    .selectAll()
    .where('kind', '=', 'world_type')
    .where('series_id', '=', type_id)
  return db.first(
    version === undefined
      ? rows.orderBy('version', 'desc').limit(1)
      : rows.where('version', '=', version),
  )
}

/** The record ids of the newest versions. */
export async function listNewestIds(db: TenantDb, limit: number): Promise<string[]> {
  const rows = await db.all(
    from(db, 'records')
      .select('record_id')
      .where('kind', '=', 'world_type')
      .where('live', '=', 1)
      .orderBy('record_id')
      .limit(limit),
  )
  return rows.map(({ record_id }) => record_id)
}

export async function countTypes(db: TenantDb): Promise<number> {
  const row = await db.first(
    from(db, 'records')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('kind', '=', 'world_type')
      .where('live', '=', 1),
  )
  return Number(row?.count ?? 0)
}
