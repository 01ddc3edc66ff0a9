// Copies rows of an embedded database into PostgreSQL table by table, and compares them.

import { createHash, type Hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { finalTables, type TableSpec } from '../migrations/ddl.ts'
import { migrationsOf, requireKnown } from '../migrations/migrations.ts'
import type { PostgresConnection } from './connection.ts'
import { PostgresError } from './error.ts'
import { MoveError, seeingAll } from './moving.ts'

/** The number of rows of a table, and their digest in the order of the key. */
interface TableDigest {
  readonly rows: number
  /** Lower hex SHA-256. */
  readonly sha256: string
}

type Row = Readonly<Record<string, unknown>>

const PAGE_ROWS = 200
const PAGE_BYTES = 4 * 1024 * 1024
const INVALID_TEXT = '22021'

/** The array type of PostgreSQL for each kind of column. */
const ARRAYS: Readonly<Record<string, string>> = {
  text: 'text[]',
  int: 'bigint[]',
  real: 'double precision[]',
  blob: 'bytea[]',
}

/**
 * The move writes the instance row itself. Leases, including those of jobs, belong to processes
 * that have ended.
 */
const LEFT_OUT: readonly string[] = ['instance', 'leases']
const CHANGED: Readonly<Record<string, string>> = { 'jobs.lease_until_us': '0' }

/** Tables that are moved, in the order of the schema. */
export const movedTables = (): TableSpec[] =>
  finalTables(migrationsOf('sqlite')).filter(({ name }) => !LEFT_OUT.includes(name))

/** An embedded database without writers, to read row by row. */
export class MovedRows {
  readonly #db: DatabaseSync

  /** @param path of the database; its service must be stopped */
  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true })
  }

  /** Throws MoveError if the schema is an older one or the file is damaged. */
  requireIntact(): void {
    const applied = this.#db.prepare('select name from migrations').all()
    const names = applied.map(({ name }) => String(name))
    requireKnown(names)
    if (migrationsOf('sqlite').some(({ name }) => !names.includes(name)))
      throw new MoveError('the schema is an older one: start and stop the service once, then move')
    const [first] = Object.values(this.#db.prepare('pragma integrity_check(1)').get() ?? {})
    if (first === 'ok') return
    throw new MoveError('the database file is damaged: restore it from a backup first')
  }

  /** Rows in the order of the key. */
  rows({ name, columns, primary_key }: TableSpec): IterableIterator<Row> {
    const list = Object.keys(columns).map((column) => {
      const changed = CHANGED[`${name}.${column}`]
      return changed === undefined ? `"${column}"` : `${changed} as "${column}"`
    })
    const sql = `select ${list.join(', ')} from "${name}" order by ${keyOf(primary_key)}`
    return this.#db.prepare(sql).iterate()
  }

  close(): void {
    this.#db.close()
  }
}

export const keyOf = (columns: readonly string[]): string => columns.map((c) => `"${c}"`).join(', ')

/**
 * Copies a table in one transaction, which writes each tenant's rows as that tenant. Throws
 * MoveError for a row that PostgreSQL does not accept.
 */
export async function copyTable(
  connection: PostgresConnection,
  table: TableSpec,
  { source, progress }: { source: MovedRows; progress(rows: number): void },
): Promise<TableDigest> {
  const digest = new RowsDigest(table)
  const page = new Page(connection, table)
  await connection.step('begin')
  try {
    for (const row of source.rows(table)) {
      digest.add(row)
      await page.add(row)
      progress(digest.rows)
    }
    await page.write()
    await connection.commit()
    return digest.end()
  } catch (error) {
    await connection.step('rollback')
    if (error instanceof PostgresError && error.code === INVALID_TEXT)
      throw new MoveError(`a text in ${table.name} cannot be stored by PostgreSQL (U+0000)`)
    throw error
  }
}

/** A page of rows to insert, limited in number and size. */
export class Page {
  readonly #connection: PostgresConnection
  readonly #columns: readonly string[]
  readonly #owned: boolean
  readonly #sql: string
  #tenant: unknown
  #rows: Row[] = []
  #bytes = 0

  /** @param replacing whether rows with the same key are replaced */
  constructor(
    connection: PostgresConnection,
    { name, columns, primary_key }: TableSpec,
    { replacing = false } = {},
  ) {
    this.#connection = connection
    this.#columns = Object.keys(columns)
    this.#owned = primary_key[0] === 'tenant_id'
    const arrays = Object.values(columns).map((column, i) => {
      return `$${i + 1}::${ARRAYS[column.replace('?', '')]}`
    })
    this.#sql = `insert into "${name}" (${keyOf(this.#columns)})
      select * from unnest(${arrays.join(', ')})`
    if (!replacing) return
    const others = this.#columns.filter((column) => !primary_key.includes(column))
    const set = others.map((column) => `"${column}" = excluded."${column}"`).join(', ')
    this.#sql += ` on conflict (${keyOf(primary_key)}) do ${set ? `update set ${set}` : 'nothing'}`
  }

  async add(row: Row): Promise<void> {
    const tenant = this.#owned ? row['tenant_id'] : undefined
    if (tenant !== this.#tenant) {
      await this.write()
      this.#tenant = tenant
      const sql = `select set_config('app.tenant_id', $1, true)`
      await this.#connection.query({ sql }, [tenant])
    }
    this.#rows.push(row)
    for (const value of Object.values(row)) this.#bytes += sizeOf(value)
    if (this.#rows.length >= PAGE_ROWS || this.#bytes >= PAGE_BYTES) await this.write()
  }

  async write(): Promise<void> {
    if (this.#rows.length === 0) return
    const arrays = this.#columns.map((column) => this.#rows.map((row) => row[column]))
    await this.#connection.query({ sql: this.#sql }, arrays)
    this.#rows = []
    this.#bytes = 0
  }
}

function sizeOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
}

/** Digests the table, which it reads through a cursor. */
export function digestTable(
  connection: PostgresConnection,
  table: TableSpec,
): Promise<TableDigest> {
  const { name, columns, primary_key } = table
  return seeingAll(connection, name, async () => {
    const digest = new RowsDigest(table)
    await connection.step(`declare moved no scroll cursor for
      select ${keyOf(Object.keys(columns))} from "${name}" order by ${keyOf(primary_key)}`)
    for (;;) {
      const { rows } = await connection.query({ sql: `fetch ${PAGE_ROWS} from moved` }, [])
      for (const row of rows) digest.add(row)
      if (rows.length < PAGE_ROWS) return digest.end()
    }
  })
}

class RowsDigest {
  readonly #columns: readonly string[]
  readonly #hash: Hash = createHash('sha256')
  rows = 0

  constructor({ columns }: TableSpec) {
    this.#columns = Object.keys(columns)
  }

  add(row: Row): void {
    for (const column of this.#columns) addValue(this.#hash, row[column])
    this.rows += 1
  }

  end(): TableDigest {
    return { rows: this.rows, sha256: this.#hash.digest('hex') }
  }
}

// Kind and length precede each value, so that no two rows give the same bytes.
function addValue(hash: Hash, value: unknown): void {
  if (value instanceof Uint8Array) hash.update(`b${value.length}:`).update(value)
  else if (typeof value === 'string') hash.update(`s${Buffer.byteLength(value)}:`).update(value)
  else hash.update(`${typeof value}${String(value)};`)
}
