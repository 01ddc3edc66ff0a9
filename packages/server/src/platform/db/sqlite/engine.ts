// The embedded engine: group commit on one writer connection, snapshots on a few readers.

import { statSync } from 'node:fs'
import type { Clock } from '../../clock.ts'
import { Refusal } from '../../refusal.ts'
import { sqliteFault } from '../../storage-fault.ts'
import { WorkerRequests } from '../../worker-requests.ts'
import { BatchState, type OnLateFailure } from '../batch-state.ts'
import type { Database, DatabaseSource, DatabaseStats, OnCommit } from '../database.ts'
import { laterDdl, tableDdl } from '../migrations/ddl.ts'
import { migrationsOf, requireKnown } from '../migrations/migrations.ts'
import type { Query, TenantDb, Tx } from '../tenant-db.ts'
import { SqliteConnection } from './connection.ts'
import { asRefusal, type Batch, SqliteTenantDb, SqliteTx, StatementQueue } from './handle.ts'
import { writeStatistics } from './statistics.ts'
import type { sumUp } from './sum-worker.ts'

const BATCH_UNITS_MAX = 256
const READERS = 4

/** Receives the errors that callers see only as a 503; messages of SQLite quote no values. */
type OnFault = (fault: { fault: 'full' | 'io'; reason: string }) => void

interface QueuedUnit {
  readonly tenant_id: string
  readonly unit: (tx: Tx) => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

interface DoneUnit extends QueuedUnit {
  readonly value: unknown
  readonly after: readonly (() => void)[]
}

export class SqliteEngine implements Database {
  readonly source: DatabaseSource
  readonly shared = false
  readonly #writer: SqliteConnection
  readonly #readers: SqliteConnection[]
  readonly #waitingReads: ((connection: SqliteConnection) => void)[] = []
  readonly #sums = new WorkerRequests<Parameters<typeof sumUp>[0], ReturnType<typeof sumUp>>(
    new URL('./sum-worker.ts', import.meta.url),
  )
  #queue: QueuedUnit[] = []
  #scheduled = false
  #closed = false
  #running: Promise<void> = Promise.resolve()
  #commits = 0
  #units = 0
  readonly #path: string
  /** The inode number of the opened file; undefined if unknown. */
  readonly #file: bigint | null | undefined
  readonly #clock: Clock
  readonly #onCommit: OnCommit
  readonly #onLateFailure: OnLateFailure
  readonly #onFault: OnFault

  constructor(
    path: string,
    clock: Clock,
    options: {
      readonly onCommit?: OnCommit
      readonly onLateFailure?: OnLateFailure
      readonly onFault?: OnFault
    } = {},
  ) {
    this.source = { engine: 'sqlite', path }
    this.#clock = clock
    this.#writer = new SqliteConnection(path, 'write')
    this.#path = path
    this.#file = findFileNumber(path)
    this.#readers = Array.from({ length: READERS }, () => new SqliteConnection(path, 'read'))
    this.#onCommit = options.onCommit ?? (() => {})
    this.#onLateFailure = options.onLateFailure ?? (() => {})
    this.#onFault = options.onFault ?? (() => {})
  }

  transact<T>(tenant_id: string, unit: (tx: Tx) => Promise<T>): Promise<T> {
    // A request outlived the service, so its unit has no connection to run on.
    if (this.#closed) return Promise.reject(new Refusal('unavailable'))
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ tenant_id, unit, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  async read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T> {
    const connection = await this.#borrow()
    try {
      connection.step('BEGIN')
      return await query(new SqliteTenantDb(tenant_id, connection))
    } catch (error) {
      this.#tell(error)
      throw asRefusal(error)
    } finally {
      try {
        if (connection.inTransaction) connection.step('COMMIT')
      } finally {
        this.#giveBack(connection)
      }
    }
  }

  async sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]> {
    if (this.#closed) throw new Refusal('unavailable')
    const handle = new SqliteTenantDb(tenant_id, this.#writer)
    handle.end()
    const { sql, parameters } = query(handle).compile()
    const { rows = [], failure } = await this.#sums.ask({ path: this.#path, sql, parameters })
    if (failure) throw asRefusal(Object.assign(new Error(failure.message), failure))
    return rows as O[]
  }

  stats(): DatabaseStats {
    return {
      engine: 'sqlite',
      commits: this.#commits,
      units: this.#units,
      queued: this.#queue.length,
      pool: {
        size: READERS,
        available: this.#readers.length,
        waiting: this.#waitingReads.length,
      },
    }
  }

  async close(): Promise<void> {
    while (this.#scheduled || this.#queue.length > 0) {
      await this.#running
      await new Promise((resolve) => setImmediate(resolve))
    }
    await this.#running
    this.#closed = true
    await this.#sums.close()
    for (const reader of this.#readers) reader.close()
    this.#writer.close()
  }

  // One batch per iteration of the event loop: requests that arrive together are committed
  // together, and a single request never waits for others.
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#running = this.#runBatch().finally(() => {
        this.#scheduled = false
        if (this.#queue.length > 0) this.#schedule()
      })
    })
  }

  async #runBatch(): Promise<void> {
    const batch = this.#queue.splice(0, BATCH_UNITS_MAX)
    const begun_ms = performance.now()
    const state = new BatchState()
    const queue = new StatementQueue()
    const shared = { connection: this.#writer, queue, clock: this.#clock, state }
    let done: DoneUnit[] = []
    try {
      this.#requireFile()
      this.#writer.step('BEGIN IMMEDIATE')
      done = await this.#runUnits(batch, shared)
      await this.#flush(shared)
      this.#writer.step('COMMIT')
    } catch (error) {
      this.#abandon(batch, error)
      return
    }
    this.#commits += 1
    this.#units += done.length
    this.#announce(done, state)
    this.#onCommit(done.length, (performance.now() - begun_ms) / 1_000)
  }

  // Writes to a file that was removed or replaced succeed but are lost when the process ends.
  #requireFile(): void {
    const file = findFileNumber(this.#path)
    if (file === this.#file || file === undefined || this.#file === undefined) return
    throw new Refusal('unavailable', 'the data file was removed or replaced: restart the service', {
      retry_after_s: 5,
    })
  }

  async #runUnits(batch: readonly QueuedUnit[], shared: Batch): Promise<DoneUnit[]> {
    const done: DoneUnit[] = []
    for (const queued of batch) {
      const { tx, after, needed, end } = SqliteTx.open(queued.tenant_id, shared)
      shared.state.beginUnit()
      this.#writer.step('SAVEPOINT unit')
      try {
        const value = await queued.unit(tx)
        if (needed.length > 0) await Promise.all(needed)
        await shared.queue.idle()
        this.#writer.step('RELEASE unit')
        done.push({ ...queued, value, after })
      } catch (error) {
        // Statements in flight would otherwise write after the rollback, into the batch.
        await Promise.allSettled(needed)
        await shared.queue.idle()
        // SQLITE_FULL and I/O errors end the whole transaction, not only this unit.
        if (sqliteFault(error) || !this.#writer.inTransaction) throw error
        this.#writer.step('ROLLBACK TO unit')
        this.#writer.step('RELEASE unit')
        shared.state.undoUnit()
        queued.reject(error)
      } finally {
        end()
      }
    }
    return done
  }

  async #flush(shared: Batch): Promise<void> {
    for (const { slot, tenant_id, value } of shared.state.entries()) {
      const { tx, needed, end } = SqliteTx.open(tenant_id, shared)
      try {
        await slot.flush(tx, value)
        await Promise.all(needed)
      } finally {
        end()
      }
    }
  }

  #announce(done: readonly DoneUnit[], state: BatchState): void {
    const acts = done.flatMap(({ after }) => after)
    state.runAfterCommit(this, acts, this.#onLateFailure)
    for (const { resolve, value } of done) resolve(value)
  }

  #tell(error: unknown): void {
    const fault = sqliteFault(error)
    if (fault !== null && error instanceof Error) this.#onFault({ fault, reason: error.message })
  }

  #abandon(batch: readonly QueuedUnit[], error: unknown): void {
    this.#tell(error)
    try {
      if (this.#writer.inTransaction) this.#writer.step('ROLLBACK')
    } finally {
      for (const { reject } of batch) reject(asRefusal(error))
    }
  }

  #borrow(): Promise<SqliteConnection> | SqliteConnection {
    const free = this.#readers.pop()
    if (free) return free
    return new Promise((resolve) => this.#waitingReads.push(resolve))
  }

  #giveBack(connection: SqliteConnection): void {
    const waiting = this.#waitingReads.shift()
    if (waiting) waiting(connection)
    else this.#readers.push(connection)
  }
}

/** Runs the missing migrations in one transaction; returns their names. */
export function migrateSqlite(connection: SqliteConnection): string[] {
  connection.exec('BEGIN IMMEDIATE')
  try {
    const missing = runMissing(connection)
    writeStatistics(connection)
    connection.exec('COMMIT')
    return missing
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK')
    throw error
  }
}

function runMissing(connection: SqliteConnection): string[] {
  // Created with the other tables: a database with only this one would look like somebody else's.
  connection.exec('create table if not exists migrations (name text primary key) strict')
  const applied = connection.all('select name from migrations order by name', []) as {
    name: string
  }[]
  const done = new Set(applied.map(({ name }) => name))
  requireKnown([...done])
  const missing = migrationsOf('sqlite').filter(({ name }) => !done.has(name))
  for (const migration of missing) {
    const { name, tables } = migration
    for (const ddl of tables.flatMap((table) => tableDdl('sqlite', table))) connection.exec(ddl)
    for (const ddl of laterDdl('sqlite', migration)) connection.exec(ddl)
    connection.run('insert into migrations (name) values (?)', [name])
  }
  return missing.map(({ name }) => name)
}

/** Null if there is no file; undefined if the directory cannot be read now. */
function findFileNumber(path: string): bigint | null | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null
  } catch {
    return undefined
  }
}
