// An embedded keyring as it is taken into PostgreSQL: looked at only, and refused when unsettled.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type InstanceRow, requireInstance } from '../instance.sql.ts'
import { DB_FILE, SLOT_FILE } from '../keyring-backup.ts'
import { KeyringDb } from '../keyring-db.ts'
import { KeyringError } from '../keyring-error.ts'
import { findEntry, listLedgerSecrets } from '../ledger.sql.ts'
import { LedgerCopy } from '../ledger-copy.ts'
import { listUnclaimed } from '../parts.sql.ts'
import { SecretStore } from '../secret-store.ts'
import { SlotFile } from '../slot-file.ts'
import { type MasterHolder, masterKeyObject } from '../wrap.ts'

export interface KeyringSource {
  readonly db: KeyringDb
  readonly slots: SlotFile
  readonly master: MasterHolder
  readonly instance: InstanceRow
  close(): void
}

/** Opens the keyring in `dir` for reading; `wrong_master_key` when it is another key's. */
export function openKeyringSource(options: { dir: string; master_key: Buffer }): KeyringSource {
  const { dir, master_key } = options
  const master = { key: masterKeyObject(master_key) }
  const db = KeyringDb.open(join(dir, DB_FILE), { read_only: true })
  try {
    const instance = requireInstance(db, master)
    const slots = SlotFile.openReadOnly(join(dir, SLOT_FILE), instance)
    const close = () => {
      db.close()
      slots.close()
    }
    return { db, slots, master, instance, close }
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Whether a start of the service would find nothing to finish: no erasure under way, no secret
 * left that the ledger names, nothing in the ledger copy that the keyring does not know. What is
 * unsettled must not be taken along: PostgreSQL would keep what is then destroyed in its pages.
 */
export function isSettled(
  { db, slots, instance }: KeyringSource,
  ledger_copy: string | null,
): boolean {
  if (db.get(`SELECT 1 FROM ledger WHERE state = 'requested' LIMIT 1`)) return false
  if (listUnclaimed(db).length > 0) return false
  if (ledger_copy !== null && !knowsCopy(db, ledger_copy, instance.instance_id)) return false
  return !hasNamedAlive(db, slots)
}

function knowsCopy(db: KeyringDb, path: string, instance_id: string): boolean {
  if (!existsSync(path)) return true
  const copy = LedgerCopy.open(path, instance_id)
  try {
    for (const line of copy.read()) {
      if ('part' in line) continue
      const known = findEntry(db, line.tenant_id, line.subject_kind, line.subject)
      if (known?.state !== 'completed') return false
    }
    return true
  } finally {
    copy.close()
  }
}

function hasNamedAlive(db: KeyringDb, slots: SlotFile): boolean {
  const secrets = new SecretStore(db, slots)
  const groups = Map.groupBy(listLedgerSecrets(db), (row) => `${row.kind}\n${row.tenant_id}`)
  let alive = false
  for (const [first, ...rest] of groups.values()) {
    if (!first) continue
    const numbers = [first, ...rest].map(({ number }) => number)
    for (const secret of secrets.read(first.tenant_id, first.kind, numbers).values()) {
      if (secret) alive = true
      secret?.fill(0)
    }
  }
  return alive
}

/** The key that opens a source: the first of the candidates that does; `wrong_master_key`. */
export function openWithAny(dir: string, keys: readonly Buffer[]): KeyringSource & { key: Buffer } {
  for (const key of keys) {
    try {
      return { ...openKeyringSource({ dir, master_key: key }), key }
    } catch (error) {
      if (!(error instanceof KeyringError) || error.code !== 'wrong_master_key') throw error
    }
  }
  throw new KeyringError('wrong_master_key', 'the master key is not the one of this keyring')
}
