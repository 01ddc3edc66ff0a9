// The ceiling of PostgreSQL: a plain pool that inserts an operation's rows, a commit for each.

import { Pool, type PoolClient } from 'pg'
import { foundation } from '../packages/server/src/platform/db/migrations/0001-foundation.ts'
import { tableDdl } from '../packages/server/src/platform/db/migrations/ddl.ts'
import type { PostgresServer } from './engines.ts'
import type { RawInsert } from './raw-rows.ts'

/** As many as a process of the service uses by default. */
const CONNECTIONS = 10

export interface RawLoop {
  /** Durable units a second with this number of callers. */
  fire(callers: number, seconds: number): Promise<number>
  close(): Promise<void>
}

/** On the service's own tables with its indexes; without its role, its policies and its locks. */
export async function openRawLoop(
  server: PostgresServer,
  inserts: readonly RawInsert[],
): Promise<RawLoop> {
  const { url, drop } = await server.createDatabase()
  const pool = new Pool({ connectionString: url, max: CONNECTIONS, pipeline: true })
  // What fails is told by its query; a connection that the end cuts off has nothing to tell.
  pool.on('error', () => {})
  for (const { table } of inserts) {
    const spec = foundation.tables.find(({ name }) => name === table)
    if (!spec) throw new Error(`the schema has no table ${table}`)
    for (const ddl of tableDdl('postgres', spec)) await pool.query(ddl)
  }
  let units = 0
  const caller = async (number: number, end: number) => {
    for (; performance.now() < end; units += 1) await insertUnit(pool, `t${number}`, units, inserts)
  }
  return {
    async fire(callers, seconds) {
      const [began, before] = [performance.now(), units]
      const end = began + seconds * 1_000
      await Promise.all(Array.from({ length: callers }, (_, number) => caller(number, end)))
      return (units - before) / ((performance.now() - began) / 1_000)
    },
    async close() {
      await pool.end()
      await drop()
    },
  }
}

// Sent in one go: what is measured is the server, not the way to it.
async function insertUnit(
  pool: Pool,
  tenant_id: string,
  unit: number,
  inserts: readonly RawInsert[],
): Promise<void> {
  const client = await pool.connect()
  try {
    await Promise.all([
      client.query('begin'),
      ...inserts.map((insert) => insertRows(client, insert, insert.rows(tenant_id, unit))),
      client.query('commit'),
    ])
  } finally {
    client.release()
  }
}

function insertRows(
  client: PoolClient,
  { table, columns }: RawInsert,
  rows: readonly (readonly unknown[])[],
): Promise<unknown> {
  const tuples = rows.map((_, row) => {
    const marks = columns.map((_, column) => `$${row * columns.length + column + 1}`)
    return `(${marks.join(', ')})`
  })
  const text = `insert into ${table} (${columns.join(', ')}) values ${tuples.join(', ')}`
  return client.query({ name: table, text, values: rows.flat() })
}
