// Tables of keyring.db, which hold no secret of a fact, decision or day, only its slot; and a
// keyring as one file: a copy of its tables, and its slot file as a table of pages.

import { DatabaseSync } from 'node:sqlite'
import { KeyringError } from '../keyring-error.ts'
import type { NumberRun } from '../secret-bytes.ts'
import { FIRST_SLOT } from './slot-file.ts'

/** "CstK": distinguishes a keyring from other SQLite files. */
export const APPLICATION_ID = 0x4373744b
/** "CstB": a backup of a keyring, which also holds the slot file. */
const BACKUP_APPLICATION_ID = 0x43737442
export const SCHEMA_VERSION = 2

/** In an order in which rows can be copied: a row never precedes one that it refers to. */
export const TABLES = [
  'instance',
  'tenants',
  'secret_blocks',
  'signing_keys',
  'day_keys',
  'ledger_parts',
  'ledger_renewals',
  'ledger',
  'ledger_secrets',
  'checkpoints',
] as const

export const SCHEMA = `
CREATE TABLE instance (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  instance_id TEXT NOT NULL,
  master_check BLOB NOT NULL,
  mac_root BLOB NOT NULL,
  slots_end INTEGER NOT NULL,
  day_floor INTEGER NOT NULL
) STRICT;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  tenant_key BLOB NOT NULL,
  label_salt BLOB NOT NULL
) STRICT;

CREATE TABLE secret_blocks (
  tenant_id TEXT NOT NULL REFERENCES tenants,
  kind TEXT NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  slot INTEGER NOT NULL UNIQUE,
  PRIMARY KEY (tenant_id, kind, first)
) STRICT;

CREATE TABLE signing_keys (
  ordinal INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL UNIQUE,
  purpose TEXT NOT NULL,
  public_key BLOB NOT NULL,
  seed BLOB,
  valid_from TEXT NOT NULL,
  retired_at TEXT
) STRICT;
CREATE UNIQUE INDEX signing_keys_current ON signing_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE day_keys (
  day INTEGER PRIMARY KEY,
  slot INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE ledger (
  ledger_id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL,
  subject_kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  store_id TEXT,
  destroys TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('requested', 'completed')),
  requested_us INTEGER NOT NULL,
  completed_us INTEGER,
  plan TEXT NOT NULL,
  parts_id TEXT,
  parts INTEGER NOT NULL,
  certificate TEXT,
  UNIQUE (tenant_id, subject_kind, subject)
) STRICT;
CREATE INDEX ledger_parts_id ON ledger (parts_id) WHERE parts_id IS NOT NULL;
CREATE INDEX ledger_kind ON ledger (tenant_id, subject_kind, ledger_id);
CREATE INDEX ledger_page ON ledger (tenant_id, ledger_id);
CREATE INDEX ledger_state ON ledger (tenant_id, state);
CREATE INDEX ledger_requested ON ledger (ledger_id) WHERE state = 'requested';

CREATE TABLE ledger_parts (
  parts_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  plan TEXT NOT NULL,
  PRIMARY KEY (parts_id, part)
) STRICT;

CREATE TABLE ledger_renewals (
  parts_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  renewed_as INTEGER NOT NULL,
  box TEXT NOT NULL,
  PRIMARY KEY (parts_id, number)
) STRICT;
CREATE INDEX ledger_renewed_as ON ledger_renewals (tenant_id, renewed_as);

CREATE TABLE ledger_secrets (
  tenant_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, kind, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
  tenant_id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL,
  epoch_number INTEGER NOT NULL,
  tree_size INTEGER NOT NULL,
  root_hash TEXT NOT NULL,
  checkpoint TEXT NOT NULL
) STRICT;

PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`

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
