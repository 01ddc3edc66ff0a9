// Queries that destroy what PostgreSQL keeps of a tenant, and find what is left of it.

import { destroyedRow } from '../core/tenant-rows.ts'
import { insertTenant, lockLiveTenant } from '../core/tenants.sql.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

/**
 * Destroys the tenant's keys and those its secrets are sealed under: after this commit nothing of
 * the tenant opens, and no secret is made for it. Rows are overwritten first: storage that changes
 * rows in place then keeps nothing of them. Waits for reservations that are running.
 */
export async function destroyTenantKeys(tx: PgTx, tenant_id: string): Promise<void> {
  await insertTenant(tx, destroyedRow(tenant_id))
  await lockLiveTenant(tx, tenant_id)
  const zeros = (column: string) => `${column} = decode(repeat('00', length(${column})), 'hex')`
  const at = 'WHERE tenant_id = $1'
  await tx.execute(
    `UPDATE keyring.tenants SET ${zeros('tenant_key')}, ${zeros('label_salt')} ${at}`,
    tenant_id,
  )
  await tx.execute(`UPDATE keyring.tenants SET tenant_key = '', label_salt = '' ${at}`, tenant_id)
  await tx.execute(`UPDATE keyring.wrap_keys SET ${zeros('wrap_key')} ${at}`, tenant_id)
  await tx.execute(`DELETE FROM keyring.wrap_keys ${at}`, tenant_id)
  await tx.execute(
    `INSERT INTO keyring.counters (name, value) VALUES ('tenants_destroyed', 1)
     ON CONFLICT (name) DO UPDATE SET value = counters.value + 1`,
  )
}

/** Whether the tenant has a key, a secret or a block of numbers. */
export async function hasRemains(db: PgQueries, tenant_id: string): Promise<boolean> {
  const any = (table: string) => `EXISTS (SELECT 1 FROM keyring.${table} WHERE tenant_id = $1)`
  const row = await db.queryFirst<{ found: boolean }>(
    `SELECT ${any('secrets')} OR ${any('secret_blocks')} OR ${any('wrap_keys')} OR EXISTS (
       SELECT 1 FROM keyring.tenants WHERE tenant_id = $1 AND length(tenant_key) > 0) AS found`,
    tenant_id,
  )
  return row?.found ?? true
}

/** Tenants without keys that still have secrets: a stop interrupted their removal. */
export async function listHalfRemoved(db: PgQueries): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
    `SELECT t.tenant_id FROM keyring.tenants AS t WHERE length(t.tenant_key) = 0
       AND (EXISTS (SELECT 1 FROM keyring.secrets AS s WHERE s.tenant_id = t.tenant_id)
         OR EXISTS (SELECT 1 FROM keyring.secret_blocks AS b WHERE b.tenant_id = t.tenant_id))
     ORDER BY t.tenant_id`,
  )
  return rows.map((row) => row.tenant_id)
}

/** Tenants that the ledger destroys and that have something left. */
export async function listUndestroyed(db: PgQueries): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
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
