// keyring.db: one SQLite connection with the settings that durability and erasure rest on.

import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { PRIVATE_FILE } from './durable-file.ts'
import { KeyringError } from './keyring-error.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.sql.ts'

const LOCK_WAIT_MS = 5000
const STATEMENTS_MAX = 200

// Synchronous throughout: two units that await inside one transaction would share its outcome.
export class KeyringDb {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Opens or creates; `keyring_damaged` when the file is something else. */
  static open(path: string, { read_only = false } = {}): KeyringDb {
    // SQLite gives its log the mode of the database, so both are private from the first byte.
    if (!read_only) closeSync(openSync(path, 'a', PRIVATE_FILE))
    else if (!existsSync(path)) throw new KeyringError('keyring_damaged', `${path} is missing`)
    const db = new DatabaseSync(path, { timeout: LOCK_WAIT_MS, readOnly: read_only })
    try {
      const opened = new KeyringDb(db)
      if (read_only) opened.#requireVersion(path)
      else opened.#prepareFile(path)
      return opened
    } catch (error) {
      db.close()
      if (error instanceof KeyringError) throw error
      throw new KeyringError('keyring_damaged', `${path} cannot be opened as a keyring`, error)
    }
  }

  // The casts below are the parse boundary: tables are STRICT and written only by this folder.
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[]
  }

  /** Rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** Durable when it returns; a throw leaves nothing behind. */
  transact<T>(unit: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = unit()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  /** Empties the log; false when a reader of an old snapshot held it (SQLite does not throw). */
  truncateLog(): boolean {
    const row = this.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')
    return row?.busy === 0
  }

  close(): void {
    this.#db.close()
  }

  #prepareFile(path: string): void {
    for (const pragma of ['journal_mode=WAL', 'synchronous=FULL', 'secure_delete=ON'])
      this.#db.exec(`PRAGMA ${pragma}`)
    this.#db.exec('PRAGMA foreign_keys=ON')
    this.transact(() => {
      if (this.#pragma('application_id') === 0 && this.#pragma('user_version') === 0)
        this.#db.exec(SCHEMA)
      else this.#requireVersion(path)
    })
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
    return Number(this.get<Record<string, number>>(`PRAGMA ${name}`)?.[name])
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    const prepared = this.#db.prepare(sql)
    if (this.#statements.size < STATEMENTS_MAX) this.#statements.set(sql, prepared)
    return prepared
  }
}

/** A blob column as a Buffer over the same bytes. */
export function bufferOf(blob: Uint8Array): Buffer {
  return Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)
}
