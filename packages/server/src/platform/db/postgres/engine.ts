// The scale engine: a queue per tenant in the process, a lock per tenant in the database.

import { Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import { BatchState, type OnLateFailure } from '../batch-state.ts'
import type { Database, DatabaseSource, DatabaseStats, OnCommit } from '../database.ts'
import type { TenantDb, Tx } from '../tenant-db.ts'
import { causeOf, type Outcome, runBatch, SavepointsNeeded } from './batch.ts'
import { connectionOf, PostgresConnection, type TransactionSettings } from './connection.ts'
import { asPostgresError, asRefusal, PostgresError } from './error.ts'
import { GatheredRows, PostgresTenantDb } from './handle.ts'
import { postgresTypes } from './types.ts'

const BATCH_UNITS_MAX = 256
const ATTEMPTS_MAX = 5
const CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_TIMEOUT_MS = 60_000

/** Time after a statement's own limit until it fails because the server does not answer. */
const SILENCE_MS = 5_000

export interface PostgresOptions {
  /** `postgres://…`; with `pgbouncer=true` no statement is prepared by name. */
  readonly url: string
  readonly clock: Clock
  /** The role of every transaction; null: the one that logs in. */
  readonly role: string | null
  /** Connections of this process. */
  readonly connections?: number
  /** For a free connection and for a new one. */
  readonly connect_timeout_ms?: number
  /** For one statement, waiting for locks included. */
  readonly statement_timeout_ms?: number
  /** For a transaction that sends nothing. */
  readonly idle_timeout_ms?: number
  /** Receives the errors that callers see only as a 503; they contain no values. */
  readonly onFault?: (error: PostgresError) => void
  readonly onLateFailure?: OnLateFailure
  readonly onCommit?: OnCommit
}

interface QueuedUnit {
  /** Resolves to what resolves the caller's promise. */
  readonly unit: (tx: Tx) => Promise<() => void>
  readonly reject: (reason: unknown) => void
}

/** A connection on loan from the pool. */
interface Loan {
  readonly connection: PostgresConnection
  /** Ends what is open on it; nobody has to wait for that. */
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
  /** Units that wait, by tenant; a tenant is here while it is being worked off. */
  readonly #waiting = new Map<string, QueuedUnit[]>()
  readonly #working = new Set<Promise<void>>()
  /** Tenants whose lock is known to be there: nothing deletes one. */
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
    // Not awaited here: the first query travels with it, and fails when it does.
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

  // Units that arrive in one turn of the event loop, or while a batch runs, form one batch.
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
        // Most batches need no savepoints: the first attempt does without.
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

  /** Returns how many units were kept. */
  #announce(batch: readonly QueuedUnit[], outcomes: readonly Outcome[], state: BatchState): number {
    const kept = outcomes.filter((outcome) => outcome.kept)
    if (kept.length > 0) this.#commits += 1
    this.#units += kept.length
    // Slots are told of what is durable only: of a batch without a kept unit nothing is.
    if (kept.length > 0) {
      const acts = kept.flatMap(({ after }) => after)
      state.runAfterCommit(this, acts, this.#onLateFailure)
    }
    for (const [index, { reject }] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome?.kept) outcome.tell()
      else reject(asRefusal(outcome?.error))
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
      // The next user's statements follow the rollback, unless the connection may be stuck.
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
