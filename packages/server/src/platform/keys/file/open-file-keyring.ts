// Opens the keyring of the embedded engine: keyring.db and secrets.slots in one directory.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { formatTime } from '../../clock.ts'
import { DayKeys } from '../core/day-keys.ts'
import { findInstance, insertInstance, newInstance, requireInstance } from '../core/instance.sql.ts'
import { SigningKeys } from '../core/signing-keys.ts'
import { type KeyringParts, storedKeyring } from '../core/stored-keyring.ts'
import { TenantRing } from '../core/tenant-ring.ts'
import { PRIVATE_DIRECTORY } from '../durable-file.ts'
import type { Keyring } from '../keyring.ts'
import { checkpointStore } from '../ledger/checkpoints.sql.ts'
import { storedLedger } from '../ledger/ledger.ts'
import { LedgerCopy } from '../ledger/ledger-copy.ts'
import { UnsharedLedgerOrder } from '../ledger/ledger-order.sql.ts'
import { recoverKeyring } from '../ledger/recover.ts'
import { type MasterHolder, masterHolder } from '../wrap.ts'
import { backupKeyring, DB_FILE, SLOT_FILE } from './backup.ts'
import { FIRST_SLOT, SlotFile } from './slot-file.ts'
import { SlotStore } from './slot-store.ts'
import { loadSlotsEnd } from './slots.sql.ts'
import { SqliteDb } from './sqlite-db.ts'

interface FileKeyringOptions {
  /** Created with mode 0700 if absent. Only one process may write to it at a time. */
  readonly dir: string
  /** 32 bytes. */
  readonly master_key: Buffer
  /** 32 bytes: the next key of an interrupted rotation, which opens the keyring too. */
  readonly next_master_key?: Buffer | undefined
  /** Microseconds since the epoch; signing keys that the first open creates are valid from then. */
  readonly now_us: () => number
  /** File that ledger changes and signed checkpoints are appended to; best on another disk. */
  readonly ledger_copy?: string | undefined
  /**
   * Opens for reading beside the process that owns the keyring: creates, merges, destroys and
   * writes nothing, and does not read the ledger copy.
   */
  readonly read_only?: boolean
}

export interface KeyringFiles {
  readonly db: SqliteDb
  readonly slots: SlotFile
  readonly instance_id: string
}

/**
 * Opens or creates a keyring. When it resolves, the ledger and the checkpoints agree with their
 * copy, and every secret that the ledger names is destroyed, whatever the state of its row.
 * Normally destruction follows the row; after a crash between the two, or on a restored keyring, it
 * happens here.
 */
export async function openFileKeyring(options: FileKeyringOptions): Promise<Keyring> {
  const { dir, ledger_copy, read_only = false } = options
  const master = masterHolder(options.master_key, options.next_master_key)
  if (!read_only) mkdirSync(dir, { recursive: true, mode: PRIVATE_DIRECTORY })
  const files = await openKeyringFiles(dir, master, { read_only })
  let copy: LedgerCopy | undefined
  try {
    if (ledger_copy && !read_only) copy = LedgerCopy.open(ledger_copy, files.instance_id)
    const opened_at = read_only ? null : formatTime(options.now_us())
    const parts = await openParts(files, { master, copy, opened_at })
    return {
      ...storedKeyring(parts),
      backupTo: (path) => backupKeyring(files.db, files.slots, path),
      close: () => {
        parts.secrets.wipeMemory()
        closeKeyringFiles(files)
        copy?.close()
      },
    }
  } catch (error) {
    copy?.close()
    closeKeyringFiles(files)
    throw error
  }
}

/** Throws `wrong_master_key` if the keyring is wrapped under another key. */
export async function openKeyringFiles(
  dir: string,
  master: MasterHolder,
  { read_only }: { read_only: boolean },
): Promise<KeyringFiles> {
  const db = SqliteDb.open(join(dir, DB_FILE), { read_only })
  try {
    if (!read_only && !(await findInstance(db)))
      await db.transact((tx) =>
        insertInstance(tx, { ...newInstance(master), slots_end: FIRST_SLOT }),
      )
    const { instance_id } = await requireInstance(db, master)
    const expected = { instance_id, slots_end: await loadSlotsEnd(db) }
    const path = join(dir, SLOT_FILE)
    const slots = read_only ? SlotFile.openReadOnly(path, expected) : SlotFile.open(path, expected)
    return { db, slots, instance_id }
  } catch (error) {
    db.close()
    throw error
  }
}

export function closeKeyringFiles({ db, slots }: KeyringFiles): void {
  db.close()
  slots.close()
}

/** @param opened_at null if the keyring is opened read-only */
async function openParts(
  { db, slots, instance_id }: KeyringFiles,
  options: { master: MasterHolder; copy: LedgerCopy | undefined; opened_at: string | null },
): Promise<KeyringParts & { readonly secrets: SlotStore }> {
  const { master, copy, opened_at } = options
  const secrets = new SlotStore(db, slots)
  const storage = { db, secrets, copy, order: new UnsharedLedgerOrder() }
  const signing = new SigningKeys({ db, master, now_ms: () => performance.now() })
  const merged_from_copy = opened_at === null ? 0 : await recoverKeyring(storage)
  await (opened_at === null ? signing.reload() : signing.createMissing(opened_at))
  return {
    db,
    master,
    secrets,
    signing,
    tenants: new TenantRing({ db, secrets, master }),
    days: new DayKeys({ db, secrets, master }),
    ledger: storedLedger(storage),
    checkpoints: checkpointStore(storage),
    instance_id,
    merged_from_copy,
  }
}
