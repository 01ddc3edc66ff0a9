// How PostgreSQL runs what a function asks, for any values and whatever the tables hold.

import { createDatabase } from '../../../testing/postgres.ts'
import { compilePostgres } from '../builder.ts'
import { APP_ROLE } from '../postgres/access.ts'
import { withPostgres } from '../postgres/connection.ts'
import { migratePostgres } from '../postgres/migrate.ts'
import type { Statement } from '../statement.ts'
import type { Query, Tx } from '../tenant-db.ts'

// Tables of tests are small: it would read them whole.
const BEGIN = `begin; set local role ${APP_ROLE}; set local plan_cache_mode = force_generic_plan;
  set local enable_seqscan = off; set local enable_bitmapscan = off`

/** The plan of the last statement of `look`, under the policies of rows; each finds `found`. */
export async function planOf(
  look: (db: Tx) => Promise<unknown>,
  found: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const asked: string[] = []
  const note = (sql: string) => {
    asked.push(sql)
    return found
  }
  const noteQuery = async (query: Query<unknown>) => note(compilePostgres(query).sql)
  const noteOf = async (statement: Statement<never, unknown>) => note(statement.postgres().sql)
  const db: unknown = {
    tenant_id: 't1',
    all: async (query: Query<unknown>) => [await noteQuery(query)],
    first: noteQuery,
    run: async (query: Query<unknown>) => Object.keys(await noteQuery(query)).length,
    allOf: async (statement: Statement<never, unknown>) => [await noteOf(statement)],
    firstOf: noteOf,
  }
  await look(db as Tx)
  const sql = asked.at(-1) ?? ''
  const values = [...new Set(sql.match(/\$\d+/g))].map(() => 'null').join(', ')
  const database = await createDatabase({ migrated: true })
  try {
    return await withPostgres(database.url, async (connection) => {
      await migratePostgres(connection)
      await connection.step(`${BEGIN}; prepare asked as ${sql}`)
      const explain = `explain (costs off) execute asked${values && `(${values})`}`
      const { rows } = await connection.query({ sql: explain }, [])
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    })
  } finally {
    await database.drop()
  }
}
