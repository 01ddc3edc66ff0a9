// SQL behind the service's back, on whichever engine it runs: tests look at rows and alter them.

import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { withPostgres } from '../platform/db/postgres/connection.ts'
import type { TestService } from './harness.ts'

const SQLITE_BUSY = 5
/** The service may hold the lock over a turn of this event loop: SQLite must not block it. */
const LOCKED_WAIT_MS = 10
const LOCKED_TRIES = 1_000

type Row = Readonly<Record<string, unknown>>

/** As the owner of everything: no tenant, no policy. Parameters are `?`, in this order. */
export async function rawSql(
  { kernel }: Pick<TestService, 'kernel'>,
  sql: string,
  values: readonly (string | number | Uint8Array)[] = [],
): Promise<Row[]> {
  const { source } = kernel.db
  if (source.engine === 'postgres') {
    let at = 0
    const text = sql.replaceAll('?', () => `$${++at}`)
    const ask = { sql: text }
    return withPostgres(source.url, async (db) => (await db.query(ask, values)).rows)
  }
  const database = new DatabaseSync(source.path, { timeout: 0 })
  try {
    for (let tries = LOCKED_TRIES; ; tries -= 1)
      try {
        return database.prepare(sql).all(...values) as Row[]
      } catch (error) {
        if (tries === 0 || Object(error).errcode !== SQLITE_BUSY) throw error
        await delay(LOCKED_WAIT_MS)
      }
  } finally {
    database.close()
  }
}

/** Names of the tables of the data. */
export async function listTables(service: Pick<TestService, 'kernel'>): Promise<string[]> {
  const sql =
    service.kernel.db.source.engine === 'postgres'
      ? `select tablename as name from pg_tables where schemaname = 'public'`
      : `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`
  return (await rawSql(service, sql)).map(({ name }) => String(name)).sort()
}
