// Opens the embedded keyring to import, read-only, and checks that nothing in it is unfinished.

import { existsSync } from 'node:fs'
import type { KeyringQueries } from '../core/database.ts'
import { type InstanceRow, requireInstance } from '../core/instance.sql.ts'
import {
  closeKeyringFiles,
  type KeyringFiles,
  openKeyringFiles,
} from '../file/open-file-keyring.ts'
import { SlotStore } from '../file/slot-store.ts'
import { KeyringError } from '../keyring-error.ts'
import { findEntries, keyOf, listRequestedEntries } from '../ledger/ledger.sql.ts'
import { LedgerCopy } from '../ledger/ledger-copy.ts'
import { selectUnclaimed } from '../ledger/parts.sql.ts'
import { type MasterHolder, masterKeyObject } from '../wrap.ts'

export interface KeyringSource extends KeyringFiles {
  readonly master: MasterHolder
  /** The key that opened the keyring. */
  readonly key: Buffer
  readonly instance: InstanceRow
  close(): void
}

/** Opens the keyring in `dir` with the first key that fits; else throws `wrong_master_key`. */
export async function openKeyringSource(
  dir: string,
  keys: readonly Buffer[],
): Promise<KeyringSource> {
  for (const key of keys) {
    try {
      const master = { key: masterKeyObject(key) }
      const files = await openKeyringFiles(dir, master, { read_only: true })
      const instance = await requireInstance(files.db, master)
      return { ...files, master, key, instance, close: () => closeKeyringFiles(files) }
    } catch (error) {
      if (!(error instanceof KeyringError) || error.code !== 'wrong_master_key') throw error
    }
  }
  throw new KeyringError('wrong_master_key', 'the master key is not the one of this keyring')
}

/**
 * Whether the next start of the service would have work to finish: a requested erasure, a plan that
 * no entry claims, a line of the ledger copy that the keyring lacks, or a secret that the ledger
 * destroys. Such a keyring must not be imported, because the pages of PostgreSQL would keep what
 * that work destroys.
 */
export async function hasUnfinishedErasures(
  { db, slots, instance }: KeyringSource,
  ledger_copy: string | null,
): Promise<boolean> {
  if ((await listRequestedEntries(db)).length > 0) return true
  if ((await db.all(selectUnclaimed(db))).length > 0) return true
  if (ledger_copy !== null && !(await hasEveryLine(db, ledger_copy, instance.instance_id)))
    return true
  return (await new SlotStore(db, slots).listUndestroyedSecrets()).length > 0
}

/** Whether the keyring has every entry of the copy as completed. */
async function hasEveryLine(
  db: KeyringQueries,
  path: string,
  instance_id: string,
): Promise<boolean> {
  if (!existsSync(path)) return true
  const copy = LedgerCopy.open(path, instance_id)
  try {
    for (const line of copy.read()) {
      if ('part' in line) continue
      const known = (await findEntries(db, [line])).get(keyOf(line))
      if (known?.state !== 'completed') return false
    }
    return true
  } finally {
    copy.close()
  }
}
