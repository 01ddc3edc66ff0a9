// TenantDb and Tx on a PostgreSQL connection; and for looking only, one connection whose reads all
// see the snapshot last taken.

import { Client } from 'pg'
import type { Clock } from '../../clock.ts'
import type { BatchState } from '../batch-state.ts'
import { compilePostgres } from '../builder.ts'
import { type DatabaseSource, type DatabaseStats, PLATFORM } from '../database.ts'
import { NO_POOL, readOnly, type Snapshots } from '../sqlite/handle.ts'
import type { Statement } from '../statement.ts'
import { asTx, type Query, type SharedState, type TenantDb, type Tx } from '../tenant-db.ts'
import { connectionOf, PostgresConnection, postgresTypes, type Text } from './connection.ts'
import { asPostgresError } from './error.ts'

/** The transaction that a handle uses. */
interface Channel {
  readonly connection: PostgresConnection
  /** Whether hot statements are prepared by name, which does not work behind a pooler. */
  readonly named: boolean
}

export class PostgresTenantDb implements TenantDb {
  readonly tenant_id: string
  readonly #channel: Channel
  #open = true
  /** Whether anything but reads was sent. */
  protected wrote = false

  constructor(tenant_id: string, channel: Channel) {
    this.tenant_id = tenant_id
    this.#channel = channel
  }

  async all<O>(query: Query<O>): Promise<O[]> {
    return (await this.ask(query)).rows
  }

  async first<O>(query: Query<O>): Promise<O | undefined> {
    return (await this.ask(query)).rows[0]
  }

  async allOf<P, O>(statement: Statement<P, O>, params: P): Promise<O[]> {
    return (await this.askOf(statement, params)).rows
  }

  async firstOf<P, O>(statement: Statement<P, O>, params: P): Promise<O | undefined> {
    return (await this.askOf(statement, params)).rows[0]
  }

  /** Call it when the transaction ends: a later query would run in somebody else's transaction. */
  end(): void {
    this.#open = false
  }

  /** Sends what has to precede the statement. */
  protected beforeSending(_sql: string): void {}

  protected ask(query: Query<unknown>) {
    const { sql, parameters } = compilePostgres(query)
    return this.#send({ sql }, parameters)
  }

  protected askOf<P>(statement: Statement<P, unknown>, params: P) {
    const { sql, name, bind } = statement.postgres()
    const text = this.#channel.named ? { sql, name } : { sql }
    return this.#send(text, bind(this.tenant_id, params))
  }

  protected requireOpen(): void {
    if (!this.#open) throw new Error('a query after the end of its transaction')
  }

  #send(text: Text, values: readonly unknown[]) {
    this.requireOpen()
    if (!text.sql.startsWith('select')) this.wrote = true
    this.beforeSending(text.sql)
    return this.#channel.connection.query(text, values)
  }
}

/** The state that the units of one commit share. */
export interface PostgresBatch extends Channel {
  readonly clock: Clock
  readonly state: BatchState
  readonly gathered: GatheredRows
}

/** Rows that the units of a batch insert, buffered until a statement names their table. */
export class GatheredRows {
  readonly #rows = new Map<Parameters<Tx['gather']>[0], unknown[]>()
  #sent: Promise<unknown>[] = []

  add(...[insert, rows]: Parameters<Tx['gather']>): void {
    const known = this.#rows.get(insert)
    if (known) known.push(...rows)
    else this.#rows.set(insert, [...rows])
  }

  /** Sends the rows of those tables that the statement names. */
  sendNamed(tx: Tx, sql: string): void {
    for (const [insert, rows] of this.#rows)
      if (sql.includes(`"${insert.table}"`)) this.#send(tx, insert, rows)
  }

  /** Sends all rows; `takeSent` returns the promises of their inserts. */
  sendAll(tx: Tx): void {
    for (const [insert, rows] of this.#rows) this.#send(tx, insert, rows)
  }

  /** The inserts sent since the last call: the unit counts only if they resolve. */
  takeSent(): Promise<unknown>[] {
    const sent = this.#sent
    this.#sent = []
    return sent
  }

  #send(tx: Tx, ...[insert, rows]: Parameters<Tx['gather']>): void {
    // Deleted first, because the insert itself names the table.
    this.#rows.delete(insert)
    const sent = insert(tx, rows)
    sent.catch(() => {})
    this.#sent.push(sent)
  }

  /** Drops the rows that were not sent. */
  drop(): void {
    this.#rows.clear()
  }
}

export class PostgresTx extends PostgresTenantDb {
  readonly shared: SharedState
  readonly #after: (() => void)[] = []
  readonly #needed: Promise<unknown>[] = []
  readonly #clock: Clock
  readonly #gathered: GatheredRows

  private constructor(tenant_id: string, batch: PostgresBatch) {
    super(tenant_id, batch)
    this.shared = batch.state.of(tenant_id)
    this.#clock = batch.clock
    this.#gathered = batch.gathered
  }

  static open(tenant_id: string, batch: PostgresBatch) {
    const tx = new PostgresTx(tenant_id, batch)
    const hasWritten = () => tx.wrote
    const end = () => tx.end()
    return { tx: asTx(tx), after: tx.#after, needed: tx.#needed, hasWritten, end }
  }

  now(): number {
    return this.#clock.now()
  }

  async run(query: Query<unknown>): Promise<number> {
    return (await this.ask(query)).rowCount ?? 0
  }

  async runOf<P, O>(statement: Statement<P, O>, params: P): Promise<number> {
    return (await this.askOf(statement, params)).rowCount ?? 0
  }

  needs(done: Promise<unknown>): void {
    // Awaited before the commit, unless the unit fails first.
    done.catch(() => {})
    this.#needed.push(done)
  }

  gather(...[insert, rows]: Parameters<Tx['gather']>): void {
    this.requireOpen()
    if (rows.length === 0) return
    this.wrote = true
    this.#gathered.add(insert, rows)
  }

  protected override beforeSending(sql: string): void {
    this.#gathered.sendNamed(asTx(this), sql)
  }

  afterCommit(act: () => void): void {
    this.#after.push(act)
  }
}

/** Long, because nobody waits for these reads. */
const STATEMENT_TIMEOUT_MS = 600_000

export class PostgresSnapshots implements Snapshots {
  readonly source: DatabaseSource
  readonly shared = false
  readonly #client: Client
  readonly #connection: PostgresConnection
  readonly #role: string | null
  #open = false
  readonly transact = readOnly

  private constructor(client: Client, url: string, role: string | null) {
    this.#client = client
    this.#connection = new PostgresConnection(client)
    this.#role = role
    this.source = { engine: 'postgres', url, role }
  }

  /** Throws PostgresError if no connection can be opened. */
  static async open(url: string, role: string | null): Promise<PostgresSnapshots> {
    const { connectionString } = connectionOf(url)
    const client = new Client({ connectionString, types: postgresTypes, pipeline: true })
    // The failing queries report the error; an 'error' event without a listener ends the process.
    client.on('error', () => {})
    try {
      await client.connect()
    } catch (error) {
      throw asPostgresError(error)
    }
    return new PostgresSnapshots(client, url, role)
  }

  async takeSnapshot(): Promise<void> {
    await this.release()
    await this.#connection.beginRead(PLATFORM, {
      role: this.#role,
      statement_timeout_ms: STATEMENT_TIMEOUT_MS,
      idle_timeout_ms: STATEMENT_TIMEOUT_MS,
    })
    this.#open = true
  }

  async release(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#connection.commit()
  }

  /** Reads one tenant at a time, because the row policies apply to the tenant last set. */
  async read<T>(tenant_id: string, query: (db: TenantDb) => Promise<T>): Promise<T> {
    if (!this.#open) await this.takeSnapshot()
    const sql = `select set_config('app.tenant_id', $1, true)`
    await this.#connection.query({ sql }, [tenant_id])
    return query(new PostgresTenantDb(tenant_id, { connection: this.#connection, named: false }))
  }

  sums<O>(tenant_id: string, query: (db: TenantDb) => Query<O>): Promise<O[]> {
    return this.read(tenant_id, (db) => db.all(query(db)))
  }

  stats(): DatabaseStats {
    return { engine: 'postgres', commits: 0, units: 0, queued: 0, pool: NO_POOL }
  }

  /** Ends a snapshot with the connection: committing a failed one would throw its error again. */
  async close(): Promise<void> {
    await this.#client.end()
  }
}
