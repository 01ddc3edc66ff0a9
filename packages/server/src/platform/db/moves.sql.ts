// SQL of tenants moved between clusters: a control table, which a move writes as the owner.

import { builder } from './builder.ts'
import { listAppliedMigrations } from './control.sql.ts'
import type { Tables } from './schema/tables.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

export type MoveRow = Tables['tenant_moves']

export const findMove = (db: TenantDb): Promise<MoveRow | undefined> =>
  db.first(builder.selectFrom('tenant_moves').selectAll().where('tenant_id', '=', db.tenant_id))

/** Ids of tenants whose units of work are not accepted here, or not yet, ascending. */
export async function listMovingIds(db: TenantDb): Promise<string[]> {
  const query = builder.selectFrom('tenant_moves').select('tenant_id').orderBy('tenant_id')
  return (await db.all(query.where('state', '<>', 'arrived'))).map(({ tenant_id }) => tenant_id)
}

/** Marks a tenant as moved if older data lacks the mark; returns 0 if it exists. */
export const insertMove = (tx: Tx, row: MoveRow): Promise<number> =>
  tx.run(
    builder
      .insertInto('tenant_moves')
      .values(row)
      .onConflict((conflict) => conflict.column('tenant_id').doNothing()),
  )

/** Ids of tenants that another cluster serves, ascending; none in data older than moves. */
export async function listMovedIds(db: TenantDb): Promise<string[]> {
  if (!(await listAppliedMigrations(db)).includes('0065-tenant-moves')) return []
  const query = builder.selectFrom('tenant_moves').select('tenant_id').orderBy('tenant_id')
  return (await db.all(query.where('state', '=', 'left'))).map(({ tenant_id }) => tenant_id)
}
