// Queries on the keys that secrets are sealed under; deleting one makes old copies unreadable.

import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { KeyringError } from '../keyring-error.ts'
import { KEY_BYTES, type MasterHolder, type MasterRotation, unwrap, wrap } from '../wrap.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

/** The owner of secrets that belong to no tenant: the day secrets. */
export const KEYRING_OWN = ''

const ATTEMPTS_MAX = 5
const PAGE = 1_000

interface WrapKeyRow {
  readonly tenant_id: string
  /** 1, 2, 3 … */
  readonly version: number
  /** Wrapped under the master key. */
  readonly wrap_key: Buffer
}

export function newWrapKey(master: MasterHolder, tenant_id: string, version: number): WrapKeyRow {
  const value = randomBytes(KEY_BYTES)
  const wrap_key = wrap(master.key, wrapped({ tenant_id, version }), value)
  value.fill(0)
  return { tenant_id, version, wrap_key }
}

export function openWrapKey(master: MasterHolder, row: WrapKeyRow): KeyObject {
  const value = unwrap(master, wrapped(row), row.wrap_key)
  const key = createSecretKey(value)
  value.fill(0)
  return key
}

/** Wraps every key under the next master key. */
export async function rewrapKeys(tx: PgTx, rotation: MasterRotation): Promise<void> {
  for (let after = { tenant_id: '', version: 0 }; ; ) {
    const rows = await listWrapKeys(tx, { after, limit: PAGE })
    const last = rows.at(-1)
    if (!last) return
    await updateWrapKeys(
      tx,
      rows.map((row) => rewrapKey(row, rotation)),
    )
    after = last
  }
}

function rewrapKey(row: WrapKeyRow, { from, next }: MasterRotation): WrapKeyRow {
  const value = unwrap(from, wrapped(row), row.wrap_key)
  const wrap_key = wrap(next.key, wrapped(row), value)
  value.fill(0)
  return { ...row, wrap_key }
}

function wrapped({ tenant_id, version }: Pick<WrapKeyRow, 'tenant_id' | 'version'>) {
  return { kind: 'wrap-key', owner: `${tenant_id} ${version}` } as const
}

export async function insertWrapKey(tx: PgTx, row: WrapKeyRow): Promise<void> {
  await tx.execute(
    'INSERT INTO keyring.wrap_keys (tenant_id, version, wrap_key) VALUES ($1, $2, $3)',
    row.tenant_id,
    row.version,
    row.wrap_key,
  )
}

/** The newest key; locked against deletion until the transaction ends. */
export async function shareWrapKey(tx: PgTx, tenant_id: string): Promise<WrapKeyRow> {
  // The row may be deleted while this waits for its lock; the next attempt finds its successor.
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const row = await tx.queryFirst<WrapKeyRow>(
      `SELECT tenant_id, version, wrap_key FROM keyring.wrap_keys
       WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1 FOR SHARE`,
      tenant_id,
    )
    if (row) return row
  }
  throw new KeyringError('keyring_damaged', `tenant ${tenant_id} has no wrap key`)
}

export async function lastWrapVersion(db: PgQueries, tenant_id: string): Promise<number> {
  const row = await db.queryFirst<{ version: number | null }>(
    'SELECT max(version) AS version FROM keyring.wrap_keys WHERE tenant_id = $1',
    tenant_id,
  )
  return row?.version ?? 0
}

/** Every owner of a wrap key, the keyring itself included. */
export async function listWrapOwners(db: PgQueries): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
    'SELECT DISTINCT tenant_id FROM keyring.wrap_keys ORDER BY tenant_id',
  )
  return rows.map(({ tenant_id }) => tenant_id)
}

/** Locks the keys `< before`, once no transaction stores secrets under them any more. */
export async function lockOldWrapKeys(
  tx: PgTx,
  tenant_id: string,
  before: number,
): Promise<WrapKeyRow[]> {
  return tx.query<WrapKeyRow>(
    `SELECT tenant_id, version, wrap_key FROM keyring.wrap_keys
     WHERE tenant_id = $1 AND version < $2 ORDER BY version FOR UPDATE`,
    tenant_id,
    before,
  )
}

/** Overwrites first, so that storage that changes rows in place keeps nothing of the keys. */
export async function deleteOldWrapKeys(
  tx: PgTx,
  tenant_id: string,
  before: number,
): Promise<void> {
  const at = 'WHERE tenant_id = $1 AND version < $2'
  await tx.execute(
    `UPDATE keyring.wrap_keys SET wrap_key = decode(repeat('00', length(wrap_key)), 'hex') ${at}`,
    tenant_id,
    before,
  )
  await tx.execute(`DELETE FROM keyring.wrap_keys ${at}`, tenant_id, before)
}

/** Lists the wrap keys of all owners, in pages by owner and version. */
async function listWrapKeys(
  db: PgQueries,
  page: { after: Pick<WrapKeyRow, 'tenant_id' | 'version'>; limit: number },
): Promise<WrapKeyRow[]> {
  return db.query<WrapKeyRow>(
    `SELECT tenant_id, version, wrap_key FROM keyring.wrap_keys
     WHERE (tenant_id, version) > ($1, $2) ORDER BY tenant_id, version LIMIT $3`,
    page.after.tenant_id,
    page.after.version,
    page.limit,
  )
}

async function updateWrapKeys(tx: PgTx, rows: readonly WrapKeyRow[]): Promise<void> {
  await tx.execute(
    `UPDATE keyring.wrap_keys AS k SET wrap_key = u.wrap_key
     FROM unnest($1::text[], $2::bigint[], $3::bytea[]) AS u (tenant_id, version, wrap_key)
     WHERE k.tenant_id = u.tenant_id AND k.version = u.version`,
    rows.map((row) => row.tenant_id),
    rows.map((row) => row.version),
    rows.map((row) => row.wrap_key),
  )
}

/** All versions of one owner. */
export async function listOwnWrapKeys(db: PgQueries, tenant_id: string): Promise<WrapKeyRow[]> {
  return db.query<WrapKeyRow>(
    'SELECT tenant_id, version, wrap_key FROM keyring.wrap_keys WHERE tenant_id = $1',
    tenant_id,
  )
}
