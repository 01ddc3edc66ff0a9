// Read-only access to PostgreSQL: one connection whose reads all see the snapshot last taken.

import { Client } from 'pg'
import { type DatabaseSource, type DatabaseStats, PLATFORM } from '../database.ts'
import { NO_POOL, readOnly, type Snapshots } from '../sqlite/snapshots.ts'
import type { Query, TenantDb } from '../tenant-db.ts'
import { connectionOf, PostgresConnection, postgresTypes } from './connection.ts'
import { asPostgresError } from './error.ts'
import { PostgresTenantDb } from './handle.ts'

/** Long, because nobody waits for these reads. */
const STATEMENT_TIMEOUT_MS = 600_000

export class PostgresSnapshots implements Snapshots {
  readonly source: DatabaseSource
  readonly shared = false
  readonly #client: Client
  readonly #connection: PostgresConnection
  readonly #role: string | null
  #open = false
  readonly transact = readOnly

  private constructor(client: Client, url: string, role: string | null) {
    this.#client = client
    this.#connection = new PostgresConnection(client)
    this.#role = role
    this.source = { engine: 'postgres', url, role }
  }

  /** Throws PostgresError if no connection can be opened. */
  static async open(url: string, role: string | null): Promise<PostgresSnapshots> {
    const { connectionString } = connectionOf(url)
    const client = new Client({ connectionString, types: postgresTypes, pipeline: true })
    // The failing queries report the error; an 'error' event without a listener ends the process.
    client.on('error', () => {})
    try {
      await client.connect()
    } catch (error) {
      throw asPostgresError(error)
    }
    return new PostgresSnapshots(client, url, role)
  }

  async takeSnapshot(): Promise<void> {
    await this.release()
    await this.#connection.beginRead(PLATFORM, {
      role: this.#role,
      statement_timeout_ms: STATEMENT_TIMEOUT_MS,
      idle_timeout_ms: STATEMENT_TIMEOUT_MS,
    })
    this.#open = true
  }

  async release(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#connection.commit()
  }

  /** Reads one tenant at a time, because the row policies apply to the tenant last set. */
  async read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T> {
    if (!this.#open) await this.takeSnapshot()
    const sql = `select set_config('app.tenant_id', $1, true)`
    await this.#connection.query({ sql }, [tenant_id])
    return query(new PostgresTenantDb(tenant_id, { connection: this.#connection, named: false }))
  }

  sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]> {
    return this.read(tenant_id, (db) => db.all(query(db)))
  }

  stats(): DatabaseStats {
    return { engine: 'postgres', commits: 0, units: 0, queued: 0, pool: NO_POOL }
  }

  /** Ends a snapshot with the connection: committing a failed one would throw its error again. */
  async close(): Promise<void> {
    await this.#client.end()
  }
}
