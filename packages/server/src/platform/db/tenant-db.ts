// A tenant's view of the database: queries are built for one tenant and cannot read others.

import type {
  CompiledQuery,
  DeleteQueryBuilder,
  DeleteResult,
  InsertQueryBuilder,
  InsertResult,
  RootOperationNode,
  SelectQueryBuilder,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely'
import { builder } from './builder.ts'
import type { Tables, TenantTable } from './schema/tables.ts'
import type { Statement } from './statement.ts'

/** A query of `builder`; each engine compiles it to its own dialect. */
export interface Query<O> {
  compile(): CompiledQuery<O>
  toOperationNode(): RootOperationNode
}

declare const inTransaction: unique symbol

/** Reads of one tenant on one snapshot. The raw handle never leaves platform/db. */
export interface TenantDb {
  readonly tenant_id: string
  all<O>(query: Query<O>): Promise<O[]>
  first<O>(query: Query<O>): Promise<O | undefined>
  /** Runs a prepared statement; the handle supplies `tenant_id`. */
  allOf<P, O>(statement: Statement<P, O>, params: P): Promise<O[]>
  firstOf<P, O>(statement: Statement<P, O>, params: P): Promise<O | undefined>
}

/** A TenantDb inside a unit of work; only `transact` can make one. */
export interface Tx extends TenantDb {
  readonly [inTransaction]: true
  /** The process clock: strictly increasing microseconds. */
  now(): number
  /** Returns the number of changed rows. */
  run(query: Query<unknown>): Promise<number>
  runOf<P, O>(statement: Statement<P, O>, params: P): Promise<number>
  /**
   * Lets the unit continue while `done` is pending; the unit counts only if `done` resolves. On a
   * networked database, a statement that is not awaited shares its round trip with the next ones.
   * Its queries must be sent before the unit returns, after which there is no transaction for them.
   */
  needs(done: Promise<unknown>): void
  /**
   * Like `needs(insert(this, rows))`. On a networked database, the rows of all units of a commit
   * are sent together: before the next statement that names their table, or else before the commit.
   */
  gather<R>(insert: GatheredInsert<R>, rows: readonly R[]): void
  /**
   * State of this tenant shared by all units of one commit (the chain head, usage counts). It is
   * undone with the unit that changed it, and flushed once before the commit.
   */
  readonly shared: SharedState
  /** Runs `act` once the unit is durable; never if it is rolled back. */
  afterCommit(act: () => void): void
}

/** Inserts rows into one table, from any unit of the commit; see `insertRowsStatement`. */
interface GatheredInsert<R> {
  (tx: Tx, rows: readonly R[]): Promise<unknown>
  readonly table: string
}

/** Only for `transact` of an engine: the brand exists only in the type. */
export const asTx = (handle: Omit<Tx, typeof inTransaction>): Tx => handle as Tx

export interface SharedState {
  get<T>(slot: SharedSlot<T>): T | undefined
  set<T>(slot: SharedSlot<T>, value: NoInfer<T>): void
}

/** A named piece of shared state. Values are immutable: set a new one to change it. */
export interface SharedSlot<T> {
  readonly name: string
  /** Writes the final value of a commit; runs in the same transaction. */
  flush(tx: Tx, value: T): Promise<void>
  /** Called with the durable value and its `Database`, before any caller is answered. */
  committed?(tenant_id: string, value: T, db: object): void
}

type TenantQuery<T extends TenantTable> = SelectQueryBuilder<Tables, T, object>

/** SELECT … FROM table WHERE table.tenant_id = the tenant. */
export function from<T extends TenantTable>(db: TenantDb, table: T): TenantQuery<T> {
  // Kysely cannot type a column reference on a generic table; the four casts of this file are the
  // only ones, so that no query elsewhere has to name its tenant.
  const query = builder.selectFrom(table) as unknown as SelectQueryBuilder<Tables, 'facts', object>
  return query.where(
    `${table as 'facts'}.tenant_id`,
    '=',
    db.tenant_id,
  ) as unknown as TenantQuery<T>
}

export function insertInto<T extends TenantTable>(
  tx: Tx,
  table: T,
  row: Omit<Tables[T], 'tenant_id'> | readonly Omit<Tables[T], 'tenant_id'>[],
): InsertQueryBuilder<Tables, T, InsertResult> {
  const rows = (Array.isArray(row) ? row : [row]).map((r) => ({ tenant_id: tx.tenant_id, ...r }))
  return builder.insertInto(table).values(rows as never)
}

export function update<T extends TenantTable>(
  tx: Tx,
  table: T,
): UpdateQueryBuilder<Tables, T, T, UpdateResult> {
  const query = builder.updateTable(table as 'facts')
  return query.where('tenant_id', '=', tx.tenant_id) as never
}

export function deleteFrom<T extends TenantTable>(
  tx: Tx,
  table: T,
): DeleteQueryBuilder<Tables, T, DeleteResult> {
  const query = builder.deleteFrom(table as 'facts')
  return query.where('tenant_id', '=', tx.tenant_id) as never
}
