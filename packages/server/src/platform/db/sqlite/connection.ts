// One node:sqlite connection with its pragmas and a cache of prepared statements.

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { LruCache } from '../../lru-cache.ts'

const CACHED_STATEMENTS_MAX = 400

type Bindable = string | number | bigint | null | Uint8Array

export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #statements = new LruCache<string, StatementSync>({ max: CACHED_STATEMENTS_MAX })

  constructor(path: string, mode: 'write' | 'read') {
    this.#db = new DatabaseSync(path, { readOnly: mode === 'read', timeout: 10_000 })
    if (mode === 'write') {
      this.#db.exec('PRAGMA journal_mode = WAL')
      this.#db.exec('PRAGMA synchronous = FULL')
      this.#db.exec('PRAGMA secure_delete = ON')
      this.#db.exec('PRAGMA foreign_keys = ON')
      // A checkpoint in COMMIT would block the event loop; the checkpointer does it instead.
      this.#db.exec('PRAGMA wal_autocheckpoint = 0')
      this.#db.exec('PRAGMA cache_size = -32768')
    }
    this.#db.exec('PRAGMA temp_store = MEMORY')
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  all(sql: string, values: readonly unknown[]): unknown[] {
    return this.#prepare(sql).all(...bindable(values))
  }

  get(sql: string, values: readonly unknown[]): unknown {
    return this.#prepare(sql).get(...bindable(values))
  }

  run(sql: string, values: readonly unknown[]): number {
    return Number(this.#prepare(sql).run(...bindable(values)).changes)
  }

  /** Runs BEGIN, SAVEPOINT and the like, which have no parameters; prepared once. */
  step(sql: string): void {
    this.#prepare(sql).run()
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  close(): void {
    this.#statements.clear()
    this.#db.close()
  }

  #prepare(sql: string): StatementSync {
    // `peek`, because updating the order of use costs too much for each statement.
    return this.#statements.peek(sql) ?? this.#statements.set(sql, this.#db.prepare(sql))
  }
}

// NaN would be bound as NULL, and undefined as an error that names no column; both are bugs.
function bindable(values: readonly unknown[]): Bindable[] {
  for (const value of values) {
    if (value === undefined || Number.isNaN(value)) throw new TypeError('unbindable value')
  }
  return values as Bindable[]
}
