// Databases for tests on a real PostgreSQL: CUSTOS_TEST_DATABASE_URL, or one started on demand.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../platform/clock.ts'
import { APP_ROLE } from '../platform/db/postgres/access.ts'
import { withPostgres } from '../platform/db/postgres/connection.ts'
import { PostgresEngine, type PostgresOptions } from '../platform/db/postgres/engine.ts'
import { migratePostgres } from '../platform/db/postgres/migrate.ts'

export interface TestDatabase {
  /** A superuser's URL. */
  readonly url: string
  drop(): Promise<void>
}

let cluster: Promise<string> | undefined

/** The URL of a superuser's database; PostgreSQL is started once per process, or it throws. */
function clusterUrl(): Promise<string> {
  cluster ??= givenUrl() ?? startKeeper()
  return cluster
}

function givenUrl(): Promise<string> | undefined {
  const url = process.env['CUSTOS_TEST_DATABASE_URL']
  return url ? Promise.resolve(url) : undefined
}

async function startKeeper(): Promise<string> {
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'postgres-keeper.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // An interrupt at the terminal is for the tests; the keeper ends after them.
    detached: true,
  })
  const lines = createInterface(keeper.stdout)
  const line = once(lines, 'line').then(([text]) => String(text))
  const ended = once(keeper, 'exit').then(() => {
    throw new Error('PostgreSQL for tests could not be started')
  })
  ended.catch(() => {})
  const url = await Promise.race([line, ended])
  // It must not hold this process open; the end of this process closes its standard input.
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stdout]) if (pipe instanceof Socket) pipe.unref()
  return url
}

/** The database with the current schema that the keeper makes: others are copies of it. */
const TEMPLATE = 'custos_test_template'

function urlOf(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** To be called once, on a server that nobody else uses yet. */
export async function createTemplate(server: string): Promise<void> {
  await withPostgres(server, (connection) => connection.step(`create database ${TEMPLATE}`))
  await withPostgres(urlOf(server, TEMPLATE), migratePostgres)
}

/** A database of its own: an empty one, or one with the current schema. */
export async function createDatabase({ migrated = false } = {}): Promise<TestDatabase> {
  const server = await clusterUrl()
  const name = `custos_test_${randomBytes(8).toString('hex')}`
  await withPostgres(server, async (connection) => {
    const sql = 'select datname from pg_database where datname = $1'
    const { rows } = await connection.query({ sql }, migrated ? [TEMPLATE] : [null])
    const from = rows.length === 0 ? '' : ` template ${TEMPLATE}`
    await connection.step(`create database ${name}${from}`)
  })
  const drop = async () => {
    await withPostgres(server, (c) => c.step(`drop database ${name} with (force)`))
  }
  return { url: urlOf(server, name), drop }
}

export interface TestPostgres extends TestDatabase {
  readonly db: PostgresEngine
  /** As another process has it. */
  readonly second: PostgresEngine
  close(): Promise<void>
}

/** A fresh database with the current schema and two engines on it. */
export async function openPostgres(options: Partial<PostgresOptions> = {}): Promise<TestPostgres> {
  const database = await createDatabase({ migrated: true })
  // A server that was given has no template.
  await withPostgres(database.url, migratePostgres)
  const given = { url: database.url, clock: systemClock(), role: APP_ROLE, ...options }
  const [db, second] = [new PostgresEngine(given), new PostgresEngine(given)]
  const close = async () => {
    await Promise.all([db.close(), second.close()])
    await database.drop()
  }
  return { ...database, db, second, close }
}
