// Locations for keyrings of each engine, removed after the test.

import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { createDatabase } from '../../../testing/postgres.ts'
import {
  openPostgresKeyring,
  type PostgresKeyring,
  type PostgresKeyringOptions,
} from '../postgres/open-postgres-keyring.ts'
import type { KeyringLocation, OpenOptions } from './keyring-suite.ts'
import { MASTER, NOW_US, openKeyring, tempDirectory } from './temp-keyring.ts'

export async function fileLocation(t: TestContext): Promise<KeyringLocation> {
  return fileLocationAt(t, join(tempDirectory(t), 'keyring'))
}

export function fileLocationAt(t: TestContext, dir: string): KeyringLocation {
  return {
    open: (opening) => openKeyring(t, { dir, ...opening }),
    close: async (keyring) => keyring.close(),
    copy: async () => {
      const copy = join(tempDirectory(t), 'copy')
      cpSync(dir, copy, { recursive: true })
      return fileLocationAt(t, copy)
    },
    another: () => fileLocation(t),
  }
}

export interface PostgresLocation extends KeyringLocation {
  /** Of a superuser. */
  readonly url: string
  open(opening?: OpenOptions & Partial<PostgresKeyringOptions>): Promise<PostgresKeyring>
  /** As the superuser, past the keyring. */
  query<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>
  /** Runs statements past this database, from another of the same server. */
  beside(): Promise<(sql: string) => Promise<void>>
  /** The URL of a role with these rights and no others. @param grants without their TO */
  createRole(grants: readonly string[]): Promise<string>
}

export async function postgresLocation(t: TestContext): Promise<PostgresLocation> {
  const { url, drop } = await createDatabase()
  const opened: PostgresKeyring[] = []
  const copies: string[] = []
  const roles: string[] = []
  t.after(async () => {
    for (const keyring of opened) await keyring.close()
    for (const name of copies) await queryOnce(serverOf(url), `DROP DATABASE ${name} (FORCE)`)
    await drop()
    for (const name of roles) await queryOnce(serverOf(url), `DROP ROLE ${name}`)
  })
  return postgresLocationAt(url, { opened, copies, roles, another: () => postgresLocation(t) })
}

interface CreatedObjects {
  readonly opened: PostgresKeyring[]
  readonly copies: string[]
  readonly roles: string[]
  readonly another: () => Promise<PostgresLocation>
}

function postgresLocationAt(url: string, made: CreatedObjects): PostgresLocation {
  return {
    url,
    open: async (opening) => {
      const given = { url, master_key: MASTER, now_us: () => NOW_US, ...opening }
      const keyring = await openPostgresKeyring(given)
      made.opened.push(keyring)
      return keyring
    },
    close: async (keyring) => keyring.close(),
    copy: async () => postgresLocationAt(await copyDatabase(url, made.copies), made),
    another: made.another,
    query: (sql, values) => queryOnce(url, sql, values),
    beside: async () => async (sql) => {
      await queryOnce(serverOf(url), sql)
    },
    createRole: (grants) => createRole(url, grants, made.roles),
  }
}

/** The URL of a copy beside the database, which nobody may be connected to. */
async function copyDatabase(url: string, copies: string[]): Promise<string> {
  const copy = new URL(url)
  copy.pathname = `${copy.pathname}_${randomBytes(4).toString('hex')}`
  const [from, to] = [new URL(url).pathname.slice(1), copy.pathname.slice(1)]
  await queryOnce(serverOf(url), `CREATE DATABASE ${to} TEMPLATE ${from}`)
  copies.push(to)
  return copy.href
}

async function createRole(
  url: string,
  grants: readonly string[],
  roles: string[],
): Promise<string> {
  const role = new URL(url)
  role.username = `custos_test_${randomBytes(4).toString('hex')}`
  role.password = randomBytes(8).toString('hex')
  await queryOnce(url, `CREATE ROLE ${role.username} LOGIN PASSWORD '${role.password}'`)
  roles.push(role.username)
  for (const grant of grants) await queryOnce(url, `${grant} TO ${role.username}`)
  return role.href
}

function serverOf(url: string): string {
  const server = new URL(url)
  server.pathname = '/postgres'
  return server.href
}

async function queryOnce<Row extends object>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}
