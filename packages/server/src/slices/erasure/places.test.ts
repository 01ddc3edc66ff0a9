// The registry of places content can live names every column there is.

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { migrations } from '../../platform/db/migrate.ts'
import { SCHEMA } from '../../platform/keys/schema.sql.ts'
import { dataPlaces, keyringPlaces } from './places.ts'

const names = (places: readonly { name: string }[]): string[] => places.map(({ name }) => name)

test('every text and blob column of the data database has its place in the registry', () => {
  const columns = migrations
    .flatMap(({ tables }) => tables)
    .flatMap((table) =>
      Object.entries(table.columns)
        .filter(([, column]) => column.startsWith('text') || column.startsWith('blob'))
        .map(([column]) => `${table.name}.${column}`),
    )
  assert.deepEqual(names(dataPlaces).toSorted(), columns.toSorted())
})

test('every text and blob column of the keyring has its place in the registry', () => {
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
  assert.deepEqual(names(keyringPlaces).toSorted(), columns.toSorted())
})
