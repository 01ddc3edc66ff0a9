// Read-only access: one connection whose reads all see the snapshot last taken.

import type { Database, DatabaseSource, DatabaseStats } from '../database.ts'
import type { Query, TenantDb } from '../tenant-db.ts'
import { SqliteConnection } from './connection.ts'
import { SqliteTenantDb } from './handle.ts'

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
