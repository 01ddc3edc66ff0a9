// TenantDb and Tx on a SQLite connection.

import type { Clock } from '../clock.ts'
import { Refusal } from '../refusal.ts'
import { type SqliteConnection, sqliteFault } from './sqlite-connection.ts'
import type { Statement } from './statement.ts'
import type { Query, SharedSlot, SharedState, TenantDb, Tx } from './tenant-db.ts'

// Queries run synchronously underneath; the promises only keep slices engine-neutral.

export class SqliteTenantDb implements TenantDb {
  readonly tenant_id: string
  protected readonly connection: SqliteConnection

  constructor(tenant_id: string, connection: SqliteConnection) {
    this.tenant_id = tenant_id
    this.connection = connection
  }

  async all<O>(query: Query<O>): Promise<O[]> {
    const { sql, parameters } = query.compile()
    return this.connection.all(sql, parameters) as O[]
  }

  async first<O>(query: Query<O>): Promise<O | undefined> {
    const { sql, parameters } = query.compile()
    return this.connection.get(sql, parameters) as O | undefined
  }

  async allOf<P, O>(statement: Statement<P, O>, params: P): Promise<O[]> {
    return this.connection.all(statement.sql, statement.bind(this.tenant_id, params)) as O[]
  }

  async firstOf<P, O>(statement: Statement<P, O>, params: P): Promise<O | undefined> {
    const values = statement.bind(this.tenant_id, params)
    return this.connection.get(statement.sql, values) as O | undefined
  }
}

/** Values shared by the units of one batch, with an undo journal for the unit that is running. */
export class BatchState {
  readonly #values = new Map<
    string,
    { slot: SharedSlot<unknown>; tenant_id: string; value: unknown }
  >()
  #undo: (() => void)[] = []

  beginUnit(): void {
    this.#undo = []
  }

  undoUnit(): void {
    for (const undo of this.#undo.reverse()) undo()
    this.#undo = []
  }

  of(tenant_id: string): SharedState {
    return {
      get: <T>(slot: SharedSlot<T>) =>
        this.#values.get(`${slot.name}\0${tenant_id}`)?.value as T | undefined,
      set: <T>(slot: SharedSlot<T>, value: T) => {
        const key = `${slot.name}\0${tenant_id}`
        const before = this.#values.get(key)
        this.#undo.push(() => {
          if (before) this.#values.set(key, before)
          else this.#values.delete(key)
        })
        this.#values.set(key, { slot: slot as SharedSlot<unknown>, tenant_id, value })
      },
    }
  }

  entries() {
    return [...this.#values.values()]
  }
}

/** What the units of one commit share. */
export interface Batch {
  readonly connection: SqliteConnection
  readonly clock: Clock
  readonly state: BatchState
}

export class SqliteTx extends SqliteTenantDb {
  readonly shared: SharedState
  readonly #after: (() => void)[] = []
  readonly #clock: Clock

  private constructor(tenant_id: string, batch: Batch) {
    super(tenant_id, batch.connection)
    this.shared = batch.state.of(tenant_id)
    this.#clock = batch.clock
  }

  static open(tenant_id: string, batch: Batch) {
    const tx = new SqliteTx(tenant_id, batch)
    // The brand exists only in the type: this is the one place a Tx is made.
    return { tx: tx as unknown as Tx, after: tx.#after }
  }

  now(): number {
    return this.#clock.now()
  }

  async run(query: Query<unknown>): Promise<number> {
    const { sql, parameters } = query.compile()
    return this.connection.run(sql, parameters)
  }

  async runOf<P, O>(statement: Statement<P, O>, params: P): Promise<number> {
    return this.connection.run(statement.sql, statement.bind(this.tenant_id, params))
  }

  afterCommit(act: () => void): void {
    this.#after.push(act)
  }
}

/** What a caller is told when the disk failed: nothing of the batch was kept. */
export function asRefusal(error: unknown): unknown {
  const fault = sqliteFault(error)
  if (fault === 'full') return new Refusal('storage_full', undefined, { retry_after_s: 30 })
  if (fault === 'io') return new Refusal('unavailable', undefined, { retry_after_s: 5 })
  return error
}
