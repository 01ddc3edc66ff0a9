// keyring.db: one SQLite connection with the settings that durability and erasure depend on.

import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { createQueryId, type SelectModifierNode, SqliteQueryCompiler } from 'kysely'
import type { Query } from '../../db/tenant-db.ts'
import { storageFault } from '../../storage-fault.ts'
import { type KeyringDb, type KeyringTx, keyringBuilder } from '../core/database.ts'
import { PRIVATE_FILE } from '../durable-file.ts'
import { KeyringError } from '../keyring-error.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.sql.ts'

const LOCK_WAIT_MS = 5000
const STATEMENTS_MAX = 200

// Omits row locks, which SQLite has no syntax for: its transaction locks the whole file.
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier !== 'ForUpdate' && node.modifier !== 'ForShare')
      super.visitSelectModifier(node)
  }
}

const compiler = new Compiler()

/**
 * Statements run synchronously. Reads and transactions are queued, so that no caller sees or joins
 * an uncommitted transaction of another.
 */
export class SqliteDb implements KeyringDb {
  readonly shared = false
  readonly tables = keyringBuilder
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #last: Promise<unknown> = Promise.resolve()

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Opens or creates the file. Throws `keyring_damaged` if it is not a keyring. */
  static open(path: string, { read_only = false } = {}): SqliteDb {
    // SQLite gives its log the mode of the database, so both are private from the first byte.
    if (!read_only) closeSync(openSync(path, 'a', PRIVATE_FILE))
    else if (!existsSync(path)) throw new KeyringError('keyring_damaged', `${path} is missing`)
    const db = new DatabaseSync(path, { timeout: LOCK_WAIT_MS, readOnly: read_only })
    try {
      const opened = new SqliteDb(db)
      if (read_only) opened.#requireVersion(path)
      else opened.#prepareFile(path)
      return opened
    } catch (error) {
      db.close()
      if (error instanceof KeyringError) throw error
      const why = storageFault(error) === 'full' ? ': the disk is full' : ''
      throw new KeyringError(
        'keyring_damaged',
        `${path} cannot be opened as a keyring${why}`,
        error,
      )
    }
  }

  all<O>(query: Query<O>): Promise<O[]> {
    return this.#inOrder(() => this.#all(query))
  }

  first<O>(query: Query<O>): Promise<O | undefined> {
    return this.#inOrder(() => this.#first(query))
  }

  transact<T>(unit: (tx: KeyringTx) => Promise<T>): Promise<T> {
    const tx: KeyringTx = {
      is_transaction: true,
      tables: this.tables,
      all: async (query) => this.#all(query),
      first: async (query) => this.#first(query),
      run: async (query) => this.#run(query),
    }
    return this.#inOrder(async () => {
      this.#db.exec('BEGIN IMMEDIATE')
      try {
        const result = await unit(tx)
        this.#db.exec('COMMIT')
        return result
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
        throw error
      }
    })
  }

  /** A reader of an old snapshot may keep SQLite from truncating the log, without an error. */
  async truncateLog(): Promise<void> {
    await this.#inOrder(() => this.#prepare('PRAGMA wal_checkpoint(TRUNCATE)').get())
  }

  /** Copies the tables to a new file; `then` runs before anything else can change them. */
  copyTo<T>(path: string, then: () => T): Promise<T> {
    return this.#inOrder(() => {
      this.#prepare('VACUUM INTO ?').run(path)
      return then()
    })
  }

  close(): void {
    this.#db.close()
  }

  // Each caller continues before the next work starts.
  #inOrder<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }

  // The casts are the parse boundary: tables are STRICT, and only this folder writes them.
  #all<O>(query: Query<O>): O[] {
    const { sql, values } = compile(query)
    return this.#prepare(sql).all(...values) as O[]
  }

  #first<O>(query: Query<O>): O | undefined {
    const { sql, values } = compile(query)
    return this.#prepare(sql).get(...values) as O | undefined
  }

  #run(query: Query<unknown>): number {
    const { sql, values } = compile(query)
    return Number(this.#prepare(sql).run(...values).changes)
  }

  #prepareFile(path: string): void {
    for (const pragma of ['journal_mode=WAL', 'synchronous=FULL', 'secure_delete=ON'])
      this.#db.exec(`PRAGMA ${pragma}`)
    this.#db.exec('PRAGMA foreign_keys=ON; BEGIN IMMEDIATE')
    try {
      if (this.#pragma('application_id') === 0 && this.#pragma('user_version') === 0)
        this.#db.exec(SCHEMA)
      else this.#requireVersion(path)
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  #requireVersion(path: string): void {
    const application = this.#pragma('application_id')
    const version = this.#pragma('user_version')
    if (application === APPLICATION_ID && version === SCHEMA_VERSION) return
    throw new KeyringError(
      'unsupported_version',
      `${path} is not a keyring of version ${SCHEMA_VERSION} (application ${application}, ` +
        `version ${version})`,
    )
  }

  #pragma(name: 'application_id' | 'user_version'): number {
    return Number(this.#prepare(`PRAGMA ${name}`).get()?.[name])
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    const prepared = this.#db.prepare(sql)
    if (this.#statements.size < STATEMENTS_MAX) this.#statements.set(sql, prepared)
    return prepared
  }
}

function compile(query: Query<unknown>): { sql: string; values: SQLInputValue[] } {
  const { sql, parameters } = compiler.compileQuery(query.toOperationNode(), createQueryId())
  // Parse boundary: the types of the tables allow only these values as parameters.
  return { sql, values: [...parameters] as SQLInputValue[] }
}
