// The database of a keyring, SQLite or PostgreSQL: typed queries that compile for either engine.

import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { Query } from '../../db/tenant-db.ts'
import type { KeyringTables } from './tables.ts'

/** Builds queries only; the engines compile and execute them. */
export const keyringBuilder = new Kysely<KeyringTables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** Reads committed rows and, in a transaction, also its own. */
export interface KeyringQueries {
  /** Builds queries on the tables of this keyring. */
  readonly tables: typeof keyringBuilder
  all<O>(query: Query<O>): Promise<O[]>
  first<O>(query: Query<O>): Promise<O | undefined>
}

/** A handle inside a transaction. Only `KeyringDb.transact` creates one. */
export interface KeyringTx extends KeyringQueries {
  readonly is_transaction: true
  /** Returns the number of changed rows. */
  run(query: Query<unknown>): Promise<number>
}

export interface KeyringDb extends KeyringQueries {
  /** Whether other processes may have this keyring open. */
  readonly shared: boolean
  /**
   * Durable when it resolves; if it throws, nothing is changed. The unit awaits only its own
   * queries, and on PostgreSQL it may run more than once.
   */
  transact<T>(unit: (tx: KeyringTx) => Promise<T>): Promise<T>
  /** Removes replaced rows from the write-ahead log of SQLite. Does nothing on PostgreSQL. */
  truncateLog(): Promise<void>
}

/** Groups of at most `size` items, because a statement has a limited number of parameters. */
export function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
