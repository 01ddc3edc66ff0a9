// The one row about the keyring itself: who it is, its own wrapped keys, its counters.

import { randomBytes } from 'node:crypto'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'
import { FIRST_SLOT } from './slot-file.ts'
import { KEY_BYTES, type MasterHolder, opens, wrap } from './wrap.ts'

export interface InstanceRow {
  readonly instance_id: string
  readonly master_check: Uint8Array
  readonly mac_root: Uint8Array
  readonly slots_end: number
  readonly day_floor: number
}

const SELECT = 'SELECT instance_id, master_check, mac_root, slots_end, day_floor FROM instance'

/** The row, made on the first open; `wrong_master_key` when it is another key's. */
export function openInstance(db: KeyringDb, master: MasterHolder): InstanceRow {
  return requireMaster(db.get<InstanceRow>(SELECT) ?? createInstance(db, master), master)
}

/** The same of a keyring that must be there already. */
export function requireInstance(db: KeyringDb, master: MasterHolder): InstanceRow {
  return requireMaster(loadInstance(db), master)
}

/** `wrong_master_key` when the row was made under another key. */
export function requireMaster<Row extends Pick<InstanceRow, 'instance_id' | 'master_check'>>(
  row: Row,
  master: MasterHolder,
): Row {
  const check = { kind: 'master-check', owner: row.instance_id } as const
  if (opens(master.key, check, row.master_check)) return row
  throw new KeyringError('wrong_master_key', 'the master key is not the one of this keyring')
}

function createInstance(db: KeyringDb, { key }: MasterHolder): InstanceRow {
  const owner = randomBytes(16).toString('hex')
  return db.transact(() => {
    db.run(
      'INSERT INTO instance VALUES (1, ?, ?, ?, ?, 0)',
      owner,
      wrap(key, { kind: 'master-check', owner }, randomBytes(KEY_BYTES)),
      wrap(key, { kind: 'mac-root', owner }, randomBytes(KEY_BYTES)),
      FIRST_SLOT,
    )
    return loadInstance(db)
  })
}

export function loadInstance(db: KeyringDb): InstanceRow {
  const row = db.get<InstanceRow>(SELECT)
  if (row) return row
  throw new KeyringError('keyring_damaged', 'the keyring has no instance row')
}

/** The first of `count` slots that are now this transaction's; unused again if it fails. */
export function takeSlots(db: KeyringDb, count: number): number {
  const row = db.get<{ slots_end: number }>(
    'UPDATE instance SET slots_end = slots_end + ? RETURNING slots_end',
    count,
  )
  if (!row) throw new KeyringError('keyring_damaged', 'the keyring has no instance row')
  return row.slots_end - count
}

export function updateDayFloor(db: KeyringDb, day: number): void {
  db.run('UPDATE instance SET day_floor = max(day_floor, ?)', day)
}

export function updateInstanceKeys(
  db: KeyringDb,
  keys: { master_check: Uint8Array; mac_root: Uint8Array },
): void {
  db.run('UPDATE instance SET master_check = ?, mac_root = ?', keys.master_check, keys.mac_root)
}
