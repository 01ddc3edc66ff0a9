// Fixed table statistics for the query planner of SQLite: a tenant may have many rows.

import type { SqliteConnection } from './connection.ts'

// Without statistics SQLite expects ten rows per tenant, and reads all of them to find one. With a
// larger ROWS it would read rows to be deleted twice.
const ROWS = 1_000_000

const ROWS_OF_TENANT = 100_000

/** For a table with a key that does not start with the tenant, such as credentials. */
const ROWS_OF_TENANT_AMONG_ALL = 100

/** Columns with few values: a page in key order is read faster without their index. */
const COARSE = ['store_id', 'namespace', 'kind', 'state', 'status', 'subject_kind', 'dimension']

const ROWS_OF_VALUE = 10

// The primary key of a table without row ids is named after the table (file format, 2.6.3).
const INDEXES = `
  select t.name as "table", iif(t.wr and i.origin = 'pk', t.name, i.name) as "index",
      i.origin, i."unique" as is_unique, json_group_array(c.name order by c.seqno) as columns
    from pragma_table_list t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
    where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite_%'
    group by 1, 2
    order by 1, 2`

interface IndexRow {
  readonly table: string
  readonly index: string
  /** `pk` for an index of the primary key. */
  readonly origin: string
  readonly is_unique: number
  /** JSON list of column names. */
  readonly columns: string
}

/** Writes the statistics if they are missing; open connections do not see them. */
export function writeStatistics(connection: SqliteConnection): void {
  // Creates the table of statistics, and reads no row of the other tables.
  connection.exec('analyze sqlite_schema')
  const indexes = (connection.all(INDEXES, []) as IndexRow[]).map((row) => {
    const names: string[] = JSON.parse(row.columns)
    return { ...row, names }
  })
  const isKeyOfTenants = ({ origin, names }: (typeof indexes)[number]) =>
    origin === 'pk' && names[0] === 'tenant_id'
  const ofTenants = new Set(indexes.filter(isKeyOfTenants).map(({ table }) => table))
  const wanted = indexes.map(({ table, index, is_unique, names }) => {
    const ofTenant = ofTenants.has(table) ? ROWS_OF_TENANT : ROWS_OF_TENANT_AMONG_ALL
    return [table, index, estimate(names, { ofTenant, unique: is_unique === 1 })]
  })
  const known = connection.all('select tbl, idx, stat from sqlite_stat1 order by tbl, idx', [])
  if (JSON.stringify(known.map((row) => Object.values(Object(row)))) === JSON.stringify(wanted))
    return
  connection.exec('delete from sqlite_stat1')
  for (const values of wanted)
    connection.run('insert into sqlite_stat1 (tbl, idx, stat) values (?, ?, ?)', values)
  connection.exec('analyze sqlite_schema')
}

/** Estimates rows: of the table, then with equal first column, equal first two, and so on. */
function estimate(
  names: readonly string[],
  { ofTenant, unique }: { readonly ofTenant: number; readonly unique: boolean },
): string {
  let rows = ROWS
  const counts = names.map((name, at) => {
    if (unique && at === names.length - 1) rows = 1
    else if (name === 'tenant_id') rows = Math.min(rows, ofTenant)
    else if (COARSE.includes(name)) rows = Math.max(ROWS_OF_VALUE, rows / 2)
    else rows = Math.min(rows, ROWS_OF_VALUE)
    return rows
  })
  return [ROWS, ...counts].join(' ')
}
