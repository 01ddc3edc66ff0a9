// A database file: the one keyring it is bound to and never served without, what the query planner
// is told about its tables (a tenant may have many rows), and its write-ahead log.

import { existsSync, statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { OperatorError } from '../../operator-error.ts'
import { SqliteConnection } from './connection.ts'

/** The files of the data directory do not belong together; the message is one clear line. */
export class DataError extends OperatorError {}

/** The id of the keyring that the database was created with; null if there is no database yet. */
export function findInstance(path: string): string | null {
  if (!existsSync(path)) return null
  const tables = readTables(path)
  if (tables.length === 0) return null
  if (!tables.includes('instance'))
    throw new DataError(`${path} is a database of something else; it was left alone`)
  const connection = new SqliteConnection(path, 'read')
  try {
    const [id] = Object.values(connection.get('select instance_id from instance', []) ?? {})
    return typeof id === 'string' ? id : null
  } finally {
    connection.close()
  }
}

function readTables(path: string): string[] {
  let connection: SqliteConnection | undefined
  try {
    connection = new SqliteConnection(path, 'read')
    const rows = connection.all("select name from sqlite_master where type = 'table'", [])
    return rows.flatMap((row) => Object.values(row ?? {}).map(String))
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown error'
    throw new DataError(`${path} cannot be read as a database (${why}); it was left alone`)
  } finally {
    connection?.close()
  }
}

/** Binds a new database to its keyring. */
export function recordInstance(connection: SqliteConnection, instance_id: string): void {
  connection.run(
    'insert into instance (instance_id) select ? where not exists (select 1 from instance)',
    [instance_id],
  )
}

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

const PASSIVE_BYTES = 2 * 1024 * 1024
// A passive checkpoint never resets the file under load (measured: 175 MB in 21 s).
const TRUNCATE_BYTES = 32 * 1024 * 1024
const EVERY_MS = 100

/**
 * Keeps the write-ahead log short from a worker thread, so that no COMMIT pays for a checkpoint.
 * The thread is started when the log first grows long: a service at rest does without it.
 */
export function startCheckpointer(path: string) {
  let worker: Worker | undefined
  let dirty = false
  const timer = setInterval(() => {
    if (!dirty) return
    dirty = false
    if (walBytes(path) < PASSIVE_BYTES) return
    if (!worker) {
      worker = startWorker(path)
      // A thread that cannot start must not end the service; the next message starts another one.
      worker.once('error', () => {
        worker = undefined
      })
    }
    worker.postMessage('check')
  }, EVERY_MS)
  timer.unref()
  return {
    /** Reports a commit. Cheap. */
    noteCommit(): void {
      dirty = true
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      if (!worker) return
      // Without a reference the process could end before the worker has closed its connection.
      worker.ref()
      const ended = new Promise((resolve) => worker?.once('exit', resolve))
      worker.postMessage('stop')
      await ended
    },
  }
}

function startWorker(path: string): Worker {
  const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), {
    workerData: { path, passive: PASSIVE_BYTES, truncate: TRUNCATE_BYTES },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  worker.unref()
  return worker
}

/** Returns 0 if the size is unknown: readiness reports the fault, and the next commit retries. */
function walBytes(path: string): number {
  try {
    return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  } catch {
    return 0
  }
}
