// Brings a PostgreSQL database to the current schema, by a role that may create tables and roles.

import { OperatorError } from '../../operator-error.ts'
import { laterDdl, type Migration, tableDdl } from '../migrations/ddl.ts'
import { migrationsOf, requireKnown } from '../migrations/migrations.ts'
import { APP_ROLE, accessDdl, ensureRole, readerDdl } from './access.ts'
import type { PostgresConnection } from './connection.ts'
import { PostgresError } from './error.ts'

/** The schema is missing or old and this role may not make it; the message is one clear line. */
export class MigrationNeeded extends OperatorError {}

const ATTEMPTS_MAX = 5
const DENIED = '42501'
const NEEDED =
  'the database lacks the current schema, or does not show it to this role, and this role may ' +
  'not create it: run custos migrate with a role that may create tables and roles'

// Two processes that migrate at once collide on what both create, also in another database of
// the same server: roles are shared. The second finds it there when it tries again.
const COLLISIONS: readonly (string | null)[] = [
  '23505',
  '42710',
  '42P07',
  '40001',
  '40P01',
  'XX000',
]

/**
 * Runs the missing migrations in one transaction; returns their names. Throws SchemaTooNew,
 * MigrationNeeded or RoleUnfit.
 */
export async function migratePostgres(connection: PostgresConnection): Promise<string[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const missing = await findMissing(connection)
      return missing.length === 0 ? [] : await migrate(connection)
    } catch (error) {
      await connection.step('rollback')
      const code = error instanceof PostgresError ? error.code : null
      if (code === DENIED) throw new MigrationNeeded(NEEDED)
      if (!COLLISIONS.includes(code) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

/** What the database has not run yet. Throws SchemaTooNew when it has run what is unknown here. */
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
  await connection.step(`grant select on migrations to ${APP_ROLE}`)
  for (const migration of missing) {
    const { name, tables } = migration
    for (const table of tables)
      for (const ddl of [...tableDdl('postgres', table), ...accessDdl(table)])
        await connection.step(ddl)
    for (const ddl of laterDdl('postgres', migration)) await connection.step(ddl)
    for (const { table, reader } of migration.readers ?? [])
      await connection.step(readerDdl(table, reader))
    for (const { table, rights } of migration.grants ?? [])
      await connection.step(`grant ${rights} on "${table}" to ${APP_ROLE}`)
    await connection.query({ sql: 'insert into migrations (name) values ($1)' }, [name])
  }
  await connection.commit()
  return missing.map(({ name }) => name)
}
