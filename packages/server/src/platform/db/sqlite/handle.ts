// TenantDb and Tx on a SQLite connection; and for looking only, one connection whose reads all see
// the snapshot last taken.

import type { Clock } from '../../clock.ts'
import { refusalOfStorage, sqliteFault } from '../../storage-fault.ts'
import { yieldBetweenChunks } from '../../yield-between-chunks.ts'
import type { BatchState } from '../batch-state.ts'
import type { Database, DatabaseSource, DatabaseStats } from '../database.ts'
import type { Statement } from '../statement.ts'
import { asTx, type Query, type SharedState, type TenantDb, type Tx } from '../tenant-db.ts'
import { SqliteConnection } from './connection.ts'

// Queries run synchronously. The promises keep slices engine-neutral, and allow a pause between two
// statements of a long unit of work.

export class SqliteTenantDb implements TenantDb {
  readonly tenant_id: string
  readonly #connection: SqliteConnection
  #open = true

  constructor(tenant_id: string, connection: SqliteConnection) {
    this.tenant_id = tenant_id
    this.#connection = connection
  }

  /** Call it when the transaction ends: a later query would run in another one, or in none. */
  end(): void {
    this.#open = false
  }

  protected requireOpen(): void {
    if (!this.#open) throw new Error('a query after the end of its transaction')
  }

  protected get connection(): SqliteConnection {
    this.requireOpen()
    return this.#connection
  }

  /** A promise to await before a statement; undefined if the statement can run at once. */
  protected place(): Promise<void> | undefined {
    return undefined
  }

  async all<O>(query: Query<O>): Promise<O[]> {
    const { sql, parameters } = query.compile()
    const place = this.place()
    if (place) await place
    return this.connection.all(sql, parameters) as O[]
  }

  async first<O>(query: Query<O>): Promise<O | undefined> {
    const { sql, parameters } = query.compile()
    const place = this.place()
    if (place) await place
    return this.connection.get(sql, parameters) as O | undefined
  }

  async allOf<P, O>(statement: Statement<P, O>, params: P): Promise<O[]> {
    const values = statement.bind(this.tenant_id, params)
    const place = this.place()
    if (place) await place
    return this.connection.all(statement.sql, values) as O[]
  }

  async firstOf<P, O>(statement: Statement<P, O>, params: P): Promise<O | undefined> {
    const values = statement.bind(this.tenant_id, params)
    const place = this.place()
    if (place) await place
    return this.connection.get(statement.sql, values) as O | undefined
  }
}

/** Longer than a commit of dozens of small units, which others that start meanwhile would delay. */
const PIECE_MS = 25

/** Runs statements in the order of their calls, and lets other work run between two of them. */
export class StatementQueue {
  readonly #pace = yieldBetweenChunks(PIECE_MS)
  #last: Promise<void> | undefined

  /** A promise to await before a statement; undefined if the statement can run at once. */
  join(): Promise<void> | undefined {
    // A statement that was called earlier may still be waiting.
    const place = this.#last ? this.#last.then(this.#pace) : this.#pace()
    if (!place) return undefined
    this.#last = place
    void place.then(() => {
      if (this.#last === place) this.#last = undefined
    })
    return place
  }

  /** Resolves when every queued statement has run. */
  async idle(): Promise<void> {
    while (this.#last) await this.#last
  }
}

/** The state that the units of one commit share. */
export interface Batch {
  readonly connection: SqliteConnection
  readonly queue: StatementQueue
  readonly clock: Clock
  readonly state: BatchState
}

export class SqliteTx extends SqliteTenantDb {
  readonly shared: SharedState
  readonly #after: (() => void)[] = []
  readonly #needed: Promise<unknown>[] = []
  readonly #clock: Clock
  readonly #queue: StatementQueue
  readonly #writer: SqliteConnection

  private constructor(tenant_id: string, batch: Batch) {
    super(tenant_id, batch.connection)
    this.#writer = batch.connection
    this.#queue = batch.queue
    this.shared = batch.state.of(tenant_id)
    this.#clock = batch.clock
  }

  static open(tenant_id: string, batch: Batch) {
    const tx = new SqliteTx(tenant_id, batch)
    return { tx: asTx(tx), after: tx.#after, needed: tx.#needed, end: () => tx.end() }
  }

  now(): number {
    return this.#clock.now()
  }

  // A disk error ends the transaction; a statement after it would be committed on its own.
  protected override requireOpen(): void {
    super.requireOpen()
    if (!this.#writer.inTransaction) throw new Error('a query after the end of its transaction')
  }

  protected override place(): Promise<void> | undefined {
    return this.#queue.join()
  }

  async run(query: Query<unknown>): Promise<number> {
    const { sql, parameters } = query.compile()
    const place = this.place()
    if (place) await place
    return this.connection.run(sql, parameters)
  }

  async runOf<P, O>(statement: Statement<P, O>, params: P): Promise<number> {
    const values = statement.bind(this.tenant_id, params)
    const place = this.place()
    if (place) await place
    return this.connection.run(statement.sql, values)
  }

  needs(done: Promise<unknown>): void {
    // Awaited at the end of the unit, unless the unit fails first.
    done.catch(() => {})
    this.#needed.push(done)
  }

  // Runs at once, since a statement needs no network message here.
  gather(...[insert, rows]: Parameters<Tx['gather']>): void {
    this.requireOpen()
    this.needs(insert(asTx(this), rows))
  }

  afterCommit(act: () => void): void {
    this.#after.push(act)
  }
}

/** The refusal for a disk failure: nothing of the batch was committed. */
export function asRefusal(error: unknown): unknown {
  const fault = sqliteFault(error)
  return fault === null ? error : refusalOfStorage(fault)
}

/** Pool figures of a single connection. */
export const NO_POOL = { size: 1, available: 0, waiting: 0 }

export interface Snapshots extends Database {
  /** Makes later reads see the data as committed now. */
  takeSnapshot(): Promise<void>
  /** Releases the snapshot, so that the service can truncate its log again. */
  release(): Promise<void>
}

/** Replaces `transact` on read-only data. */
export const readOnly = (): Promise<never> =>
  Promise.reject(new Error('the data is open for reading only'))

export class SqliteSnapshots implements Snapshots {
  readonly source: DatabaseSource
  readonly shared = false
  readonly #connection: SqliteConnection
  readonly transact = readOnly

  constructor(path: string) {
    this.source = { engine: 'sqlite', path }
    this.#connection = new SqliteConnection(path, 'read')
  }

  async takeSnapshot(): Promise<void> {
    await this.release()
    this.#connection.step('BEGIN')
    // SQLite fixes the snapshot at the first read, not at BEGIN.
    this.#connection.get('select name from migrations limit 1', [])
  }

  async release(): Promise<void> {
    if (this.#connection.inTransaction) this.#connection.step('COMMIT')
  }

  read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T> {
    return query(new SqliteTenantDb(tenant_id, this.#connection))
  }

  sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]> {
    return this.read(tenant_id, (db) => db.all(query(db)))
  }

  stats(): DatabaseStats {
    return { engine: 'sqlite', commits: 0, units: 0, queued: 0, pool: NO_POOL }
  }

  async close(): Promise<void> {
    await this.release()
    this.#connection.close()
  }
}
