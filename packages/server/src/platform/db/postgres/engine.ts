// The PostgreSQL engine: a queue per tenant in the process, and a lock per tenant in the database.

import { Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import { BatchState, type OnLateFailure } from '../batch-state.ts'
import type { Database, DatabaseSource, DatabaseStats, OnCommit } from '../database.ts'
import type { Query, TenantDb, Tx } from '../tenant-db.ts'
import {
  connectionOf,
  PostgresConnection,
  postgresTypes,
  type TransactionSettings,
} from './connection.ts'
import { asPostgresError, asRefusal, PostgresError } from './error.ts'
import { GatheredRows, type PostgresBatch, PostgresTenantDb, PostgresTx } from './handle.ts'

const BATCH_UNITS_MAX = 256
const ATTEMPTS_MAX = 5
const CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_TIMEOUT_MS = 60_000

/** Extra time after a statement's own timeout until it fails because the server does not answer. */
const SILENCE_MS = 5_000

export interface PostgresOptions {
  /** `postgres://…`; with `pgbouncer=true` no statement is prepared by name. */
  readonly url: string
  readonly clock: Clock
  /** The role of every transaction; null for the one that logs in. */
  readonly role: string | null
  /** Maximum connections of this process. */
  readonly connections?: number
  /** Timeout of waiting for a free connection, and of opening a new one. */
  readonly connect_timeout_ms?: number
  /** Timeout of one statement, including waits for locks. */
  readonly statement_timeout_ms?: number
  /** Timeout of a transaction that sends nothing. */
  readonly idle_timeout_ms?: number
  /** Receives the errors that callers see only as a 503; they contain no values. */
  readonly onFault?: (error: PostgresError) => void
  readonly onLateFailure?: OnLateFailure
  readonly onCommit?: OnCommit
}

interface QueuedUnit {
  /** Resolves to the function that resolves the caller's promise. */
  readonly unit: (tx: Tx) => Promise<() => void>
  readonly reject: (reason: unknown) => void
}

/** A connection borrowed from the pool. */
interface Loan {
  readonly connection: PostgresConnection
  /** Ends its transaction and returns it to the pool; callers need not wait for that. */
  giveBack(open: 'committed' | 'open'): void
}

export class PostgresEngine implements Database {
  readonly shared = true
  readonly source: DatabaseSource
  readonly #pool: Pool
  readonly #named: boolean
  readonly #clock: Clock
  readonly #settings: TransactionSettings
  readonly #onFault: (error: PostgresError) => void
  readonly #onLateFailure: OnLateFailure
  readonly #onCommit: OnCommit
  /** Queued units by tenant. A tenant has an entry while its queue is being processed. */
  readonly #waiting = new Map<string, QueuedUnit[]>()
  readonly #working = new Set<Promise<void>>()
  /** Tenants whose lock row is known to exist; lock rows are never deleted. */
  readonly #locks = new Set<string>()
  #commits = 0
  #units = 0

  constructor(options: PostgresOptions) {
    const { connectionString, pooler } = connectionOf(options.url)
    const statement_timeout_ms = options.statement_timeout_ms ?? STATEMENT_TIMEOUT_MS
    this.source = { engine: 'postgres', url: options.url, role: options.role }
    this.#clock = options.clock
    this.#named = !pooler
    this.#onFault = options.onFault ?? (() => {})
    this.#onLateFailure = options.onLateFailure ?? (() => {})
    this.#onCommit = options.onCommit ?? (() => {})
    this.#settings = {
      role: options.role,
      statement_timeout_ms,
      idle_timeout_ms: options.idle_timeout_ms ?? IDLE_TIMEOUT_MS,
    }
    this.#pool = new Pool({
      connectionString,
      max: options.connections ?? CONNECTIONS,
      connectionTimeoutMillis: options.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
      query_timeout: statement_timeout_ms + SILENCE_MS,
      keepAlive: true,
      pipeline: true,
      types: postgresTypes,
      fallback_application_name: 'custos',
    })
    // A lost connection fails its query; an 'error' event without a listener ends the process.
    this.#pool.on('error', (error) => this.#tell(asPostgresError(error)))
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  transact<T>(tenant_id: string, unit: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = async (tx: Tx) => {
        const value = await unit(tx)
        return () => resolve(value)
      }
      const queued = { unit: run, reject }
      const waiting = this.#waiting.get(tenant_id)
      if (waiting) waiting.push(queued)
      else this.#start(tenant_id, queued)
    })
  }

  async read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T> {
    try {
      return await this.#query(tenant_id, query)
    } catch (error) {
      this.#tell(error)
      throw asRefusal(error)
    }
  }

  sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]> {
    return this.read(tenant_id, (db) => db.all(query(db)))
  }

  stats(): DatabaseStats {
    let queued = 0
    for (const units of this.#waiting.values()) queued += units.length
    const { totalCount: size, idleCount: available, waitingCount: waiting } = this.#pool
    const pool = { size, available, waiting }
    return { engine: 'postgres', commits: this.#commits, units: this.#units, queued, pool }
  }

  async close(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working)
    if (!this.#pool.ending) await this.#pool.end()
  }

  async #query<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T> {
    const { connection, giveBack } = await this.#borrow()
    // Not awaited: the first query is sent together with it, and fails if it fails.
    const begun = connection.beginRead(tenant_id, this.#settings)
    begun.catch(() => {})
    const db = new PostgresTenantDb(tenant_id, { connection, named: this.#named })
    try {
      const value = await query(db)
      await begun
      return value
    } catch (error) {
      throw causeOf(connection, error)
    } finally {
      db.end()
      giveBack('open')
    }
  }

  // Units that arrive in one iteration of the event loop, or while a batch runs, form one batch.
  #start(tenant_id: string, first: QueuedUnit): void {
    this.#waiting.set(tenant_id, [first])
    const work = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#workOff(tenant_id))
      .finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  async #workOff(tenant_id: string): Promise<void> {
    const waiting = this.#waiting.get(tenant_id) ?? []
    while (waiting.length > 0) await this.#settle(tenant_id, waiting.splice(0, BATCH_UNITS_MAX))
    this.#waiting.delete(tenant_id)
  }

  async #settle(tenant_id: string, batch: readonly QueuedUnit[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Most batches need no savepoints, so the first attempt has none.
        await this.#attempt(tenant_id, batch, attempt > 1)
        return
      } catch (error) {
        this.#tell(error)
        const again = error instanceof SavepointsNeeded || isRace(error)
        if (again && attempt < ATTEMPTS_MAX) continue
        for (const { reject } of batch) reject(asRefusal(error))
        return
      }
    }
  }

  async #attempt(
    tenant_id: string,
    batch: readonly QueuedUnit[],
    savepoints: boolean,
  ): Promise<void> {
    const { connection, giveBack } = await this.#borrow()
    const begun_ms = performance.now()
    const state = new BatchState()
    const gathered = new GatheredRows()
    const shared = { connection, named: this.#named, clock: this.#clock, state, gathered }
    const units = batch.map(({ unit }) => unit)
    let committed = false
    try {
      const made = this.#locks.delete(tenant_id)
      const options = { ...this.#settings, savepoints, made }
      const result = await runBatch(tenant_id, units, shared, options)
      committed = result.committed
      if (committed) this.#locks.add(tenant_id)
      const kept = this.#announce(batch, result.outcomes, state)
      if (kept > 0) this.#onCommit(kept, (performance.now() - begun_ms) / 1_000)
    } finally {
      giveBack(committed ? 'committed' : 'open')
    }
  }

  /** Returns the number of committed units. */
  #announce(batch: readonly QueuedUnit[], outcomes: readonly Outcome[], state: BatchState): number {
    const kept = outcomes.filter((outcome) => outcome.kept)
    if (kept.length > 0) this.#commits += 1
    this.#units += kept.length
    // Slots learn only of durable values, of which a batch without a committed unit has none.
    if (kept.length > 0) {
      const acts = kept.flatMap(({ after }) => after)
      state.runAfterCommit(this, acts, this.#onLateFailure)
    }
    for (const [index, { reject }] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome?.kept) outcome.tell()
      else {
        this.#tell(outcome?.error)
        reject(asRefusal(outcome?.error))
      }
    }
    return kept.length
  }

  async #borrow(): Promise<Loan> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw asPostgresError(error)
    })
    const connection = new PostgresConnection(client)
    const giveBack = (open: 'committed' | 'open') => {
      const ended = open === 'committed' ? null : connection.step('rollback')
      ended?.catch(() => {})
      // Queries of the next user follow the rollback, unless the connection may be stuck.
      if (ended === null || connection.failure === null) client.release()
      else
        ended.then(
          () => client.release(),
          () => client.release(true),
        )
    }
    return { connection, giveBack }
  }

  #tell(error: unknown): void {
    if (error instanceof PostgresError && error.fault !== null) this.#onFault(error)
  }
}

const isRace = (error: unknown): boolean =>
  error instanceof PostgresError && error.fault === 'retry'

/** The outcome of a unit, kept until the batch ends, since a unit may have seen others of it. */
type Outcome =
  | {
      readonly kept: true
      readonly tell: () => void
      readonly after: readonly (() => void)[]
      /** The unit counts only if these resolve. */
      readonly needed: readonly Promise<unknown>[]
    }
  | { readonly kept: false; readonly error: unknown }

/** A unit failed after it had written, and there is no savepoint to roll back to. */
class SavepointsNeeded extends Error {}

/**
 * Commits the units that succeed. If it throws, none of them is known to be committed. Without
 * savepoints it may throw SavepointsNeeded, after which the batch can run with them.
 * @param options.savepoints one for every unit: two more messages and a transaction id each
 * @param options.made whether the tenant's lock is known to be there
 * @returns outcomes in the order of the units; `committed` false: no unit succeeded, and the
 *   transaction is still to be rolled back
 */
async function runBatch(
  tenant_id: string,
  units: readonly QueuedUnit['unit'][],
  batch: PostgresBatch,
  options: TransactionSettings & { readonly savepoints: boolean; readonly made: boolean },
): Promise<{ readonly outcomes: readonly Outcome[]; readonly committed: boolean }> {
  const { connection } = batch
  const { made } = options
  // A single unit can roll back the whole transaction.
  const way = units.length === 1 ? 'alone' : options.savepoints ? 'savepoint' : 'hope'
  // Not awaited: the first query is sent together with it, and fails if it fails.
  const begun = connection.beginWrite(tenant_id, options, { named: batch.named, made })
  begun.catch(() => {})
  const outcomes: Outcome[] = []
  const needed = () => outcomes.flatMap((outcome) => (outcome.kept ? outcome.needed : []))
  try {
    for (const unit of units) outcomes.push(await runUnit(tenant_id, unit, batch, way))
    await begun
    if (!outcomes.some(({ kept }) => kept)) return { outcomes, committed: false }
    await allSettled([...needed(), sendGathered(tenant_id, batch), flush(batch)])
    await connection.commit()
    return { outcomes, committed: true }
  } catch (error) {
    await Promise.allSettled([...needed(), ...batch.gathered.takeSent()])
    const cause = causeOf(connection, error)
    // It is unknown which unit caused the error.
    if (way === 'hope' && !endsBatch(cause)) throw new SavepointsNeeded()
    throw cause
  }
}

async function runUnit(
  tenant_id: string,
  unit: QueuedUnit['unit'],
  batch: PostgresBatch,
  way: 'alone' | 'savepoint' | 'hope',
): Promise<Outcome> {
  const { connection, state } = batch
  const { tx, after, needed, hasWritten, end } = PostgresTx.open(tenant_id, batch)
  state.beginUnit()
  if (way === 'savepoint') send(connection, 'savepoint unit')
  try {
    const tell = await unit(tx)
    // Without a savepoint the next unit need not wait for these: a failure rolls back all units.
    if (way === 'savepoint') {
      batch.gathered.sendAll(tx)
      await allSettled([...needed, ...batch.gathered.takeSent()])
    }
    // After a failed statement nothing can be committed, even if the unit ignored the error.
    if (connection.failure) throw connection.failure
    if (way === 'savepoint') send(connection, 'release savepoint unit')
    return { kept: true, tell, after, needed }
  } catch (error) {
    if (endsBatch(connection.failure)) throw error
    state.undoUnit()
    // With savepoints these belong to this unit only.
    const gathered = way === 'hope' ? [] : batch.gathered.takeSent()
    if (way !== 'hope') batch.gathered.drop()
    const cause = causeOf(connection, error)
    end()
    await Promise.allSettled([...needed, ...gathered])
    if (way === 'savepoint') await connection.rollbackTo('unit')
    if (way === 'hope' && (hasWritten() || connection.failure)) throw new SavepointsNeeded()
    return { kept: false, error: cause }
  } finally {
    end()
  }
}

// Inserts that a statement triggers belong to the batch, not to the unit of that statement.
async function sendGathered(tenant_id: string, batch: PostgresBatch): Promise<void> {
  const { tx, end } = PostgresTx.open(tenant_id, batch)
  try {
    batch.gathered.sendAll(tx)
    await allSettled(batch.gathered.takeSent())
  } finally {
    end()
  }
}

// Sends all statements at once, because none reads rows that another one writes.
async function flush(batch: PostgresBatch): Promise<void> {
  const flushes = batch.state.entries().map(async ({ slot, tenant_id, value }) => {
    const { tx, needed, end } = PostgresTx.open(tenant_id, batch)
    try {
      await slot.flush(tx, value)
      await allSettled(needed)
    } finally {
      end()
    }
  })
  await allSettled(flushes)
}

/**
 * Rejects like Promise.all, but only after all have settled: one that continued would send its next
 * query into a later transaction of the connection.
 */
async function allSettled(all: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}

// The connection records a failure, and COMMIT then finds it.
function send(connection: PostgresConnection, step: string): void {
  connection.step(step).catch(() => {})
}

const endsBatch = (failure: unknown): boolean =>
  failure instanceof PostgresError &&
  failure.fault !== null &&
  failure.fault !== 'slow' &&
  failure.fault !== 'denied'

/** The original error behind those that statements of a failed transaction return. */
function causeOf(connection: PostgresConnection, error: unknown): unknown {
  return error instanceof PostgresError ? (connection.failure ?? error) : error
}
