// Copies all rows of one tenant from one PostgreSQL to another while the tenant is served.

import { finalTables, type TableSpec } from '../migrations/ddl.ts'
import { migrationsOf } from '../migrations/migrations.ts'
import { isTenantTable } from '../migrations/tenant-tables.sql.ts'
import type { PostgresConnection } from './connection.ts'
import { PostgresError } from './error.ts'
import { keyOf, Page } from './moved-tables.ts'
import { MoveError } from './moving.ts'

/** The number of rows of the tenant in a table, and their digest in the order of the key. */
export interface TenantTableDigest {
  readonly name: string
  readonly rows: number
  /** Lower hex SHA-256 over the SHA-256 of each row. */
  readonly sha256: string
}

/** The state of a copy: rows of transactions from the horizon on may have changed since. */
interface CopyState {
  /** A transaction id of the source. */
  readonly horizon: string
}

const FETCH_ROWS = 500
const UNIQUE_VIOLATION = '23505'

const TABLES = finalTables(migrationsOf('postgres'))

/** Tables of tenants' rows. */
const rowTables = (): TableSpec[] => TABLES.filter(({ name }) => isTenantTable(name))

/**
 * Control tables whose rows move with a tenant, in the order of insertion. Sessions, tickets and
 * pending sign-ins are not moved, because they belong to the address where they were created.
 */
export const CONTROL_TABLES: readonly string[] = [
  'tenants',
  'credentials',
  'credential_limits',
  'policy_sets',
  'billing_objects',
  'billing_events',
  'sso_routes',
  'jobs',
]
export const LEFT_BEHIND: readonly string[] = [
  'sessions',
  'stream_tickets',
  'sso_logins',
  'sso_codes',
]

/** Columns of a job that the process which ran it has set; that process no longer runs it. */
const JOB_COLUMNS = ['state', 'attempts', 'updated_us', 'lease_until_us', 'woken']

const controlTablesMoved = (): TableSpec[] =>
  CONTROL_TABLES.flatMap((name) => TABLES.filter((table) => table.name === name))

/** Runs `act` in one transaction that sees the rows of the tenant; commits if it resolves. */
export async function asTenant<T>(
  connection: PostgresConnection,
  tenant_id: string,
  act: () => Promise<T>,
  begin = 'begin isolation level read committed',
): Promise<T> {
  await connection.step(begin)
  try {
    const sql = `select set_config('app.tenant_id', $1, true),
      set_config('bytea_output', 'hex', true), set_config('extra_float_digits', '1', true)`
    await connection.query({ sql }, [tenant_id])
    const value = await act()
    await connection.commit()
    return value
  } catch (error) {
    await connection.step('rollback')
    throw error
  }
}

const SNAPSHOT = 'begin isolation level repeatable read read only'

/** The two ends of a move. */
export interface RowsOnTheirWay {
  readonly from: PostgresConnection
  readonly to: PostgresConnection
  readonly tenant_id: string
}

/** Copies every row of one snapshot; first removes what the destination has of the tenant. */
export function copyAll(way: RowsOnTheirWay, progress: (text: string) => void): Promise<CopyState> {
  const { from, tenant_id } = way
  return asTenant(
    from,
    tenant_id,
    async () => {
      const sql = 'select pg_snapshot_xmin(pg_current_snapshot())::text as horizon'
      const { rows } = await from.query({ sql }, [])
      for (const table of rowTables()) await copyWhole(way, table, progress)
      return { horizon: String(rows[0].horizon) }
    },
    SNAPSHOT,
  )
}

/** Copies the changes since then; no writes to the tenant's rows may run meanwhile. */
export function copyChanges(
  way: RowsOnTheirWay,
  { horizon }: CopyState,
  progress: (text: string) => void,
): Promise<void> {
  const { from, tenant_id } = way
  const copy = async () => {
    for (const table of rowTables())
      if (!(await copyChanged(way, table, horizon))) await copyWhole(way, table, progress)
  }
  return asTenant(from, tenant_id, copy, SNAPSHOT)
}

async function copyWhole(
  way: RowsOnTheirWay,
  table: TableSpec,
  progress: (text: string) => void,
): Promise<void> {
  const { to, tenant_id } = way
  await asTenant(to, tenant_id, async () => {
    await to.query({ sql: `delete from "${table.name}" where tenant_id = $1` }, [tenant_id])
    const copied = await copyRows(way, table, { where: 'tenant_id = $1', values: [tenant_id] })
    if (copied > 0) progress(`${table.name}, ${copied} rows`)
  })
}

/** Returns false if rows were deleted or keys reassigned: the whole table must then be copied. */
async function copyChanged(
  way: RowsOnTheirWay,
  table: TableSpec,
  horizon: string,
): Promise<boolean> {
  const { from, to, tenant_id } = way
  const where = 'tenant_id = $1 and age(xmin) <= age(($2::xid8)::xid)'
  const values = [tenant_id, horizon]
  try {
    await asTenant(to, tenant_id, () => copyRows(way, table, { where, values }))
  } catch (error) {
    if (error instanceof PostgresError && error.code === UNIQUE_VIOLATION) return false
    throw error
  }
  const kept = await asTenant(to, tenant_id, () => countRows(to, table, tenant_id))
  return kept === (await countRows(from, table, tenant_id))
}

async function countRows(
  connection: PostgresConnection,
  { name }: TableSpec,
  tenant_id: string,
): Promise<number> {
  const sql = `select count(*) as rows from "${name}" where tenant_id = $1`
  return Number((await connection.query({ sql }, [tenant_id])).rows[0].rows)
}

async function copyRows(
  { from, to, tenant_id }: RowsOnTheirWay,
  table: TableSpec,
  { where, values }: { where: string; values: readonly string[] },
): Promise<number> {
  const page = new Page(to, table, { replacing: true })
  const columns = keyOf(Object.keys(table.columns))
  const declare = `declare leaving no scroll cursor for
    select ${columns} from "${table.name}" where ${where}`
  await from.query({ sql: declare }, values)
  let copied = 0
  for (;;) {
    const { rows } = await from.query({ sql: `fetch ${FETCH_ROWS} from leaving` }, [])
    for (const row of rows) {
      if (row.tenant_id !== tenant_id) throw new MoveError(`a row of another tenant came along`)
      await page.add(row)
    }
    copied += rows.length
    if (rows.length < FETCH_ROWS) break
  }
  await from.step('close leaving')
  await page.write()
  return copied
}

/** The digests of all tables in one snapshot, computed by PostgreSQL. */
export function digestTenant(
  connection: PostgresConnection,
  tenant_id: string,
): Promise<TenantTableDigest[]> {
  const digest = async () => {
    const digests: TenantTableDigest[] = []
    for (const table of rowTables()) digests.push(await digestOf(connection, table, tenant_id))
    return digests
  }
  return asTenant(connection, tenant_id, digest, SNAPSHOT)
}

async function digestOf(
  connection: PostgresConnection,
  { name, columns, primary_key }: TableSpec,
  tenant_id: string,
): Promise<TenantTableDigest> {
  const taken = Object.keys(columns).filter((c) => name !== 'jobs' || !JOB_COLUMNS.includes(c))
  const sql = `select count(*) as rows, encode(sha256(coalesce(string_agg(
      sha256(convert_to(row(${keyOf(taken)})::text, 'UTF8')), ''::bytea
      order by ${keyOf(primary_key)}), ''::bytea)), 'hex') as sha256
    from "${name}" where tenant_id = $1`
  const { rows } = await connection.query({ sql }, [tenant_id])
  return { name, rows: Number(rows[0].rows), sha256: String(rows[0].sha256) }
}

/**
 * Copies the control rows in a transaction of the caller at the destination, and returns their
 * digests. Throws MoveError if a row of another tenant is in the way there.
 */
export async function copyControlRows({
  from,
  to,
  tenant_id,
}: RowsOnTheirWay): Promise<TenantTableDigest[]> {
  const digests: TenantTableDigest[] = []
  for (const table of controlTablesMoved()) {
    const columns = Object.keys(table.columns).map((column) => jobColumn(table.name, column))
    const sql = `select ${columns.join(', ')} from "${table.name}" where tenant_id = $1`
    const { rows } = await from.query({ sql }, [tenant_id])
    const page = new Page(to, table)
    try {
      for (const row of rows) await page.add(row)
      await page.write()
    } catch (error) {
      if (!(error instanceof PostgresError) || error.code !== UNIQUE_VIOLATION) throw error
      throw new MoveError(`the destination has a row with the same key in ${table.name}`)
    }
    const [sent, kept] = [
      await digestOf(from, table, tenant_id),
      await digestOf(to, table, tenant_id),
    ]
    requireEqual(sent, kept)
    digests.push(kept)
  }
  return digests
}

// No process of the source runs the job any longer.
function jobColumn(table: string, column: string): string {
  if (table !== 'jobs') return `"${column}"`
  const never = Number.MAX_SAFE_INTEGER
  if (column === 'lease_until_us')
    return `case when state in ('queued', 'running') and ${column} < ${never} then 0
      else ${column} end as ${column}`
  if (column === 'state') return `case state when 'running' then 'queued' else state end as state`
  return `"${column}"`
}

/** Throws MoveError unless the digests are equal. */
export function requireEqual(sent: TenantTableDigest, kept: TenantTableDigest): void {
  if (sent.rows === kept.rows && sent.sha256 === kept.sha256) return
  throw new MoveError(
    `${sent.name} differs at the destination: ${sent.rows} rows were sent, ${kept.rows} are there`,
  )
}

/**
 * Removes the rows of a tenant that has left, except its own row, the digests of its keys and the
 * mark, which tell a caller where it is served now.
 */
export async function removeLeft(connection: PostgresConnection, tenant_id: string): Promise<void> {
  const own = rowTables().map(({ name }) => name)
  const kept = ['tenants', 'credentials']
  const control = [...CONTROL_TABLES.filter((name) => !kept.includes(name)), ...LEFT_BEHIND]
  for (const name of [...own, ...control])
    await asTenant(connection, tenant_id, async () => {
      await connection.query({ sql: `delete from "${name}" where tenant_id = $1` }, [tenant_id])
    })
  const sql = `update credentials set name = '', name_secret_no = null, sealed_name = null
    where tenant_id = $1`
  await connection.query({ sql }, [tenant_id])
}

/** Removes the rows that an abandoned move has left at its destination. */
export async function removeArrived(
  connection: PostgresConnection,
  tenant_id: string,
): Promise<void> {
  for (const { name } of rowTables())
    await asTenant(connection, tenant_id, async () => {
      await connection.query({ sql: `delete from "${name}" where tenant_id = $1` }, [tenant_id])
    })
}
