// Tenants' wrapped keys.

import type { KeyringDb } from './keyring-db.ts'

export interface TenantRow {
  readonly tenant_id: string
  readonly tenant_key: Uint8Array
  readonly label_salt: Uint8Array
}

/** A tenant that is there keeps its keys. */
export function insertTenant(db: KeyringDb, row: TenantRow): void {
  db.run(
    'INSERT INTO tenants VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    row.tenant_id,
    row.tenant_key,
    row.label_salt,
  )
}

export function findTenant(db: KeyringDb, tenant_id: string): TenantRow | undefined {
  return db.get<TenantRow>('SELECT * FROM tenants WHERE tenant_id = ?', tenant_id)
}

export function listTenantRows(db: KeyringDb): TenantRow[] {
  return db.all<TenantRow>('SELECT * FROM tenants ORDER BY tenant_id')
}

/** Of every tenant there ever was. */
export const listTenantIds = (db: KeyringDb): string[] => idsOf(db, '')

export const listLiveTenantIds = (db: KeyringDb): string[] =>
  idsOf(db, 'WHERE length(tenant_key) > 0')

export const listDestroyedTenantIds = (db: KeyringDb): string[] =>
  idsOf(db, 'WHERE length(tenant_key) = 0')

function idsOf(db: KeyringDb, where: string): string[] {
  const sql = `SELECT tenant_id FROM tenants ${where} ORDER BY tenant_id`
  return db.all<{ tenant_id: string }>(sql).map((row) => row.tenant_id)
}

/** Also where it was never created. */
export function upsertTenant(db: KeyringDb, row: TenantRow): void {
  insertTenant(db, row)
  updateTenantKeys(db, row)
}

export function updateTenantKeys(db: KeyringDb, row: TenantRow): void {
  db.run(
    'UPDATE tenants SET tenant_key = ?, label_salt = ? WHERE tenant_id = ?',
    row.tenant_key,
    row.label_salt,
    row.tenant_id,
  )
}
