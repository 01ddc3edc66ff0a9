// The database of a keyring, SQLite or PostgreSQL: typed queries that either engine compiles.

import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { Query } from '../../db/tenant-db.ts'
import type { KeyringTables } from './tables.ts'

/** Builds queries; the engines compile and execute them. */
export const keyringBuilder = new Kysely<KeyringTables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** Reads of committed rows or, in a transaction, of its own as well. */
export interface KeyringQueries {
  /** Builds queries on the tables of this keyring. */
  readonly tables: typeof keyringBuilder
  all<O>(query: Query<O>): Promise<O[]>
  first<O>(query: Query<O>): Promise<O | undefined>
}

/** A handle inside a transaction of `KeyringDb.transact`, which alone makes one. */
export interface KeyringTx extends KeyringQueries {
  readonly is_transaction: true
  /** Rows changed. */
  run(query: Query<unknown>): Promise<number>
}

export interface KeyringDb extends KeyringQueries {
  /** Whether other processes may have this keyring open. */
  readonly shared: boolean
  /**
   * Durable when it resolves; a throw leaves nothing behind. The unit awaits nothing but its own
   * queries, and on PostgreSQL it may be run again.
   */
  transact<T>(unit: (tx: KeyringTx) => Promise<T>): Promise<T>
  /** Empties the write-ahead log of SQLite of replaced rows; nothing to do on PostgreSQL. */
  truncateLog(): Promise<void>
}

/** Items in groups of at most `size`: a statement takes a limited number of parameters. */
export function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
