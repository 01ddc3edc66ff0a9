// Access control on PostgreSQL: the role of requests, and row-level security per tenant.

import { OperatorError } from '../../operator-error.ts'
import type { TableSpec } from '../migrations/ddl.ts'
import type { controlTables } from '../schema/control-tables.ts'
import type { PostgresConnection } from './connection.ts'

/** The role of every transaction. It owns nothing, cannot log in and bypasses no policy. */
export const APP_ROLE = 'custos_app'

/**
 * The minimal rights that control.sql.ts, jobs.sql.ts, leases.sql.ts and the start need. A move of
 * a tenant writes as the owner.
 */
const CONTROL_GRANTS: Readonly<Record<keyof typeof controlTables, readonly string[]>> = {
  instance: ['select'],
  tenants: ['select', 'insert'],
  credentials: ['select', 'insert', 'update (revoked_us)'],
  credential_limits: ['select', 'insert', 'update (ends_us)', 'delete'],
  jobs: [
    'select',
    'insert',
    'update (state, progress_done, progress_total, attempts, error, updated_us, lease_until_us)',
  ],
  leases: ['select', 'insert', 'update (holder, until_us)', 'delete'],
  policy_sets: ['select', 'insert', 'update (policy_set)'],
  billing_objects: ['select', 'insert', 'delete'],
  billing_events: ['select', 'insert', 'delete'],
  sessions: ['select', 'insert', 'update (used_us)', 'delete'],
  sso_routes: ['select', 'insert', 'delete'],
  sso_logins: ['select', 'insert', 'delete'],
  sso_codes: ['select', 'insert', 'delete'],
  stream_tickets: ['select', 'insert', 'delete'],
  tenant_moves: ['select', 'insert'],
  destructions: ['select', 'insert', 'update (log_seq, destroyed_us, record, job_id, removed_us)'],
}

const isControl = (name: string): name is keyof typeof controlTables =>
  Object.hasOwn(CONTROL_GRANTS, name)

/** Statements that give the role its rights on a table. */
export const grantDdl = ({ name }: TableSpec): string[] =>
  (isControl(name) ? CONTROL_GRANTS[name] : ['select, insert, update, delete']).map((rights) =>
    rightDdl(name, rights),
  )

export const rightDdl = (table: string, rights: string): string =>
  `grant ${rights} on "${table}" to ${APP_ROLE}`

/** Statements that open a new table to the role: all rows, or one tenant's rows at a time. */
export function accessDdl(table: TableSpec): string[] {
  const { name, primary_key } = table
  if (isControl(name)) return grantDdl(table)
  if (primary_key[0] !== 'tenant_id') throw new Error(`${name} is no tenant's and no control table`)
  const own = `tenant_id = current_setting('app.tenant_id', true)`
  return [
    `alter table "${name}" enable row level security`,
    // Applies to the owner too, so that a mistaken login shows nothing.
    `alter table "${name}" force row level security`,
    `create policy "${name}_tenant" on "${name}" using (${own}) with check (${own})`,
    ...grantDdl(table),
  ]
}

/** Opens the rows of all tenants to a transaction that declares itself this reader, no other. */
export const readerDdl = (table: string, reader: string): string =>
  `create policy "${table}_${reader}" on "${table}" for select ` +
  `using (current_setting('app.reader', true) = '${reader}')`

/** The role is unfit: it would not restrict requests to their tenant. */
export class RoleUnfit extends OperatorError {}

const FITNESS = `select rolsuper or rolbypassrls or rolcanlogin as unfit
  from pg_roles where rolname = $1`

/** Creates the role if it is missing, and allows the current user to assume it. */
export async function ensureRole(connection: PostgresConnection): Promise<void> {
  const { rows } = await connection.query({ sql: FITNESS }, [APP_ROLE])
  if (rows.length === 0) await connection.step(`create role ${APP_ROLE} nologin nobypassrls`)
  else if (rows[0].unfit)
    throw new RoleUnfit(`the role ${APP_ROLE} may log in or bypass row security: alter or drop it`)
  await connection.step(`grant usage on schema ${await currentSchema(connection)} to ${APP_ROLE}`)
  if (!(await maySetRole(connection))) await connection.step(`grant ${APP_ROLE} to current_user`)
}

/** Whether the role exists and may read these tables; a table that does not exist is ignored. */
export async function hasRights(
  connection: PostgresConnection,
  tables: readonly string[],
): Promise<boolean> {
  const sql = `select coalesce(
    has_schema_privilege(to_regrole($1), current_schema(), 'usage')
    and bool_and(has_table_privilege(to_regrole($1), to_regclass(quote_ident(name)), 'select')),
    false) as has from unnest($2::text[]) as name`
  return Boolean((await connection.query({ sql }, [APP_ROLE, tables])).rows[0].has)
}

async function currentSchema(connection: PostgresConnection): Promise<string> {
  const { rows } = await connection.query(
    { sql: 'select quote_ident(current_schema()) as name' },
    [],
  )
  return String(rows[0].name)
}

// Since PostgreSQL 16, a member of a role may lack the right to assume it.
async function maySetRole(connection: PostgresConnection): Promise<boolean> {
  const sql = `select pg_has_role(current_user, $1, case
    when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end) as may`
  return Boolean((await connection.query({ sql }, [APP_ROLE])).rows[0].may)
}
