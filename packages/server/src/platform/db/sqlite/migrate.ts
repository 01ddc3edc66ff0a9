// Brings a database to the current schema. Migrations are numbered, run once and in order.

import { laterDdl, tableDdl } from '../migrations/ddl.ts'
import { migrationsOf, requireKnown } from '../migrations/migrations.ts'
import type { SqliteConnection } from './connection.ts'

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
    for (const ddl of laterDdl('sqlite', migration)) connection.exec(ddl)
    connection.run('insert into migrations (name) values (?)', [name])
  }
  connection.exec('COMMIT')
  return missing.map(({ name }) => name)
}
