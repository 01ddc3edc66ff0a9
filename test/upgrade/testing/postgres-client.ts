// SQL on PostgreSQL by the client that the server package brings, whatever that has around it.

import { createRequire } from 'node:module'

interface PgClient {
  connect(): Promise<void>
  query(sql: string): Promise<{ readonly rows: readonly Row[] }>
  end(): Promise<void>
}

/** Values as PostgreSQL writes them: every query of this folder asks for text. */
export type Row = Readonly<Record<string, string | null>>

export type Query = (sql: string) => Promise<readonly Row[]>

const server = new URL('../../../packages/server/package.json', import.meta.url)
// The package declares what it exports; only this much of it is used.
const { Client } = createRequire(server)('pg') as {
  readonly Client: new (options: object) => PgClient
}

/** Runs work on a connection of its own. */
export async function onPostgres<T>(url: string, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(async (sql) => (await client.query(sql)).rows)
  } finally {
    await client.end()
  }
}
