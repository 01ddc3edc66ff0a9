// Marks a database into which an embedded one is being moved: it has no owner until that is done.

import { OperatorError } from '../../operator-error.ts'
import { migrationsOf } from '../migrations/migrations.ts'
import type { PostgresConnection } from './connection.ts'
import { PostgresError } from './error.ts'
import { migratePostgres } from './migrate.ts'

/** The database cannot be moved into, or a move into it is incomplete; the message is one line. */
export class MoveError extends OperatorError {}

/** Prefix of the instance id in the `instance` table while the move is running. */
const MOVING = 'moving/'

const NOT_OWNER = '42501'

/** The owner of the database, and whether a move into it is running; null if it has no owner. */
export async function findHolder(
  connection: PostgresConnection,
): Promise<{ instance_id: string; moving: boolean } | null> {
  if (!(await isThere(connection, 'instance'))) return null
  const { rows } = await connection.query({ sql: 'select instance_id from instance' }, [])
  if (rows.length === 0) return null
  const id = String(rows[0].instance_id)
  const moving = id.startsWith(MOVING)
  return { instance_id: moving ? id.slice(MOVING.length) : id, moving }
}

/** Throws MoveError if a move into the database was started but not finished. */
export async function requireWhole(connection: PostgresConnection): Promise<void> {
  if ((await findHolder(connection))?.moving)
    throw new MoveError(
      'the database holds part of an embedded one only: custos migrate-engine did not finish; ' +
        'run it again with --force',
    )
}

/**
 * Throws MoveError unless all existing tables are empty or, with `force`, a move into them was
 * started before. Changes nothing.
 */
export async function requireRoom(
  connection: PostgresConnection,
  { force }: { force: boolean },
): Promise<void> {
  const holder = await findHolder(connection)
  if (holder?.moving && force) return
  if (holder?.moving) return requireWhole(connection)
  if (holder) throw new MoveError(notEmpty('instance'))
  await connection.step('begin')
  try {
    await requireEmpty(connection)
  } finally {
    await connection.step('rollback')
  }
}

/** Creates the tables and the mark, which is the first row. Throws as `requireRoom` does. */
export async function beginMove(
  connection: PostgresConnection,
  options: { instance_id: string; force: boolean },
): Promise<void> {
  await requireRoom(connection, options)
  await migratePostgres(connection)
  await connection.step('begin; lock table instance in exclusive mode')
  try {
    // Checked again, since from here nobody can become the owner.
    if ((await findHolder(connection))?.moving && options.force) await clear(connection)
    else await requireEmpty(connection)
    const sql = 'insert into instance (instance_id) values ($1)'
    await connection.query({ sql }, [MOVING + options.instance_id])
    await connection.commit()
  } catch (error) {
    await connection.step('rollback')
    throw error
  }
}

/** Makes the instance the owner of the database. */
export async function endMove(connection: PostgresConnection, instance_id: string): Promise<void> {
  const sql = 'update instance set instance_id = $1 where instance_id = $2'
  const { rowCount } = await connection.query({ sql }, [instance_id, MOVING + instance_id])
  if (rowCount !== 1) throw new MoveError('the database was taken by another process meanwhile')
}

/** Runs `query` on the rows of all tenants in a table; its changes are rolled back. */
export async function seeingAll<T>(
  connection: PostgresConnection,
  table: string,
  query: () => Promise<T>,
): Promise<T> {
  await connection.step('begin')
  try {
    await openPolicies(connection, table)
    return await query()
  } finally {
    await connection.step('rollback')
  }
}

async function requireEmpty(connection: PostgresConnection): Promise<void> {
  for (const name of tableNames()) {
    if (!(await isThere(connection, name))) continue
    await connection.step('savepoint read_all')
    await openPolicies(connection, name)
    const { rows } = await connection.query({ sql: `select 1 as found from "${name}" limit 1` }, [])
    await connection.step('rollback to savepoint read_all')
    if (rows.length > 0) throw new MoveError(notEmpty(name))
  }
}

// The policies apply to the owner too, who would see an empty table.
async function openPolicies(connection: PostgresConnection, name: string): Promise<void> {
  try {
    await connection.step(
      `set local lock_timeout = '5s'; alter table "${name}" no force row level security`,
    )
  } catch (error) {
    if (!(error instanceof PostgresError) || error.code !== NOT_OWNER) throw error
    throw new MoveError('the role of CUSTOS_DATABASE_URL must own the tables of the database')
  }
}

// Not DELETE, from which the policies would hide the rows.
async function clear(connection: PostgresConnection): Promise<void> {
  await connection.step(
    `truncate ${tableNames()
      .map((name) => `"${name}"`)
      .join(', ')}`,
  )
}

async function isThere(connection: PostgresConnection, name: string): Promise<boolean> {
  const sql = 'select to_regclass($1) is not null as there'
  const { rows } = await connection.query({ sql }, [name])
  return Boolean(rows[0].there)
}

const tableNames = (): string[] =>
  migrationsOf('postgres').flatMap(({ tables }) => tables.map(({ name }) => name))

const notEmpty = (table: string): string =>
  `the database of CUSTOS_DATABASE_URL is not empty (rows in ${table}): nothing was changed`
