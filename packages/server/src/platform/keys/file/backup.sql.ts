// The backup of a keyring in one file: a copy of its tables, and its slot file in pages.

import { DatabaseSync } from 'node:sqlite'
import { KeyringError } from '../keyring-error.ts'
import type { NumberRun } from '../secret-bytes.ts'
import {
  APPLICATION_ID,
  BACKUP_APPLICATION_ID,
  SCHEMA,
  SCHEMA_VERSION,
  TABLES,
} from './schema.sql.ts'
import { FIRST_SLOT } from './slot-file.ts'

/** Slots per page, which is 64 KiB. */
const PAGE_SLOTS = 2048

/**
 * Adds the slots to a plain copy of keyring.db; `read` returns the bytes of slots. Returns the
 * number of the last ledger entry in the copy.
 */
export function addSlotPages(path: string, read: (run: NumberRun) => Buffer): number {
  const db = new DatabaseSync(path)
  try {
    db.exec('PRAGMA synchronous=FULL; BEGIN IMMEDIATE')
    db.exec('CREATE TABLE slot_pages (start INTEGER PRIMARY KEY, slots BLOB NOT NULL) STRICT')
    const insert = db.prepare('INSERT INTO slot_pages VALUES (?, ?)')
    const end = slotsEnd(db)
    for (let start = FIRST_SLOT; start < end; start += PAGE_SLOTS)
      insert.run(start, read({ start, end: Math.min(start + PAGE_SLOTS, end) }))
    db.exec(`PRAGMA application_id = ${BACKUP_APPLICATION_ID}; COMMIT`)
    return Number(scalar(db, 'SELECT max(ledger_id) FROM ledger') ?? 0)
  } finally {
    db.close()
  }
}

/**
 * Copies the rows into a new database at `to`, and passes the slots to `write` page by page. Slots
 * never go through a database, whose file would keep copies that are not overwritten on
 * destruction.
 */
export function unpackBackup(
  from: string,
  to: string,
  write: (page: { instance_id: string; start: number; slots: Uint8Array }) => void,
): { instance_id: string; slots_end: number } {
  const backup = new DatabaseSync(from, { readOnly: true })
  try {
    requireBackup(backup, from)
    copyTables(from, to)
    const instance_id = instanceId(backup)
    const pages = backup.prepare('SELECT start, slots FROM slot_pages ORDER BY start')
    for (const page of pages.iterate()) {
      // Parse boundary: `requireBackup` has validated the file.
      const { start, slots } = page as unknown as { start: number; slots: Uint8Array }
      write({ instance_id, start, slots })
    }
    return { instance_id, slots_end: slotsEnd(backup) }
  } finally {
    backup.close()
  }
}

function requireBackup(db: DatabaseSync, from: string): void {
  const application = scalar(db, 'PRAGMA application_id')
  const version = scalar(db, 'PRAGMA user_version')
  if (application !== BACKUP_APPLICATION_ID)
    throw new KeyringError('backup_unreadable', `${from} is not a backup of a keyring`)
  if (version !== SCHEMA_VERSION)
    throw new KeyringError('unsupported_version', `${from} has version ${version}`)
  if (scalar(db, 'PRAGMA integrity_check') !== 'ok')
    throw new KeyringError('backup_unreadable', `${from} is damaged`)
}

function copyTables(from: string, to: string): void {
  const db = new DatabaseSync(to)
  try {
    db.exec(`PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; BEGIN; ${SCHEMA} COMMIT`)
    db.prepare('ATTACH ? AS backup').run(from)
    db.exec('BEGIN')
    for (const table of TABLES) db.exec(`INSERT INTO main.${table} SELECT * FROM backup.${table}`)
    db.exec(`PRAGMA main.application_id = ${APPLICATION_ID}; COMMIT; DETACH backup`)
  } finally {
    db.close()
  }
}

function instanceId(db: DatabaseSync): string {
  return String(scalar(db, 'SELECT instance_id FROM instance'))
}

function slotsEnd(db: DatabaseSync): number {
  return Number(scalar(db, 'SELECT slots_end FROM instance'))
}

function scalar(db: DatabaseSync, sql: string): unknown {
  return Object.values(db.prepare(sql).get() ?? {})[0]
}
