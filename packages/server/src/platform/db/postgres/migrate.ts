// Migrates a PostgreSQL database to the current schema; needs a role that may create tables and
// roles.

import { OperatorError } from '../../operator-error.ts'
import { laterDdl, type Migration, tableDdl } from '../migrations/ddl.ts'
import { migrationsOf, requireKnown } from '../migrations/migrations.ts'
import { accessDdl, ensureRole, grantDdl, hasRights, readerDdl, rightDdl } from './access.ts'
import type { PostgresConnection } from './connection.ts'
import { PostgresError } from './error.ts'

/** The schema is missing or outdated and this role may not create it; has a one-line message. */
export class MigrationNeeded extends OperatorError {}

const ATTEMPTS_MAX = 5
const INSUFFICIENT_PRIVILEGE = '42501'
const NEEDED =
  'the database lacks the current schema, or does not show it to this role, and this role may ' +
  'not create it: run custos migrate with a role that may create tables and roles'

// Errors of processes that migrate at the same time and create the same object (roles are shared by
// all databases of a server). A retry finds the object that the other process created.
const CONFLICTS: readonly (string | null)[] = ['23505', '42710', '42P07', '40001', '40P01', 'XX000']

/**
 * Runs the missing migrations in one transaction; returns their names. Grants the role of requests
 * its rights again if a restore on another server has dropped them. Throws SchemaTooNew,
 * MigrationNeeded or RoleUnfit.
 */
export async function migratePostgres(connection: PostgresConnection): Promise<string[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const missing = await findMissing(connection)
      if (missing.length > 0) return await migrate(connection)
      if (!(await hasRights(connection, tableNames()))) await giveRights(connection)
      return []
    } catch (error) {
      await connection.step('rollback')
      const code = error instanceof PostgresError ? error.code : null
      if (code === INSUFFICIENT_PRIVILEGE) throw new MigrationNeeded(NEEDED)
      if (!CONFLICTS.includes(code) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

/** Migrations the database lacks. Throws SchemaTooNew if it has one that this version lacks. */
async function findMissing(connection: PostgresConnection): Promise<Migration[]> {
  const { rows } = await connection.query(
    { sql: `select to_regclass('migrations') is not null as there` },
    [],
  )
  if (!rows[0].there) return migrationsOf('postgres')
  const applied = await connection.query({ sql: 'select name from migrations order by name' }, [])
  const names = applied.rows.map(({ name }) => String(name))
  requireKnown(names)
  return migrationsOf('postgres').filter(({ name }) => !names.includes(name))
}

async function migrate(connection: PostgresConnection): Promise<string[]> {
  await connection.step('begin')
  await connection.step('create table if not exists migrations (name text collate "C" primary key)')
  // A second process waits here, and then finds no missing migration.
  await connection.step('lock table migrations in exclusive mode')
  const missing = await findMissing(connection)
  await ensureRole(connection)
  await connection.step(rightDdl('migrations', 'select'))
  for (const migration of missing) {
    const { name, tables } = migration
    for (const table of tables)
      for (const ddl of [...tableDdl('postgres', table), ...accessDdl(table)])
        await connection.step(ddl)
    for (const ddl of laterDdl('postgres', migration)) await connection.step(ddl)
    for (const { table, reader } of migration.readers ?? [])
      await connection.step(readerDdl(table, reader))
    for (const { table, rights } of migration.grants ?? [])
      await connection.step(rightDdl(table, rights))
    await connection.query({ sql: 'insert into migrations (name) values ($1)' }, [name])
  }
  await connection.commit()
  return missing.map(({ name }) => name)
}

const tableNames = (): string[] => [
  'migrations',
  ...migrationsOf('postgres').flatMap(({ tables }) => tables.map(({ name }) => name)),
]

async function giveRights(connection: PostgresConnection): Promise<void> {
  await connection.step('begin')
  await connection.step('lock table migrations in exclusive mode')
  await ensureRole(connection)
  await connection.step(rightDdl('migrations', 'select'))
  for (const { tables, grants = [] } of migrationsOf('postgres')) {
    for (const table of tables) for (const ddl of grantDdl(table)) await connection.step(ddl)
    for (const { table, rights } of grants) await connection.step(rightDdl(table, rights))
  }
  await connection.commit()
}
