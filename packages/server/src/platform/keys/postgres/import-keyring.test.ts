// What taking a keyring into PostgreSQL must look at: every table, on both sides.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../../testing/postgres.ts'
import { withPostgres } from '../../db/postgres-connection.ts'
import { TABLES } from '../schema.sql.ts'
import { FILLED, PLAIN_TABLES } from './import.sql.ts'
import { migratePostgresKeyring } from './open-postgres-keyring.ts'

/** What migrating and opening put into a keyring that nobody has used, and numbers of turns. */
const OF_NO_KEYRING = ['counters', 'ledger_turns', 'migrations', 'processes']

test('no table of a keyring on PostgreSQL is overlooked when it must be empty', async () => {
  const database = await createDatabase()
  try {
    await migratePostgresKeyring({ url: database.url })
    const sql = `select tablename as name from pg_tables where schemaname = 'custos_keyring'`
    const tables = await withPostgres(database.url, async (c) => (await c.query({ sql }, [])).rows)
    assert.deepEqual(
      tables.map(({ name }) => String(name)).sort(),
      [...FILLED, ...OF_NO_KEYRING].sort(),
    )
  } finally {
    await database.drop()
  }
})

test('every table of an embedded keyring has somebody who brings it', () => {
  const wrapped = ['instance', 'tenants', 'secret_blocks', 'signing_keys', 'day_keys']
  const plain = PLAIN_TABLES.map(({ name }) => name)
  assert.deepEqual([...wrapped, ...plain].sort(), [...TABLES].sort())
})
