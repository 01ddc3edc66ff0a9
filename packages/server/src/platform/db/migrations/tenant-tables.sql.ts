// SQL over all tables of tenants' rows, which the migrations declare; off-boarding removes them.

import { sql } from 'kysely'
import { builder } from '../builder.ts'
import { listAppliedMigrations } from '../control.sql.ts'
import type { TenantTable } from '../schema/tables.ts'
import { deleteFrom, from, type TenantDb, type Tx } from '../tenant-db.ts'
import type { TableSpec } from './ddl.ts'
import { migrations } from './migrations.ts'

const CONTROL: readonly string[] = [
  'instance',
  'tenants',
  'credentials',
  'credential_limits',
  'billing_objects',
  'billing_events',
  'jobs',
  'leases',
  'policy_sets',
  'sessions',
  'sso_routes',
  'sso_logins',
  'sso_codes',
  'stream_tickets',
  'tenant_locks',
  'destructions',
  'tenant_moves',
]

/** Whether a table holds rows of tenants, which only units of work of the same tenant see. */
export const isTenantTable = (name: string): boolean => !CONTROL.includes(name)

/** Tables of tenants' rows, the newest migration's first. */
export const tenantTables = (): TableSpec[] =>
  migrations
    .flatMap(({ tables }) => tables)
    .filter(({ name }) => !CONTROL.includes(name))
    .reverse()

/** Those of the tables that exist: data that is only read may have an older schema. */
export async function listPresent(
  db: TenantDb,
  tables: readonly TableSpec[],
): Promise<readonly TableSpec[]> {
  const applied = new Set(await listAppliedMigrations(db))
  const absent = new Set(
    migrations.filter(({ name }) => !applied.has(name)).flatMap(({ tables }) => tables),
  )
  return tables.filter((table) => !absent.has(table))
}

// The name is from a migration, which was checked against the types of tables.
const named = ({ name }: TableSpec): TenantTable => name as TenantTable

/** Counts up to `limit` rows, which is enough to tell whether there are more. */
export async function countRows(
  db: TenantDb,
  table: TableSpec,
  limit = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const rows = from(db, named(table)).select(sql`1`.as('one')).limit(limit)
  const counted = builder
    .selectFrom(rows.as('rows'))
    .select((e) => e.fn.countAll<number>().as('count'))
  return Number((await db.first(counted))?.count ?? 0)
}

/** Deletes at most `limit` rows; returns how many. */
export function deleteSome(tx: Tx, table: TableSpec, limit: number): Promise<number> {
  const columns = table.primary_key.filter((column) => column !== 'tenant_id')
  const name = named(table)
  if (columns.length === 0) return tx.run(deleteFrom(tx, name))
  const refs = sql.join(columns.map((column) => sql.ref(column)))
  const some = from(tx, name)
    .select(columns.map((column) => sql.ref(column).as(column)))
    .limit(limit)
  return tx.run(deleteFrom(tx, name).where(sql<boolean>`(${refs}) in (${some})`))
}

export async function countRowsOf(
  db: TenantDb,
  table: 'stores' | 'facts' | 'decisions' | 'records' | 'certificates' | 'tombstones',
): Promise<number> {
  const row = await db.first(from(db, table).select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

export const listStoreIds = async (db: TenantDb): Promise<string[]> =>
  (await db.all(from(db, 'stores').select('store_id'))).map(({ store_id }) => store_id)
