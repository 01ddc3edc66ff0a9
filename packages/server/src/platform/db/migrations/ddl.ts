// Declares tables in the portable subset; engines differ in column types and table options only.

import { type ColumnDataType, sql } from 'kysely'
import { builder } from '../builder.ts'

export type EngineName = 'sqlite' | 'postgres'

type Kind = 'text' | 'int' | 'real' | 'blob'
type Column = Kind | `${Kind}?`

export interface TableSpec {
  readonly name: string
  readonly columns: Readonly<Record<string, Column>>
  readonly primary_key: readonly string[]
  /** For small rows that are read in key order: SQLite keeps them in the tree of the key. */
  readonly clustered?: boolean
  readonly unique?: readonly IndexSpec[]
  readonly indexes?: readonly IndexSpec[]
}

interface IndexSpec {
  readonly columns: readonly string[]
  /** A condition on flags or nulls, with the same text on both engines. */
  readonly where?: string
}

export interface Migration {
  readonly name: string
  readonly tables: readonly TableSpec[]
  /** Of tables of earlier migrations; they may be null. */
  readonly columns?: readonly { table: string; name: string; column: `${Kind}?` }[]
  /** On tables of earlier migrations. */
  readonly indexes?: readonly (IndexSpec & { readonly table: string })[]
  /** Rights that the role of requests gets, on PostgreSQL. */
  readonly grants?: readonly { readonly table: string; readonly rights: string }[]
  /** Tables of an earlier migration that this reader may read across tenants; see `readerDdl`. */
  readonly readers?: readonly { readonly table: string; readonly reader: string }[]
  /** Set if it applies to one engine only. */
  readonly engine?: EngineName
}

const TYPES: Readonly<Record<EngineName, Readonly<Record<Kind, string>>>> = {
  sqlite: { text: 'text', int: 'integer', real: 'real', blob: 'blob' },
  postgres: { text: 'text collate "C"', int: 'bigint', real: 'double precision', blob: 'bytea' },
}

/** The final form of the tables after all the migrations. */
export const finalTables = (migrations: readonly Migration[]): TableSpec[] =>
  migrations
    .flatMap(({ tables }) => tables)
    .map((spec) => {
      const later = migrations.flatMap(({ columns = [] }) =>
        columns.flatMap(({ table, name, column }) => (table === spec.name ? [[name, column]] : [])),
      )
      return { ...spec, columns: { ...spec.columns, ...Object.fromEntries(later) } }
    })

/** The DDL statements of a table and its indexes. */
export function tableDdl(engine: EngineName, table: TableSpec): string[] {
  let create = builder.schema.createTable(table.name)
  for (const [name, column] of Object.entries(table.columns)) {
    const nullable = column.endsWith('?')
    create = create.addColumn(name, typeOf(engine, column), (c) => (nullable ? c : c.notNull()))
  }
  create = create.addPrimaryKeyConstraint(`${table.name}_key`, [...table.primary_key] as never[])
  if (engine === 'sqlite')
    create = create.modifyEnd(sql.raw(table.clustered ? 'strict, without rowid' : 'strict'))
  return [create.compile().sql, ...indexDdl(table)]
}

function typeOf(engine: EngineName, column: Column): ColumnDataType {
  const kind = (column.endsWith('?') ? column.slice(0, -1) : column) as Kind
  return sql.raw(TYPES[engine][kind]) as unknown as ColumnDataType
}

/** The DDL statements of what a migration adds to existing tables. */
export const laterDdl = (
  engine: EngineName,
  { columns = [], indexes = [] }: Migration,
): string[] => [
  ...columns.map(
    ({ table, name, column }) =>
      builder.schema.alterTable(table).addColumn(name, typeOf(engine, column)).compile().sql,
  ),
  ...indexes.flatMap(({ table, ...index }) => indexDdl({ name: table, indexes: [index] })),
]

function indexDdl(table: Pick<TableSpec, 'name' | 'unique' | 'indexes'>): string[] {
  const named = [
    ...(table.unique ?? []).map((index) => ({ ...index, unique: true })),
    ...(table.indexes ?? []).map((index) => ({ ...index, unique: false })),
  ]
  return named.map(({ columns, where, unique }) => {
    const name = `${table.name}_by_${columns.filter((c) => c !== 'tenant_id').join('_')}`
    let create = builder.schema
      .createIndex(name)
      .on(table.name)
      .columns([...columns])
    if (unique) create = create.unique()
    const condition = where ? ` where ${where}` : ''
    return create.compile().sql + condition
  })
}
