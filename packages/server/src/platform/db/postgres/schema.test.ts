// The specification of tables says what the migrations make, and what each column may hold.

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { createDatabase } from '../../../testing/postgres.ts'
import { SCHEMA } from '../../keys/file/schema.sql.ts'
import type { EngineName } from '../migrations/ddl.ts'
import { type Column, type TableColumns, tenantId, text } from '../schema/columns.ts'
import { dataTables } from '../schema/tables.ts'
import { SqliteConnection } from '../sqlite/connection.ts'
import { migrateSqlite } from '../sqlite/engine.ts'
import { withPostgres } from './connection.ts'
import { migratePostgres } from './migrate.ts'

const TYPES: Readonly<Record<EngineName, Readonly<Record<Column<unknown>['type'], string>>>> = {
  sqlite: { text: 'TEXT', int: 'INTEGER', real: 'REAL', blob: 'BLOB' },
  postgres: { text: 'text', int: 'bigint', real: 'double precision', blob: 'bytea' },
}

/** `table.column type`, with a question mark where it may be null. */
function specified(engine: EngineName): string[] {
  const tables: [string, TableColumns][] = Object.entries(dataTables)
  return tables.flatMap(([table, columns]) =>
    Object.entries(columns).map(
      ([name, { type, nullable }]) =>
        `${table}.${name} ${TYPES[engine][type]}${nullable ? '?' : ''}`,
    ),
  )
}

/** Tables of an engine that hold nothing of a tenant but its id. */
const OF_ENGINES = /^(migrations|tenant_locks)\./

const asText = (row: Record<string, unknown>): string =>
  `${row['table_name']}.${row['column_name']} ${row['type']}${row['nullable'] ? '?' : ''}`

function assertSpecified(engine: EngineName, rows: readonly Record<string, unknown>[]): void {
  const made = rows.map(asText).filter((column) => !OF_ENGINES.test(column))
  assert.deepEqual(made.toSorted(), specified(engine).toSorted())
}

describe('the migrations make the tables and columns that are specified', () => {
  test('on SQLite', () => {
    const connection = new SqliteConnection(':memory:', 'write')
    migrateSqlite(connection)
    const rows = connection.all(
      `select t.name as table_name, c.name as column_name, c.type, not c."notnull" as nullable
       from sqlite_schema t, pragma_table_info(t.name) c
       where t.type = 'table' and t.name not like 'sqlite_%'`,
      [],
    )
    connection.close()
    assertSpecified('sqlite', rows as Record<string, unknown>[])
  })

  test('on PostgreSQL', async () => {
    const database = await createDatabase()
    try {
      const rows = await withPostgres(database.url, async (connection) => {
        await migratePostgres(connection)
        const sql = `select table_name, column_name, data_type as type,
             is_nullable = 'YES' as nullable
           from information_schema.columns where table_schema = 'public'`
        return (await connection.query({ sql }, [])).rows
      })
      assertSpecified('postgres', rows)
    } finally {
      await database.drop()
    }
  })
})

/** What the text and blob columns of the keyring hold. */
const KEYRING: Readonly<Record<string, TableColumns>> = {
  instance: {
    instance_id: text('minted', 'made at first open'),
    master_check: text('digest', 'recognises the master key'),
    mac_root: text('sealed', 'wrapped key'),
  },
  tenants: {
    tenant_id: tenantId,
    tenant_key: text('sealed', 'wrapped key'),
    label_salt: text('sealed', 'wrapped salt'),
  },
  secret_blocks: {
    tenant_id: tenantId,
    kind: text('enum', 'fact or decision'),
  },
  signing_keys: {
    key_id: text('digest', 'of the public key'),
    purpose: text('enum', 'signing purposes'),
    public_key: text('minted', 'public key'),
    seed: text('sealed', 'wrapped seed'),
    valid_from: text('minted', 'time'),
    retired_at: text('minted', 'time'),
  },
  ledger_parts: {
    parts_id: text('minted', 'made for each plan'),
    tenant_id: tenantId,
    plan: text('composed', 'ids, counts, ciphertext without the destroyed secrets'),
  },
  ledger_renewals: {
    parts_id: text('minted', 'made for each plan'),
    tenant_id: tenantId,
    box: text('sealed', 'a record secret, under the one destroyed in its favour'),
  },
  ledger: {
    tenant_id: tenantId,
    subject_kind: text('enum', 'fact, decision, store, scrub or tenant'),
    subject: text('minted', 'ref, or id of a decision, store, scrub or tenant'),
    store_id: text('caller_label', 'see stores.store_id'),
    destroys: text('composed', 'kinds and numbers of secrets'),
    state: text('enum', 'requested or completed'),
    plan: text(
      'composed',
      'ids, salted hash without the salt, a redacted decision without the destroyed secret',
    ),
    parts_id: text('minted', 'which parts are its plan'),
    certificate: text('composed', 'see certificates.record'),
  },
  ledger_secrets: {
    tenant_id: tenantId,
    kind: text('enum', 'fact or decision'),
  },
  checkpoints: {
    tenant_id: tenantId,
    root_hash: text('digest', 'tree root'),
    checkpoint: text('composed', 'signed note'),
  },
}

test('what each text and blob column of the keyring holds is known', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(SCHEMA)
  const columns = db
    .prepare(
      `SELECT t.name || '.' || c.name AS name FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type IN ('TEXT', 'BLOB')`,
    )
    .all()
    .map((row) => String(row['name']))
  db.close()
  const known = Object.entries(KEYRING).flatMap(([table, held]) =>
    Object.keys(held).map((column) => `${table}.${column}`),
  )
  assert.deepEqual(known.toSorted(), columns.toSorted())
})
