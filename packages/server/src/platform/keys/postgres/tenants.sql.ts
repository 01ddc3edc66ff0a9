// Tenants' wrapped keys.

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

/** Whether it is there; if so its numbers are given out by this transaction alone. */
export async function lockTenant(tx: PgTx, tenant_id: string): Promise<boolean> {
  const row = await tx.get(
    'SELECT tenant_id FROM keyring.tenants WHERE tenant_id = $1 FOR UPDATE',
    tenant_id,
  )
  return row !== undefined
}

export async function listTenantIds(db: PgQueries): Promise<string[]> {
  const rows = await db.all<{ tenant_id: string }>(
    'SELECT tenant_id FROM keyring.tenants ORDER BY tenant_id',
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
