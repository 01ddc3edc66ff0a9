// Backs up an embedded keyring into one file, and restores it from such a file.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  PRIVATE_DIRECTORY,
  PRIVATE_FILE,
  syncDirectory,
  syncFile,
  writeFileDurably,
  writeFully,
} from '../durable-file.ts'
import { KeyringError } from '../keyring-error.ts'
import { UnsharedLedgerOrder } from '../ledger/ledger-order.sql.ts'
import { SECRET_BYTES } from '../secret-bytes.ts'
import { addSlotPages, unpackBackup } from './backup.sql.ts'
import { type SlotFile, slotFileHeader } from './slot-file.ts'
import type { SqliteDb } from './sqlite-db.ts'

/** Attempts to copy while erasures are recorded; the last copy is kept in any case. */
const ATTEMPTS = 20

export const DB_FILE = 'keyring.db'
export const SLOT_FILE = 'secrets.slots'

/**
 * Writes one file at `path`, replacing it as a whole. Copies the tables first and the slots second:
 * a secret destroyed in between is zeros in the backup, whatever its tables say. If another process
 * has recorded an erasure in between, copies again, because the ledger of the copy has to name
 * every memory whose secret it lacks. The backup holds the secrets of its time: a restore replays
 * the newest ledger, and it must be kept apart from the data backup, so that neither is useful
 * alone.
 */
export async function backupKeyring(db: SqliteDb, slots: SlotFile, path: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  const ledger = new UnsharedLedgerOrder()
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      rmSync(draft, { force: true })
      closeSync(openSync(draft, 'wx', PRIVATE_FILE))
      const copied = await db.copyTo(draft, () => addSlotPages(draft, (run) => slots.read(run)))
      if (copied === (await ledger.lastNumber(db))) break
    }
    syncFile(draft)
    renameSync(draft, path)
    syncDirectory(dirname(path))
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Creates a keyring in `dir` from a file of `backupTo`. Throws `keyring_exists` unless `dir` is
 * absent or empty. After `backup_unreadable`, nothing is left behind.
 */
export async function restoreFileKeyring(options: { from: string; dir: string }): Promise<void> {
  const { from, dir } = options
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw new KeyringError('keyring_exists', `${dir} is not empty`)
  if (!existsSync(from)) throw new KeyringError('backup_unreadable', `${from} is missing`)
  const draft = `${dir}.${randomBytes(6).toString('hex')}`
  mkdirSync(draft, { recursive: true, mode: PRIVATE_DIRECTORY })
  try {
    unpackInto(draft, from)
    if (existsSync(dir)) rmdirSync(dir)
    renameSync(draft, dir)
    syncDirectory(dirname(dir))
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (error instanceof KeyringError) throw error
    throw new KeyringError('backup_unreadable', `${from} cannot be restored`, error)
  }
}

function unpackInto(draft: string, from: string): void {
  const slotPath = join(draft, SLOT_FILE)
  const dbPath = join(draft, DB_FILE)
  writeFileDurably(slotPath, Buffer.alloc(SECRET_BYTES))
  closeSync(openSync(dbPath, 'wx', PRIVATE_FILE))
  const fd = openSync(slotPath, 'r+')
  try {
    let end = 1
    const { instance_id, slots_end } = unpackBackup(from, dbPath, ({ start, slots }) => {
      writeFully(fd, slots, start * SECRET_BYTES)
      end = start + slots.length / SECRET_BYTES
    })
    if (end < slots_end)
      throw new KeyringError('backup_unreadable', `${from} lacks slots ${end} to ${slots_end}`)
    writeFully(fd, slotFileHeader(instance_id), 0)
  } finally {
    closeSync(fd)
  }
  for (const file of [slotPath, dbPath]) syncFile(file)
  syncDirectory(draft)
}
