// One connection to PostgreSQL, its transactions, and the first error of the open transaction.

import type { Duplex } from 'node:stream'
import {
  Client,
  type ClientBase,
  Connection,
  type CustomTypesConfig,
  DatabaseError,
  escapeLiteral,
  type QueryResult,
} from 'pg'
import { Refusal } from '../../refusal.ts'
import { asPostgresError, InexactNumber, PostgresError } from './error.ts'

/** Settings of every transaction of an engine. */
export interface TransactionSettings {
  /** The role of the transaction; null for the role that logged in. */
  readonly role: string | null
  readonly statement_timeout_ms: number
  readonly idle_timeout_ms: number
}

export interface Text {
  readonly sql: string
  /** Prepared once per connection under this name. */
  readonly name?: string
}

/** Prevents a weaker setting, which would acknowledge commits that a crash can still lose. */
const DURABLE =
  `set_config('synchronous_commit', case when current_setting('synchronous_commit') in ` +
  `('off', 'local', 'remote_write') then 'on' else current_setting('synchronous_commit') end, true)`

/** Fences of tenants: `moved` for one that another cluster serves, `moving` for one on its way. */
export const MOVED = 'moved'
export const MOVING = 'moving'

const MAKE_LOCK = 'insert into tenant_locks (tenant_id) values ($1) on conflict do nothing'
const TAKE_LOCK = 'select fence from tenant_locks where tenant_id = $1 for update'

/** `moved`: the tenant is at another cluster; anything else: it is about to be. */
const fenceRefusal = (fence: unknown): Refusal =>
  fence === MOVED
    ? new Refusal('tenant_moved')
    : new Refusal('tenant_moving', undefined, { retry_after_s: 5 })

export class PostgresConnection {
  readonly #client: ClientBase
  readonly #stream: Duplex | null
  #gathering = false
  /** The first error since the transaction began or was rolled back; later ones only follow it. */
  #failure: Error | null = null

  constructor(client: ClientBase) {
    this.#client = client
    this.#stream = streamOf(client)
  }

  get failure(): Error | null {
    return this.#failure
  }

  /** Sends at once, without waiting for statements in flight; replies arrive in order. */
  async query(text: Text, values: readonly unknown[]): Promise<QueryResult> {
    try {
      this.#gather()
      return await this.#client.query({ text: text.sql, name: text.name, values: bound(values) })
    } catch (error) {
      throw this.#note(error)
    }
  }

  /** Runs BEGIN, SAVEPOINT and the like, also several at once. Returns the last command tag. */
  async step(sql: string): Promise<string> {
    try {
      this.#gather()
      // Several statements return several results, which the types of `pg` do not express.
      const results: QueryResult | QueryResult[] = await this.#client.query(sql)
      return (Array.isArray(results) ? results.at(-1) : results)?.command ?? ''
    } catch (error) {
      throw this.#note(error)
    }
  }

  /**
   * Begins a unit of work on the newest committed state. Holds the tenant's lock until the end, so
   * that units of one tenant run one after another, also across processes.
   * @param lock.named whether statements are prepared by name; not behind a pooler
   * @param lock.made whether the tenant's lock is known to be there
   */
  async beginWrite(
    tenant_id: string,
    settings: TransactionSettings,
    { named, made }: { readonly named: boolean; readonly made: boolean },
  ): Promise<void> {
    const ask = (sql: string, name: string) =>
      this.query(named ? { sql, name } : { sql }, [tenant_id])
    const [, , { rowCount, rows }] = await Promise.all([
      this.#begin('begin isolation level read committed', tenant_id, settings, [DURABLE]),
      made ? null : ask(MAKE_LOCK, 'custos_make_lock'),
      ask(TAKE_LOCK, 'custos_take_lock'),
    ])
    // The lock has no row, so nothing is locked: the unit runs again and creates it.
    if (rowCount !== 1) throw new PostgresError('the lock of a tenant is gone', 'retry')
    // Read with the lock, because the previous holder may have set it.
    if (rows[0].fence !== null) throw fenceRefusal(rows[0].fence)
  }

  /** Begins reading one committed snapshot. */
  beginRead(tenant_id: string, settings: TransactionSettings): Promise<string> {
    return this.#begin('begin isolation level repeatable read read only', tenant_id, settings, [])
  }

  /** Rolls back to the savepoint, after which statements work again. */
  async rollbackTo(savepoint: string): Promise<void> {
    await this.step(`rollback to savepoint ${savepoint}; release savepoint ${savepoint}`)
    this.#failure = null
  }

  /** PostgreSQL answers COMMIT of a failed transaction with success and the tag ROLLBACK. */
  async commit(): Promise<void> {
    const tag = await this.step('commit')
    if (tag === 'COMMIT') return
    throw this.#failure ?? new PostgresError('PostgreSQL rolled back instead of committing', null)
  }

  // All settings are local to the transaction, so that a pooler may reuse the connection.
  #begin(
    begin: string,
    tenant_id: string,
    settings: TransactionSettings,
    more: readonly string[],
  ): Promise<string> {
    this.#failure = null
    const values: [name: string, value: string][] = [
      ['app.tenant_id', tenant_id],
      ['statement_timeout', String(settings.statement_timeout_ms)],
      ['idle_in_transaction_session_timeout', String(settings.idle_timeout_ms)],
    ]
    if (settings.role !== null) values.push(['role', settings.role])
    const set = values.map(([n, v]) => `set_config(${escapeLiteral(n)}, ${escapeLiteral(v)}, true)`)
    return this.step(`${begin}; select ${[...set, ...more].join(', ')}`)
  }

  // Sends statements of one iteration of the event loop in one packet.
  #gather(): void {
    if (this.#gathering || this.#stream === null) return
    this.#gathering = true
    this.#stream.cork()
    process.nextTick(() => {
      this.#gathering = false
      this.#stream?.uncork()
    })
  }

  #note(error: unknown): Error {
    const known = asPostgresError(error)
    if (known instanceof PostgresError) this.#failure ??= known
    return known
  }
}

// The types of `pg` do not declare that a client has a connection.
const streamOf = (client: ClientBase): Duplex | null =>
  'connection' in client && client.connection instanceof Connection
    ? client.connection.stream
    : null

// NaN would be stored as NaN and undefined as NULL; both are bugs.
function bound(values: readonly unknown[]): unknown[] {
  for (const value of values) {
    if (value === undefined || Number.isNaN(value)) throw new TypeError('unbindable value')
  }
  return [...values]
}

const CONNECT_MS = 10_000

/**
 * Runs work on a separate connection, outside every pool. With `silence_ms`, a query fails if the
 * server sends nothing for that long; without it, a query may take any time.
 */
export async function withPostgres<T>(
  url: string,
  work: (connection: PostgresConnection) => Promise<T>,
  { silence_ms }: { readonly silence_ms?: number } = {},
): Promise<T> {
  const { connectionString } = connectionOf(url)
  const client = new Client({
    ...{ connectionString, types: postgresTypes, pipeline: true, keepAlive: true },
    connectionTimeoutMillis: CONNECT_MS,
    ...(silence_ms !== undefined && { query_timeout: silence_ms }),
  })
  // The failing queries report the error; an 'error' event without a listener ends the process.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw asPostgresError(error)
  }
  try {
    return await work(new PostgresConnection(client))
  } finally {
    await client.end()
  }
}

/**
 * Removes our own parameter from the URL: `pgbouncer=true` declares that a pooler without support
 * for prepared statements is in front of the server.
 */
export function connectionOf(url: string): { connectionString: string; pooler: boolean } {
  const parsed = new URL(url)
  const given = parsed.searchParams.get('pgbouncer')
  if (given === null) return { connectionString: url, pooler: false }
  parsed.searchParams.delete('pgbouncer')
  return { connectionString: parsed.href, pooler: given === 'true' || given === '1' }
}

/** SQLSTATEs of a server that shuts down or starts up: it will not answer what is in flight. */
const NOT_SERVING = ['57P01', '57P02', '57P03']

/** Whether the server replies within `ms`; a refusal for too many connections counts as a reply. */
export async function answers(url: string, ms: number): Promise<boolean> {
  const { connectionString } = connectionOf(url)
  const limits = { connectionTimeoutMillis: ms, query_timeout: ms }
  const client = new Client({ connectionString, ...limits })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    return error instanceof DatabaseError && !NOT_SERVING.includes(error.code ?? '')
  } finally {
    // A silent server does not answer this either.
    client.end().catch(() => {})
  }
}

const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT2 = 21
const INT4 = 23
const FLOAT4 = 700
const FLOAT8 = 701
const NUMERIC = 1700

/**
 * Parses values to what SQLite returns: numbers, text and bytes. Throws InexactNumber if a
 * JavaScript number cannot hold a value.
 */
export const postgresTypes: CustomTypesConfig = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? asText,
}

const asText = (text: string): string => text

const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [BOOL]: (text) => (text === 't' ? 1 : 0),
  [BYTEA]: parseBytes,
  [INT8]: parseExact,
  [INT2]: Number,
  [INT4]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  // The type of sums and averages of bigint columns.
  [NUMERIC]: parseExact,
}

function parseExact(text: string): number {
  const value = Number(text)
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new InexactNumber('an integer beyond 2^53 - 1 cannot be read')
  return value
}

// Plain bytes, as node:sqlite returns them; `\x` is the server's only format since 9.0.
function parseBytes(text: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(text.slice(2), 'hex')
  return new Uint8Array(buffer, byteOffset, length)
}
