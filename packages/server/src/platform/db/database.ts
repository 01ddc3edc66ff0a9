// The interface of a database engine: units of work and snapshots, one tenant at a time.

import type { Query, TenantDb, Tx } from './tenant-db.ts'

/** The tenant id for work on control tables that belongs to no tenant. */
export const PLATFORM = ''

export interface DatabaseStats {
  readonly engine: 'sqlite' | 'postgres'
  readonly commits: number
  readonly units: number
  readonly queued: number
  /** Connections that are open, those that are free, and callers that wait for one. */
  readonly pool: { readonly size: number; readonly available: number; readonly waiting: number }
}

/** Called after a commit with its number of units of work and the time until they were durable. */
export type OnCommit = (units: number, seconds: number) => void

/** Where the data is, as plain data that can be sent to a worker thread; see `readSource`. */
export type DatabaseSource =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'postgres'; readonly url: string; readonly role: string | null }

export interface Database {
  /** Whether other processes may write to the same data. */
  readonly shared: boolean
  /** The location from which a worker thread can open the same data for reading. */
  readonly source: DatabaseSource
  /**
   * Runs a unit of work. Resolves when it is durable; if it throws, only this unit is rolled back.
   * The unit may await only its own queries and, in long computations, iterations of the event loop
   * (`yieldBetweenChunks`). It may run more than once.
   */
  transact<T>(tenant_id: string, unit: (tx: Tx) => Promise<T>): Promise<T>
  /** Reads on one committed snapshot. */
  read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T>
  /**
   * The few result rows of a query that reads many, such as counts, on the newest committed state.
   * The embedded engine runs it in a separate thread, so that no other request waits for it.
   * @param query only builds the query; its handle runs none
   */
  sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]>
  stats(): DatabaseStats
  close(): Promise<void>
}

/** The number of rows that a query counts, off the main thread; see `Database.sums`. */
export async function countRows(
  db: Database,
  tenant_id: string,
  query: (db: TenantDb) => Query<{ count: number }>,
): Promise<number> {
  const [row] = await db.sums(tenant_id, query)
  return Number(row?.count ?? 0)
}
