// Brings a database to the current schema. Migrations are numbered, run once and in order.

import { foundation } from './migrations/0001-foundation.ts'
import { tableDdl } from './schema.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

export const migrations = [foundation] as const

/** Raised when the database was written by a newer version. */
export class SchemaTooNew extends Error {}

/** Runs the missing migrations in one transaction; returns their names. */
export function migrateSqlite(connection: SqliteConnection): string[] {
  connection.exec('create table if not exists migrations (name text primary key) strict')
  const applied = connection.all('select name from migrations order by name', []) as {
    name: string
  }[]
  const known = new Set<string>(migrations.map((migration) => migration.name))
  const unknown = applied.find(({ name }) => !known.has(name))
  if (unknown)
    throw new SchemaTooNew(`the database has migration ${unknown.name}, newer than this version`)
  const done = new Set(applied.map(({ name }) => name))
  const missing = migrations.filter(({ name }) => !done.has(name))
  connection.exec('BEGIN IMMEDIATE')
  for (const { name, tables } of missing) {
    for (const ddl of tables.flatMap((table) => tableDdl('sqlite', table))) connection.exec(ddl)
    connection.run('insert into migrations (name) values (?)', [name])
  }
  connection.exec('COMMIT')
  return missing.map(({ name }) => name)
}
