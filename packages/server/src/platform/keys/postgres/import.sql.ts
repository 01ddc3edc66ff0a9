// Tables of an embedded keyring that hold nothing wrapped, row by row on either side.

import type { KeyringDb } from '../keyring-db.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

export interface PlainTable {
  readonly name: string
  readonly columns: Readonly<Record<string, 'text' | 'bigint'>>
  /** Columns rows are ordered by, and told apart by. */
  readonly key: readonly string[]
}

export type Cell = string | number | null
export type PlainRow = Readonly<Record<string, Cell>>

const PAGE = 200

export const PLAIN_TABLES: readonly PlainTable[] = [
  {
    name: 'ledger',
    columns: {
      ledger_id: 'bigint',
      tenant_id: 'text',
      subject_kind: 'text',
      subject: 'text',
      store_id: 'text',
      destroys: 'text',
      state: 'text',
      requested_us: 'bigint',
      completed_us: 'bigint',
      plan: 'text',
      parts_id: 'text',
      parts: 'bigint',
      certificate: 'text',
    },
    key: ['ledger_id'],
  },
  {
    name: 'ledger_parts',
    columns: { parts_id: 'text', part: 'bigint', tenant_id: 'text', plan: 'text' },
    key: ['parts_id', 'part'],
  },
  {
    name: 'ledger_renewals',
    columns: {
      parts_id: 'text',
      number: 'bigint',
      tenant_id: 'text',
      part: 'bigint',
      renewed_as: 'bigint',
      box: 'text',
    },
    key: ['parts_id', 'number'],
  },
  {
    name: 'ledger_secrets',
    columns: { tenant_id: 'text', kind: 'text', number: 'bigint' },
    key: ['tenant_id', 'kind', 'number'],
  },
  {
    name: 'checkpoints',
    columns: {
      tenant_id: 'text',
      generation: 'bigint',
      epoch_number: 'bigint',
      tree_size: 'bigint',
      root_hash: 'text',
      checkpoint: 'text',
    },
    key: ['tenant_id'],
  },
]

/** The first `PAGE` rows after one, in the order of the key. */
export function listFileRows(db: KeyringDb, table: PlainTable, after: PlainRow | null): PlainRow[] {
  const { sql, values } = pageOf(table, { from: table.name, after, mark: () => '?' })
  return db.all<PlainRow>(sql, ...values)
}

/** The same rows of a keyring on PostgreSQL: text is compared bytewise on both. */
export async function listPgRows(
  db: PgQueries,
  table: PlainTable,
  after: PlainRow | null,
): Promise<PlainRow[]> {
  const from = `keyring.${table.name}`
  const { sql, values } = pageOf(table, { from, after, mark: (i) => `$${i + 1}` })
  return db.all<PlainRow>(sql, ...values)
}

interface PageOptions {
  readonly from: string
  readonly after: PlainRow | null
  readonly mark: (index: number) => string
}

function pageOf({ columns, key }: PlainTable, { from, after, mark }: PageOptions) {
  const names = key.join(', ')
  const where = after ? `WHERE (${names}) > (${key.map((_, i) => mark(i)).join(', ')})` : ''
  const sql = `SELECT ${Object.keys(columns).join(', ')} FROM ${from} ${where}
    ORDER BY ${names} LIMIT ${PAGE}`
  return { sql, values: after ? key.map((name) => after[name] ?? null) : [] }
}

export async function insertPlainRows(
  tx: PgTx,
  { name, columns }: PlainTable,
  rows: readonly PlainRow[],
): Promise<void> {
  const names = Object.keys(columns)
  const arrays = Object.values(columns).map((type, i) => `$${i + 1}::${type}[]`)
  await tx.run(
    `INSERT INTO keyring.${name} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`,
    ...names.map((column) => rows.map((row) => row[column] ?? null)),
  )
}

/** Every table that is empty in a keyring nobody has opened. */
export const FILLED: readonly string[] = [
  'instance',
  'tenants',
  'wrap_keys',
  'secret_blocks',
  'secrets',
  'destroyed_secrets',
  'signing_keys',
  ...PLAIN_TABLES.map(({ name }) => name),
]

/** A table that holds rows; null: the keyring is as migrating makes it, or not there at all. */
export async function findFilled(db: PgQueries, schema: string): Promise<string | null> {
  for (const name of FILLED) {
    const there = await db.get<{ found: string | null }>(
      'SELECT to_regclass($1)::text AS found',
      `"${schema}"."${name}"`,
    )
    if (there?.found == null) continue
    if (await db.get(`SELECT 1 AS found FROM keyring.${name} LIMIT 1`)) return name
  }
  return null
}

/** The instance whose keyring it is; null: nobody's yet. */
export async function findOwner(db: PgQueries, schema: string): Promise<string | null> {
  if ((await findFilled(db, schema)) === null) return null
  const row = await db.get<{ instance_id: string }>('SELECT instance_id FROM keyring.instance')
  return row?.instance_id ?? ''
}

/** Back to what migrating makes; the files of the tables go, and what was in their pages. */
export async function truncateAll(tx: PgTx): Promise<void> {
  const names = [...FILLED, 'processes'].map((name) => `keyring.${name}`)
  await tx.run(`TRUNCATE ${names.join(', ')} RESTART IDENTITY`)
  await tx.run('UPDATE keyring.counters SET value = 0')
}

export interface ImportedInstance {
  readonly instance_id: string
  readonly master_check: Buffer
  readonly mac_root: Buffer
  readonly day_floor: number
}

export async function insertInstance(tx: PgTx, row: ImportedInstance): Promise<void> {
  await tx.run(
    `INSERT INTO keyring.instance (singleton, instance_id, master_check, mac_root, day_floor)
     VALUES (1, $1, $2, $3, $4)`,
    row.instance_id,
    row.master_check,
    row.mac_root,
    row.day_floor,
  )
}

/** Entries made from now on are numbered after those that are here. */
export async function levelLedgerCounter(tx: PgTx): Promise<void> {
  await tx.run(
    `UPDATE keyring.counters SET value = (SELECT coalesce(max(ledger_id), 0) FROM keyring.ledger)
     WHERE name = 'ledger'`,
  )
}

export interface DayRow {
  readonly day: number
  readonly slot: number
}

export function listDayRows(db: KeyringDb): DayRow[] {
  return db.all<DayRow>('SELECT day, slot FROM day_keys ORDER BY day')
}
