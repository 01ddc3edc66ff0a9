// Queries that copy those tables of an embedded keyring that hold nothing wrapped.

import { type Kysely, sql } from 'kysely'
import type { KeyringQueries, KeyringTx } from '../core/database.ts'
import type { PgQueries, PgTx } from '../postgres/keyring-pg.ts'

export interface PlainTable {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns that order and identify the rows. */
  readonly key: readonly string[]
}
export type PlainRow = Readonly<Record<string, string | number | null>>

const PAGE = 200

export const PLAIN_TABLES: readonly PlainTable[] = [
  {
    name: 'ledger',
    columns: [
      'ledger_id',
      'tenant_id',
      'subject_kind',
      'subject',
      'store_id',
      'destroys',
      'state',
      'requested_us',
      'completed_us',
      'plan',
      'parts_id',
      'parts',
      'certificate',
    ],
    key: ['ledger_id'],
  },
  {
    name: 'ledger_parts',
    columns: ['parts_id', 'part', 'tenant_id', 'plan'],
    key: ['parts_id', 'part'],
  },
  {
    name: 'ledger_renewals',
    columns: ['parts_id', 'number', 'tenant_id', 'part', 'renewed_as', 'box'],
    key: ['parts_id', 'number'],
  },
  {
    name: 'ledger_secrets',
    columns: ['tenant_id', 'kind', 'number'],
    key: ['tenant_id', 'kind', 'number'],
  },
  {
    name: 'checkpoints',
    columns: ['tenant_id', 'generation', 'epoch_number', 'tree_size', 'root_hash', 'checkpoint'],
    key: ['tenant_id'],
  },
]

/**
 * At most `PAGE` rows after `after`, in the order of the table's key. Both engines compare text
 * bytewise, so both sides have the same pages.
 */
export async function listPlainRows(
  db: KeyringQueries,
  { name, columns, key }: PlainTable,
  after: PlainRow | null,
): Promise<PlainRow[]> {
  const values = after ? key.map((column) => after[column] ?? null) : []
  const names = sql.join(key.map((column) => sql.ref(column)))
  let query = plainTables(db)
    .selectFrom(name)
    .select([...columns])
  if (after) query = query.where(sql<boolean>`(${names}) > (${sql.join(values)})`)
  for (const column of key) query = query.orderBy(column)
  const rows = await db.all(query.limit(PAGE))
  return rows.map((row) => ({ ...row }))
}

export async function insertPlainRows(
  tx: KeyringTx,
  { name }: PlainTable,
  rows: readonly PlainRow[],
): Promise<void> {
  await tx.run(plainTables(tx).insertInto(name).values(rows))
}

/** Tables that are known by name only; their rows are copied and compared unchanged. */
function plainTables(db: KeyringQueries): Kysely<Record<string, PlainRow>> {
  return db.tables as unknown as Kysely<Record<string, PlainRow>>
}

/** Every table that is empty in a keyring that was migrated but never opened. */
export const EMPTY_AT_FIRST: readonly string[] = [
  'instance',
  'tenants',
  'wrap_keys',
  'secret_blocks',
  'secrets',
  'destroyed_secrets',
  'signing_keys',
  ...PLAIN_TABLES.map(({ name }) => name),
]

/** A table that has rows; null if the keyring is only migrated, or does not exist. */
export async function findTableWithRows(db: PgQueries, schema: string): Promise<string | null> {
  for (const name of EMPTY_AT_FIRST) {
    const there = await db.queryFirst<{ found: string | null }>(
      'SELECT to_regclass($1)::text AS found',
      `"${schema}"."${name}"`,
    )
    if (there?.found == null) continue
    if (await db.queryFirst(`SELECT 1 AS found FROM keyring.${name} LIMIT 1`)) return name
  }
  return null
}

/** Instance id of the keyring; null if there is none, '' for rows without an instance. */
export async function findOwner(db: PgQueries, schema: string): Promise<string | null> {
  if ((await findTableWithRows(db, schema)) === null) return null
  const row = await db.queryFirst<{ instance_id: string }>(
    'SELECT instance_id FROM keyring.instance',
  )
  return row?.instance_id ?? ''
}

/** Truncates every table, which also deletes the tables' files with their old pages. */
export async function truncateAll(tx: PgTx): Promise<void> {
  const names = [...EMPTY_AT_FIRST, 'processes'].map((name) => `keyring.${name}`)
  await tx.execute(`TRUNCATE ${names.join(', ')} RESTART IDENTITY`)
  await tx.execute('UPDATE keyring.counters SET value = 0')
}

/** Makes new ledger entries continue the numbers of the imported ones. */
export async function updateLedgerCounter(tx: PgTx): Promise<void> {
  await tx.execute(
    `UPDATE keyring.counters SET value = (SELECT coalesce(max(ledger_id), 0) FROM keyring.ledger)
     WHERE name = 'ledger'`,
  )
}
