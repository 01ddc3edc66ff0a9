// One connection to PostgreSQL, its transactions, and the first error of the one that is open.

import { Client, type ClientBase, escapeLiteral, type QueryResult } from 'pg'
import { asPostgresError, PostgresError } from './postgres-error.ts'
import { postgresTypes } from './postgres-types.ts'

/** What holds for every transaction of an engine. */
export interface TransactionSettings {
  /** Taken for the transaction; null: the role that logged in. */
  readonly role: string | null
  readonly statement_timeout_ms: number
  readonly idle_timeout_ms: number
}

export interface Text {
  readonly sql: string
  /** Prepared once per connection under this name. */
  readonly name?: string
}

/** Where a weaker setting would acknowledge what a crash can still take back. */
const DURABLE =
  `select set_config('synchronous_commit', 'on', true) ` +
  `where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`

export class PostgresConnection {
  readonly #client: ClientBase
  /** The first error since the transaction began or was taken back: what follows is its echo. */
  #failure: Error | null = null

  constructor(client: ClientBase) {
    this.#client = client
  }

  get failure(): Error | null {
    return this.#failure
  }

  /** Sent at once behind what is under way; answers come in order. */
  async query(text: Text, values: readonly unknown[]): Promise<QueryResult> {
    try {
      const query = { text: text.sql, values: bindable(values) }
      return await this.#client.query(
        text.name === undefined ? query : { ...query, name: text.name },
      )
    } catch (error) {
      throw this.#note(error)
    }
  }

  /** BEGIN, SAVEPOINT and the like, also several in one message; the tag of the last one. */
  async step(sql: string): Promise<string> {
    try {
      // Several statements give several results, which the types of `pg` do not know.
      const results: QueryResult | QueryResult[] = await this.#client.query(sql)
      return (Array.isArray(results) ? results.at(-1) : results)?.command ?? ''
    } catch (error) {
      throw this.#note(error)
    }
  }

  /**
   * Begins a unit of work on the newest committed state: the tenant's lock is held until the end,
   * so that units of one tenant run one after another, also those of other processes.
   */
  beginWrite(tenant_id: string, settings: TransactionSettings): Promise<string> {
    const tenant = escapeLiteral(tenant_id)
    return this.#begin('begin isolation level read committed', tenant_id, settings, [
      DURABLE,
      `insert into tenant_locks (tenant_id) values (${tenant}) on conflict do nothing`,
      `select tenant_id from tenant_locks where tenant_id = ${tenant} for update`,
    ])
  }

  /** Begins reading one committed snapshot. */
  beginRead(tenant_id: string, settings: TransactionSettings): Promise<string> {
    return this.#begin('begin isolation level repeatable read read only', tenant_id, settings, [])
  }

  /** Takes back what follows the savepoint; later statements are answered again. */
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

  // Everything is local to the transaction, so that a pooler may give the next one to anybody.
  #begin(
    begin: string,
    tenant_id: string,
    settings: TransactionSettings,
    then: readonly string[],
  ): Promise<string> {
    this.#failure = null
    const values: [name: string, value: string][] = [
      ['app.tenant_id', tenant_id],
      ['statement_timeout', String(settings.statement_timeout_ms)],
      ['idle_in_transaction_session_timeout', String(settings.idle_timeout_ms)],
    ]
    if (settings.role !== null) values.push(['role', settings.role])
    const set = values.map(([n, v]) => `set_config(${escapeLiteral(n)}, ${escapeLiteral(v)}, true)`)
    return this.step([begin, `select ${set.join(', ')}`, ...then].join('; '))
  }

  #note(error: unknown): Error {
    const known = asPostgresError(error)
    if (known instanceof PostgresError) this.#failure ??= known
    return known
  }
}

// NaN would be stored as NaN and undefined as NULL: both are bugs of ours.
function bindable(values: readonly unknown[]): unknown[] {
  for (const value of values) {
    if (value === undefined || Number.isNaN(value)) throw new TypeError('unbindable value')
  }
  return [...values]
}

/** Runs work on a connection of its own, outside every pool. */
export async function withPostgres<T>(
  url: string,
  work: (connection: PostgresConnection) => Promise<T>,
): Promise<T> {
  const { connectionString } = connectionOf(url)
  const client = new Client({ connectionString, types: postgresTypes, pipeline: true })
  // Told through the queries that fail; without a listener it would end the process.
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
 * Takes our own parameter off the URL: `pgbouncer=true` says that a pooler without support for
 * prepared statements stands before the server.
 */
export function connectionOf(url: string): { connectionString: string; pooler: boolean } {
  const parsed = new URL(url)
  const given = parsed.searchParams.get('pgbouncer')
  if (given === null) return { connectionString: url, pooler: false }
  parsed.searchParams.delete('pgbouncer')
  return { connectionString: parsed.href, pooler: given === 'true' || given === '1' }
}
