// Tenants' wrapped keys.

import { isDestroyed } from '../tenant-rows.ts'
import type { TenantRow } from '../tenants.sql.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

/** false: it is there already, and keeps its keys. */
export async function insertTenant(tx: PgTx, row: TenantRow): Promise<boolean> {
  const made = await tx.run(
    `INSERT INTO keyring.tenants (tenant_id, tenant_key, label_salt) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING`,
    row.tenant_id,
    row.tenant_key,
    row.label_salt,
  )
  return made > 0
}

export async function findTenant(db: PgQueries, tenant_id: string): Promise<TenantRow | undefined> {
  return db.get<TenantRow>(
    'SELECT tenant_id, tenant_key, label_salt FROM keyring.tenants WHERE tenant_id = $1',
    tenant_id,
  )
}

/** Whether it has keys; if so its numbers are given out by this transaction alone. */
export async function lockTenant(tx: PgTx, tenant_id: string): Promise<boolean> {
  const row = await tx.get<{ live: boolean }>(
    `SELECT length(tenant_key) > 0 AS live FROM keyring.tenants
     WHERE tenant_id = $1 FOR UPDATE`,
    tenant_id,
  )
  return row?.live ?? false
}

/** Whether its row says that its keys were destroyed. */
export async function isGone(db: PgQueries, tenant_id: string): Promise<boolean> {
  const row = await findTenant(db, tenant_id)
  return row !== undefined && isDestroyed(row)
}

/**
 * Destroys the tenant's keys and those its secrets are stored under: nothing of it opens from this
 * commit on, and no secret is made for it. Overwritten first: storage that changes rows in place
 * then keeps nothing of them. Whoever makes secrets for it meanwhile is waited for.
 */
export async function destroyTenantKeys(tx: PgTx, tenant_id: string): Promise<void> {
  await tx.run(
    `INSERT INTO keyring.tenants (tenant_id, tenant_key, label_salt) VALUES ($1, '', '')
     ON CONFLICT DO NOTHING`,
    tenant_id,
  )
  await lockTenant(tx, tenant_id)
  const zeros = (column: string) => `${column} = decode(repeat('00', length(${column})), 'hex')`
  const at = 'WHERE tenant_id = $1'
  await tx.run(
    `UPDATE keyring.tenants SET ${zeros('tenant_key')}, ${zeros('label_salt')} ${at}`,
    tenant_id,
  )
  await tx.run(`UPDATE keyring.tenants SET tenant_key = '', label_salt = '' ${at}`, tenant_id)
  await tx.run(`UPDATE keyring.wrap_keys SET ${zeros('wrap_key')} ${at}`, tenant_id)
  await tx.run(`DELETE FROM keyring.wrap_keys ${at}`, tenant_id)
  await tx.run(
    `INSERT INTO keyring.counters (name, value) VALUES ('tenants_destroyed', 1)
     ON CONFLICT (name) DO UPDATE SET value = counters.value + 1`,
  )
}

/** Whether the tenant has a key, a secret or a block of numbers. */
export async function hasRemains(db: PgQueries, tenant_id: string): Promise<boolean> {
  const any = (table: string) => `EXISTS (SELECT 1 FROM keyring.${table} WHERE tenant_id = $1)`
  const row = await db.get<{ found: boolean }>(
    `SELECT ${any('secrets')} OR ${any('secret_blocks')} OR ${any('wrap_keys')} OR EXISTS (
       SELECT 1 FROM keyring.tenants WHERE tenant_id = $1 AND length(tenant_key) > 0) AS found`,
    tenant_id,
  )
  return row?.found ?? true
}

/** Tenants whose keys are destroyed, and of whose secrets a stop has left some. */
export async function listHalfRemoved(db: PgQueries): Promise<string[]> {
  const rows = await db.all<{ tenant_id: string }>(
    `SELECT t.tenant_id FROM keyring.tenants AS t WHERE length(t.tenant_key) = 0
       AND (EXISTS (SELECT 1 FROM keyring.secrets AS s WHERE s.tenant_id = t.tenant_id)
         OR EXISTS (SELECT 1 FROM keyring.secret_blocks AS b WHERE b.tenant_id = t.tenant_id))
     ORDER BY t.tenant_id`,
  )
  return rows.map((row) => row.tenant_id)
}

/** Tenants that the ledger names as destroyed, and that have something left. */
export async function listUndestroyed(db: PgQueries): Promise<string[]> {
  const rows = await db.all<{ tenant_id: string }>(
    `SELECT DISTINCT l.tenant_id FROM keyring.ledger AS l
     LEFT JOIN keyring.tenants AS t ON t.tenant_id = l.tenant_id
     WHERE l.subject_kind = 'tenant' AND (t.tenant_id IS NULL OR length(t.tenant_key) > 0
       OR EXISTS (SELECT 1 FROM keyring.secrets AS s WHERE s.tenant_id = l.tenant_id)
       OR EXISTS (SELECT 1 FROM keyring.secret_blocks AS b WHERE b.tenant_id = l.tenant_id)
       OR EXISTS (SELECT 1 FROM keyring.wrap_keys AS w WHERE w.tenant_id = l.tenant_id))
     ORDER BY l.tenant_id`,
  )
  return rows.map((row) => row.tenant_id)
}

/** Of every tenant there ever was. */
export const listTenantIds = (db: PgQueries): Promise<string[]> => idsOf(db, '')

export const listLiveTenantIds = (db: PgQueries): Promise<string[]> =>
  idsOf(db, 'WHERE length(tenant_key) > 0')

export const listDestroyedTenantIds = (db: PgQueries): Promise<string[]> =>
  idsOf(db, 'WHERE length(tenant_key) = 0')

async function idsOf(db: PgQueries, where: string): Promise<string[]> {
  const rows = await db.all<{ tenant_id: string }>(
    `SELECT tenant_id FROM keyring.tenants ${where} ORDER BY tenant_id`,
  )
  return rows.map((row) => row.tenant_id)
}

/** Rows with `tenant_id > after`, ascending. */
export async function listTenantRows(
  db: PgQueries,
  page: { after: string; limit: number },
): Promise<TenantRow[]> {
  return db.all<TenantRow>(
    `SELECT tenant_id, tenant_key, label_salt FROM keyring.tenants
     WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2`,
    page.after,
    page.limit,
  )
}

export async function updateTenants(tx: PgTx, rows: readonly TenantRow[]): Promise<void> {
  await tx.run(
    `UPDATE keyring.tenants AS t SET tenant_key = u.tenant_key, label_salt = u.label_salt
     FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS u (tenant_id, tenant_key, label_salt)
     WHERE t.tenant_id = u.tenant_id`,
    rows.map((row) => row.tenant_id),
    rows.map((row) => Buffer.from(row.tenant_key)),
    rows.map((row) => Buffer.from(row.label_salt)),
  )
}
