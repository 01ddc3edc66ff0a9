// The one row about the keyring itself: its id, its wrapped keys, and `day_floor`. MACs of request
// bodies have a key for each day; the keys of days before `day_floor` are destroyed.

import { randomBytes } from 'node:crypto'
import { KeyringError } from '../keyring-error.ts'
import { KEY_BYTES, type MasterHolder, type MasterRotation, opens, unwrap, wrap } from '../wrap.ts'
import type { KeyringQueries, KeyringTx } from './database.ts'
import type { KeyringTables } from './tables.ts'

export type InstanceRow = Readonly<Omit<KeyringTables['instance'], 'singleton' | 'slots_end'>>

/** The row of a new keyring. */
export function newInstance({ key }: MasterHolder): InstanceRow {
  const owner = randomBytes(16).toString('hex')
  return {
    instance_id: owner,
    master_check: wrap(key, { kind: 'master-check', owner }, randomBytes(KEY_BYTES)),
    mac_root: wrap(key, { kind: 'mac-root', owner }, randomBytes(KEY_BYTES)),
    day_floor: 0,
  }
}

/** Returns false if the keyring already has its row. */
export async function insertInstance(
  tx: KeyringTx,
  row: InstanceRow & { slots_end?: number },
): Promise<boolean> {
  const query = tx.tables.insertInto('instance').values({ singleton: 1, ...row })
  return (await tx.run(query.onConflict((on) => on.doNothing()))) > 0
}

const selectInstance = (db: KeyringQueries) =>
  db.tables.selectFrom('instance').select(['instance_id', 'master_check', 'mac_root', 'day_floor'])

export async function findInstance(db: KeyringQueries): Promise<InstanceRow | undefined> {
  return db.first(selectInstance(db))
}

/**
 * Loads the row, which must exist. Throws `wrong_master_key` if it was wrapped under a key that
 * this process does not have.
 */
export async function requireInstance(
  db: KeyringQueries,
  master: MasterHolder,
): Promise<InstanceRow> {
  return requireMaster(await findInstance(db), master)
}

/**
 * Blocks a rotation of the master key until the transaction ends, so that the transaction wraps
 * everything under the current key. If another process has rotated the key, uses the new key;
 * throws `wrong_master_key` if this process does not have it.
 */
export async function shareInstance(tx: KeyringTx, master: MasterHolder): Promise<InstanceRow> {
  return useMaster(await tx.first(selectInstance(tx).forShare()), master)
}

/** Like `shareInstance`, but only one transaction at a time holds the row. */
export async function lockInstance(tx: KeyringTx, master: MasterHolder): Promise<InstanceRow> {
  return useMaster(await tx.first(selectInstance(tx).forUpdate()), master)
}

/** Raises the floor to `day`; never lowers it. */
export async function updateDayFloor(tx: KeyringTx, day: number): Promise<void> {
  await tx.run(
    tx.tables.updateTable('instance').set({ day_floor: day }).where('day_floor', '<', day),
  )
}

export async function updateInstanceKeys(
  tx: KeyringTx,
  keys: Pick<InstanceRow, 'master_check' | 'mac_root'>,
): Promise<void> {
  const { master_check, mac_root } = keys
  await tx.run(tx.tables.updateTable('instance').set({ master_check, mac_root }))
}

/** Wraps the instance's own keys under the next master key. */
export function rewrapInstance(row: InstanceRow, { from, next }: MasterRotation): InstanceRow {
  const { instance_id: owner } = row
  const rewrap = (kind: 'master-check' | 'mac-root', wrapped: Uint8Array) =>
    wrap(next.key, { kind, owner }, unwrap(from, { kind, owner }, wrapped))
  return {
    ...row,
    master_check: rewrap('master-check', row.master_check),
    mac_root: rewrap('mac-root', row.mac_root),
  }
}

function requireMaster(row: InstanceRow | undefined, master: MasterHolder): InstanceRow {
  if (!row) throw new KeyringError('keyring_damaged', 'the keyring has no instance row')
  const check = { kind: 'master-check', owner: row.instance_id } as const
  const { key, other } = master
  if (opens(key, check, row.master_check)) return row
  if (other && opens(other, check, row.master_check)) return row
  throw new KeyringError('wrong_master_key', 'the master key is not the one of this keyring')
}

/**
 * Switches this process to the master key that the row is wrapped under. Pass a locked row:
 * it has the current key, because a rotation waits for the lock. A row that was read without a lock
 * may have the former key. The process keeps both keys, because work that began before the rotation
 * sees rows under the former key.
 */
function useMaster(found: InstanceRow | undefined, master: MasterHolder): InstanceRow {
  const row = requireMaster(found, master)
  const { key, other } = master
  const check = { kind: 'master-check', owner: row.instance_id } as const
  if (other && !opens(key, check, row.master_check))
    Object.assign(master, { key: other, other: key })
  return row
}
