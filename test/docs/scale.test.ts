// The tables that docs/operating/scale.md distributes or replicates, against the schema.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrationsOf } from '../../packages/server/src/platform/db/migrations/migrations.ts'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import { createDatabase } from '../../packages/server/src/testing/postgres.ts'
import { blocksOf, readPage } from './testing/page.ts'

const page = readPage('docs/operating/scale.md')
const [sql = ''] = blocksOf(page).flatMap(({ language, text }) => (language === 'sql' ? text : []))

/** The quoted names of a text, but for the column. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/'(\w+)'/g)].map(([, name = '']) => name).filter((n) => n !== 'tenant_id')

test('the page for Citus distributes every table of a tenant and replicates every other', () => {
  const tables = migrationsOf('postgres').flatMap((migration) => migration.tables)
  const [distributed = '', replicated = ''] = sql.split('select create_reference_table')
  const own = tables.filter(({ primary_key }) => primary_key[0] === 'tenant_id')
  const control = tables.filter((table) => !own.includes(table) || table.name === 'tenants')
  const names = (some: typeof tables) => some.map(({ name }) => name).sort()
  assert.deepEqual(
    [...new Set(namesIn(distributed))].sort(),
    names(own.filter((table) => !control.includes(table))),
  )
  assert.deepEqual(namesIn(replicated).sort(), ['migrations', ...names(control)].sort())
})

const UNIQUE_KEYS = `select t.relname as table_name, k.relname as key_name,
    (select a.attname from pg_attribute a where a.attrelid = t.oid and a.attnum = i.indkey[0])
      as first_column
  from pg_index i join pg_class t on t.oid = i.indrelid join pg_class k on k.oid = i.indexrelid
  join pg_namespace n on n.oid = t.relnamespace where n.nspname = 'public' and i.indisunique`

test('every primary and unique key of a distributed table begins with the tenant', async (t) => {
  const database = await createDatabase({ migrated: true })
  t.after(() => database.drop())
  const { keys, foreign } = await withPostgres(database.url, async (connection) => ({
    keys: (await connection.query({ sql: UNIQUE_KEYS }, [])).rows,
    foreign: (
      await connection.query({ sql: `select conname from pg_constraint where contype = 'f'` }, [])
    ).rows,
  }))
  const [own = '', replicated = ''] = sql.split('select create_reference_table')
  const whole = new Set(namesIn(replicated))
  const distributed = keys.filter(({ table_name }) => !whole.has(table_name))
  const tables = new Set(distributed.map(({ table_name }) => table_name))
  assert.deepEqual([...tables].sort(), [...new Set(namesIn(own))].sort())
  for (const { table_name, key_name, first_column } of distributed)
    assert.equal(first_column, 'tenant_id', `${key_name} of ${table_name}`)
  // A foreign key would have to begin with it on both sides; there is none.
  assert.deepEqual(foreign, [])
})
