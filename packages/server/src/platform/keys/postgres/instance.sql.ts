// The one row about the keyring itself, and the counters that put changes in an order.

import { randomBytes } from 'node:crypto'
import { requireMaster } from '../instance.sql.ts'
import { KeyringError } from '../keyring-error.ts'
import { KEY_BYTES, type MasterHolder, unwrap, wrap } from '../wrap.ts'
import type { KeyringPg, PgQueries, PgTx } from './keyring-pg.ts'
import { insertWrapKey, newWrapKey, OWN } from './wrap-keys.sql.ts'

export interface InstanceRow {
  readonly instance_id: string
  readonly master_check: Buffer
  readonly mac_root: Buffer
  readonly day_floor: number
}

const SELECT = 'SELECT instance_id, master_check, mac_root, day_floor FROM keyring.instance'

/** The row, made on the first open; `wrong_master_key` when it is another key's. */
export async function openInstance(db: KeyringPg, master: MasterHolder): Promise<InstanceRow> {
  if (!(await db.get(SELECT))) await db.transact((tx) => createInstance(tx, master))
  return requireInstance(db, master)
}

/** The same of a keyring that must be there already. */
export async function requireInstance(db: PgQueries, master: MasterHolder): Promise<InstanceRow> {
  return requireMaster(await loadInstance(db, SELECT), master)
}

/**
 * Holds off a rotation of the master key until the transaction ends: what it wraps is wrapped
 * under the key that counts. `wrong_master_key` when another process has rotated it.
 */
export async function shareInstance(tx: PgTx, master: MasterHolder): Promise<InstanceRow> {
  return requireMaster(await loadInstance(tx, `${SELECT} FOR SHARE`), master)
}

/** The same, for one transaction at a time. */
export async function lockInstance(tx: PgTx, master: MasterHolder): Promise<InstanceRow> {
  return requireMaster(await loadInstance(tx, `${SELECT} FOR UPDATE`), master)
}

export async function updateDayFloor(tx: PgTx, day: number): Promise<void> {
  await tx.run('UPDATE keyring.instance SET day_floor = greatest(day_floor, $1)', day)
}

/** Both of the instance's own keys again, under `next`. */
export async function rewrapInstance(
  tx: PgTx,
  { instance_id: owner, master_check, mac_root }: InstanceRow,
  { from, next }: { from: MasterHolder; next: MasterHolder },
): Promise<void> {
  const again = (kind: 'master-check' | 'mac-root', wrapped: Buffer) =>
    wrap(next.key, { kind, owner }, unwrap(from.key, { kind, owner }, wrapped))
  await tx.run(
    'UPDATE keyring.instance SET master_check = $1, mac_root = $2',
    again('master-check', master_check),
    again('mac-root', mac_root),
  )
}

/** `destroyed`: secrets ever destroyed. `ledger`: the last number of an entry. */
export type Counter = 'destroyed' | 'ledger'

/** From here to the end of the transaction this is the only one to change what is counted. */
export async function lockCounter(tx: PgTx, name: Counter): Promise<void> {
  await tx.get('SELECT value FROM keyring.counters WHERE name = $1 FOR UPDATE', name)
}

/** The last number that anybody has taken and kept. */
export async function lastNumber(db: PgQueries, name: Counter): Promise<number> {
  const sql = 'SELECT value FROM keyring.counters WHERE name = $1'
  return (await db.get<{ value: number }>(sql, name))?.value ?? 0
}

/** The first of `count` numbers that are now this transaction's. */
export async function takeNumbers(tx: PgTx, name: Counter, count: number): Promise<number> {
  const row = await tx.get<{ value: number }>(
    'UPDATE keyring.counters SET value = value + $2 WHERE name = $1 RETURNING value',
    name,
    count,
  )
  if (!row) throw new KeyringError('keyring_damaged', `the keyring has no counter ${name}`)
  return row.value - count + 1
}

async function createInstance(tx: PgTx, master: MasterHolder): Promise<void> {
  const owner = randomBytes(16).toString('hex')
  const made = await tx.run(
    `INSERT INTO keyring.instance (singleton, instance_id, master_check, mac_root, day_floor)
     VALUES (1, $1, $2, $3, 0) ON CONFLICT DO NOTHING`,
    owner,
    wrap(master.key, { kind: 'master-check', owner }, randomBytes(KEY_BYTES)),
    wrap(master.key, { kind: 'mac-root', owner }, randomBytes(KEY_BYTES)),
  )
  if (made > 0) await insertWrapKey(tx, newWrapKey(master, OWN, 1))
}

async function loadInstance(db: PgQueries, select: string): Promise<InstanceRow> {
  const row = await db.get<InstanceRow>(select)
  if (row) return row
  throw new KeyringError('keyring_damaged', 'the keyring has no instance row')
}
