// Brings a database to the current schema. Migrations are numbered, run once and in order.

import { OperatorError } from '../operator-error.ts'
import { foundation } from './migrations/0001-foundation.ts'
import { tenantLocks } from './migrations/0002-tenant-locks.ts'
import { governance } from './migrations/0003-governance.ts'
import { retrievedFacts } from './migrations/0004-retrieved-facts.ts'
import { records } from './migrations/0005-records.ts'
import { reputation } from './migrations/0006-reputation.ts'
import { reports } from './migrations/0007-reports.ts'
import { reportRequests } from './migrations/0008-report-requests.ts'
import { subjects } from './migrations/0009-subjects.ts'
import { retention } from './migrations/0010-retention.ts'
import { offboarding } from './migrations/0011-offboarding.ts'
import { assurance } from './migrations/0012-assurance.ts'
import { type EngineName, laterDdl, type Migration, tableDdl } from './schema/ddl.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

export const migrations: readonly Migration[] = [
  foundation,
  tenantLocks,
  governance,
  retrievedFacts,
  records,
  reputation,
  reports,
  reportRequests,
  subjects,
  retention,
  offboarding,
  assurance,
]

/** Raised when the database was written by a newer version. */
export class SchemaTooNew extends OperatorError {}

/** The migrations an engine runs. */
export const migrationsOf = (engine: EngineName): Migration[] =>
  migrations.filter((migration) => (migration.engine ?? engine) === engine)

/** Throws SchemaTooNew when a migration was run that this version does not have. */
export function requireKnown(applied: readonly string[]): void {
  const unknown = applied.find((name) => !migrations.some((migration) => migration.name === name))
  if (unknown !== undefined)
    throw new SchemaTooNew(`the database has migration ${unknown}, newer than this version`)
}

/** Runs the missing migrations in one transaction; returns their names. */
export function migrateSqlite(connection: SqliteConnection): string[] {
  connection.exec('create table if not exists migrations (name text primary key) strict')
  const applied = connection.all('select name from migrations order by name', []) as {
    name: string
  }[]
  const done = new Set(applied.map(({ name }) => name))
  requireKnown([...done])
  const missing = migrationsOf('sqlite').filter(({ name }) => !done.has(name))
  connection.exec('BEGIN IMMEDIATE')
  for (const migration of missing) {
    const { name, tables } = migration
    for (const ddl of tables.flatMap((table) => tableDdl('sqlite', table))) connection.exec(ddl)
    for (const ddl of laterDdl(migration)) connection.exec(ddl)
    connection.run('insert into migrations (name) values (?)', [name])
  }
  connection.exec('COMMIT')
  return missing.map(({ name }) => name)
}
