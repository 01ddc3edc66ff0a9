// The interface of a database engine: units of work and snapshots, one tenant at a time.

import type { Query, TenantDb, Tx } from './tenant-db.ts'

/** The tenant id of work on the control tables that belongs to no tenant. */
export const PLATFORM = ''

export interface DatabaseStats {
  readonly engine: 'sqlite' | 'postgres'
  readonly commits: number
  readonly units: number
  readonly queued: number
  /** Connections: open, free, and callers that wait for one. */
  readonly pool: { readonly size: number; readonly available: number; readonly waiting: number }
}

/** Told of a commit: its units of work, and how long they took until they were durable. */
export type OnCommit = (units: number, seconds: number) => void

/** Where the data is, as plain data that can be sent to a worker; see `readSource`. */
export type DatabaseSource =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'postgres'; readonly url: string; readonly role: string | null }

export interface Database {
  /** Whether other processes may be writing the same data. */
  readonly shared: boolean
  /** The location from which a worker thread can open the same data for reading. */
  readonly source: DatabaseSource
  /**
   * Runs a unit of work. Resolves when it is durable; a throw rolls this unit back alone.
   * The unit awaits nothing but its own queries and, where it computes for long, turns of the event
   * loop (`yieldBetweenChunks`). It may be run again.
   */
  transact<T>(tenant_id: string, unit: (tx: Tx) => Promise<T>): Promise<T>
  /** Reads on one committed snapshot. */
  read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T>
  /**
   * The few rows of a query over many, such as counts, on what is committed now. The embedded
   * engine runs it in a thread of its own, so that no other request waits for it.
   * @param query builds the query; the handle runs none
   */
  sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]>
  stats(): DatabaseStats
  close(): Promise<void>
}

/** How many rows a query counts, beside the main thread; see `Database.sums`. */
export async function countRows(
  db: Database,
  tenant_id: string,
  query: (db: TenantDb) => Query<{ count: number }>,
): Promise<number> {
  const [row] = await db.sums(tenant_id, query)
  return Number(row?.count ?? 0)
}
