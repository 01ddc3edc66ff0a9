// A SQLite database as SQL text, and back: no database file lies in the repository.

import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'

interface Entry {
  readonly name: string
  readonly sql: string
}

/** What a file says of itself besides its tables. */
const PRAGMAS = ['application_id', 'user_version', 'journal_mode']

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Schema and rows, in an order that is the same each time. */
export function dumpSqlite(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const tables = entries(db, `type = 'table'`)
    assert.equal(entries(db, `type in ('trigger', 'view')`).length, 0, 'only tables are dumped')
    return [
      ...PRAGMAS.map((name) => `PRAGMA ${name} = ${pragmaOf(db, name)};`),
      'BEGIN;',
      ...tables.map(({ sql }) => `${sql};`),
      ...tables.flatMap((table) => rowsOf(db, table)),
      ...countersOf(db, tables),
      ...entries(db, `type = 'index' and sql is not null`).map(({ sql }) => `${sql};`),
      'COMMIT;\n',
    ].join('\n')
  } finally {
    db.close()
  }
}

export function loadSqlite(path: string, text: string): void {
  // The rows come in the order of their tables' names.
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(text)
  assert.deepEqual(db.prepare('PRAGMA foreign_key_check').all(), [])
  db.close()
  chmodSync(path, 0o600)
}

function entries(db: DatabaseSync, condition: string): Entry[] {
  const rows = db
    .prepare(
      `select name, sql from sqlite_schema
        where ${condition} and name not like 'sqlite_%' order by name`,
    )
    .all()
  return rows.map(({ name, sql }) => ({ name: String(name), sql: String(sql) }))
}

function pragmaOf(db: DatabaseSync, name: string): string {
  const [value] = Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})
  return String(value)
}

function rowsOf(db: DatabaseSync, { name, sql }: Entry): string[] {
  const order = /without rowid/i.test(sql) ? keyOf(db, name) : 'rowid'
  const select = db.prepare(`select * from ${quoted(name)} order by ${order}`)
  select.setReadBigInts(true)
  const rows = select.all().map((row) => `(${Object.values(row).map(literal).join(',')})`)
  return rows.length === 0 ? [] : [`INSERT INTO ${quoted(name)} VALUES\n${rows.join(',\n')};`]
}

/** How far `autoincrement` has counted: further than the rows, where the last were deleted. */
function countersOf(db: DatabaseSync, tables: readonly Entry[]): string[] {
  if (!tables.some(({ sql }) => /autoincrement/i.test(sql))) return []
  const counters = { name: 'sqlite_sequence', sql: '' }
  return ['DELETE FROM sqlite_sequence;', ...rowsOf(db, counters)]
}

function keyOf(db: DatabaseSync, table: string): string {
  const columns = db.prepare(`PRAGMA table_info(${quoted(table)})`).all()
  return columns
    .filter(({ pk }) => Number(pk) > 0)
    .sort((a, b) => Number(a['pk']) - Number(b['pk']))
    .map(({ name }) => quoted(String(name)))
    .join(', ')
}

function literal(value: SQLOutputValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Number.isInteger(value) ? value.toFixed(1) : String(value)
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  return `X'${Buffer.from(value).toString('hex')}'`
}
