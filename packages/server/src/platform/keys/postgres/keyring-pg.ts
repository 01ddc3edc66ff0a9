// The keyring's connections to PostgreSQL, and its durable transactions.

import pg from 'pg'
import { compilePostgres } from '../../db/builder.ts'
import type { Query } from '../../db/tenant-db.ts'
import {
  type KeyringDb,
  type KeyringQueries,
  type KeyringTx,
  keyringBuilder,
} from '../core/database.ts'
import { KeyringError } from '../keyring-error.ts'
import { connectionErrorOf, isRetryable, keyringErrorOf } from './pg-errors.ts'

const CONNECTIONS_MAX = 4
const CONNECT_TIMEOUT_MS = 5_000
const QUERY_TIMEOUT_MS = 30_000
const LONG_TIMEOUT_MS = 3_600_000
const ATTEMPTS_MAX = 5
const INT8_OID = 20
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/

// Settings apply to the transaction only, because a pooler may give the connection to another
// client next. A weaker synchronous_commit would acknowledge what a crash can undo.
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('synchronous_commit', 'on', true)
  WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write');
SET LOCAL lock_timeout = '10s';
SET LOCAL idle_in_transaction_session_timeout = '60s'`

type PgValue = string | number | null | Uint8Array | readonly (string | number | Buffer | null)[]

/** Also runs SQL text, in which `keyring.` stands for the keyring's schema. */
export interface PgQueries extends KeyringQueries {
  query<Row extends object>(sql: string, ...values: PgValue[]): Promise<Row[]>
  queryFirst<Row extends object>(sql: string, ...values: PgValue[]): Promise<Row | undefined>
}

type Runner = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>

interface Result<Row> {
  readonly rows: Row[]
  readonly rowCount: number | null
}

class Queries implements PgQueries {
  readonly schema: string
  readonly tables: KeyringQueries['tables']
  readonly #runner: Runner

  constructor(runner: Runner, schema: string) {
    this.schema = schema
    this.tables = keyringBuilder.withSchema(schema)
    this.#runner = runner
  }

  async all<O>(query: Query<O>): Promise<O[]> {
    return (await this.runBuilt(query)).rows
  }

  async first<O>(query: Query<O>): Promise<O | undefined> {
    return (await this.runBuilt(query)).rows[0]
  }

  async query<Row extends object>(sql: string, ...values: PgValue[]): Promise<Row[]> {
    return (await this.runText<Row>(sql, values)).rows
  }

  async queryFirst<Row extends object>(
    sql: string,
    ...values: PgValue[]
  ): Promise<Row | undefined> {
    return (await this.runText<Row>(sql, values)).rows[0]
  }

  protected async runBuilt<O>(query: Query<O>): Promise<Result<O>> {
    const { sql, parameters } = compilePostgres(query)
    const { rows, rowCount } = await this.#run<object>(sql, parameters)
    // The driver does not type its rows. The query builder derives `O` from the table types.
    return { rows: rows as O[], rowCount }
  }

  protected runText<Row extends object>(
    sql: string,
    values: readonly PgValue[],
  ): Promise<Result<Row>> {
    return this.#run<Row>(sql.replaceAll('keyring.', `"${this.schema}".`), values)
  }

  /** Outside a transaction, errors of the server are final; inside, `transact` may retry. */
  protected errorOf(error: unknown): unknown {
    return keyringErrorOf(error)
  }

  async #run<Row extends object>(text: string, values: readonly unknown[]): Promise<Result<Row>> {
    try {
      return await this.#runner.query<Row>(text, [...values])
    } catch (error) {
      throw this.errorOf(connectionErrorOf(error))
    }
  }
}

/** A handle inside a transaction. Only `KeyringPg.transact` creates one. */
export class PgTx extends Queries implements KeyringTx {
  readonly is_transaction = true

  /** Returns the number of changed rows. */
  async run(query: Query<unknown>): Promise<number> {
    return (await this.runBuilt(query)).rowCount ?? 0
  }

  /** Returns the number of changed rows. */
  async execute(sql: string, ...values: PgValue[]): Promise<number> {
    return (await this.runText(sql, values)).rowCount ?? 0
  }

  protected override errorOf(error: unknown): unknown {
    return error
  }
}

export class KeyringPg extends Queries implements KeyringDb {
  readonly shared = true
  readonly #url: string
  readonly #pool: pg.Pool
  readonly #read_only: boolean

  constructor({ url, schema, read_only }: { url: string; schema: string; read_only: boolean }) {
    if (!SCHEMA_NAME.test(schema))
      throw new KeyringError('bad_argument', 'the keyring schema must be a plain lower-case name')
    const pool = poolOf(url)
    super(pool, schema)
    this.#url = url
    this.#pool = pool
    this.#read_only = read_only
  }

  /**
   * The changes are durable when the promise resolves. If it rejects, nothing is changed, unless
   * the connection broke during the commit: then the outcome is unknown. The unit may run again.
   */
  async transact<T>(unit: (tx: PgTx) => Promise<T>): Promise<T> {
    this.#requireWritable()
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(unit)
      } catch (error) {
        if (attempt >= ATTEMPTS_MAX || !isRetryable(error)) throw keyringErrorOf(error)
      }
    }
  }

  async truncateLog(): Promise<void> {
    // The keyring cannot truncate the write-ahead log of the server; see `rewriteSecrets`.
  }

  /** Opens a separate connection for work that takes long and cannot run in a transaction. */
  async apart<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    this.#requireWritable()
    const client = new pg.Client({ ...settingsOf(this.#url), query_timeout: LONG_TIMEOUT_MS })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await work(client)
    } catch (error) {
      throw keyringErrorOf(connectionErrorOf(error))
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #attempt<T>(unit: (tx: PgTx) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    const tx = new PgTx(client, this.schema)
    let broken = true
    try {
      await tx.execute(BEGIN)
      const result = await unit(tx)
      await commit(client)
      broken = false
      return result
    } catch (error) {
      broken = error instanceof KeyringError && error.code === 'keyring_unavailable'
      if (!broken) broken = await tx.execute('ROLLBACK').then(no, yes)
      throw error
    } finally {
      client.release(broken)
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw connectionErrorOf(error)
    }
  }

  #requireWritable(): void {
    if (this.#read_only)
      throw new KeyringError('bad_argument', 'this keyring is open for reading only: readonly')
  }
}

const yes = (): boolean => true
const no = (): boolean => false

// PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, without an error.
async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw connectionErrorOf(error)
  })
  if (command !== 'COMMIT')
    throw new KeyringError('keyring_unavailable', 'the keyring database rolled the change back')
}

function settingsOf(url: string): pg.ClientConfig {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8_OID, safeInteger)
  return {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'custos-keyring',
    types,
  }
}

function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ ...settingsOf(url), max: CONNECTIONS_MAX })
  // The pool replaces a connection that ends while idle; a query on a broken one fails.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  throw new KeyringError('keyring_damaged', 'the keyring holds a number beyond 2^53')
}
