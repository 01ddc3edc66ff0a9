// Importing a keyring into PostgreSQL leaves out no table, on either side.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../../testing/postgres.ts'
import { withPostgres } from '../../db/postgres/connection.ts'
import { TABLES } from '../file/schema.sql.ts'
import { migratePostgresKeyring } from '../postgres/open-postgres-keyring.ts'
import { EMPTY_AT_FIRST, PLAIN_TABLES } from './import.sql.ts'

/** Filled by migrating and opening alone, or needless in a new keyring. */
const NOT_IMPORTED = ['counters', 'ledger_turns', 'migrations', 'processes']

test('the check that a keyring on PostgreSQL is empty looks at every table', async () => {
  const database = await createDatabase()
  try {
    await migratePostgresKeyring({ url: database.url })
    const sql = `select tablename as name from pg_tables where schemaname = 'custos_keyring'`
    const tables = await withPostgres(database.url, async (c) => (await c.query({ sql }, [])).rows)
    assert.deepEqual(
      tables.map(({ name }) => String(name)).sort(),
      [...EMPTY_AT_FIRST, ...NOT_IMPORTED].sort(),
    )
  } finally {
    await database.drop()
  }
})

test('every table of an embedded keyring is imported', () => {
  const wrapped = ['instance', 'tenants', 'secret_blocks', 'signing_keys', 'day_keys']
  const plain = PLAIN_TABLES.map(({ name }) => name)
  assert.deepEqual([...wrapped, ...plain].sort(), [...TABLES].sort())
})
