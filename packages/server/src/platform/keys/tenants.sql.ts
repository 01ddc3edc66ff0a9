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

export function listTenantIds(db: KeyringDb): string[] {
  const rows = db.all<{ tenant_id: string }>('SELECT tenant_id FROM tenants ORDER BY tenant_id')
  return rows.map((row) => row.tenant_id)
}

export function updateTenantKeys(db: KeyringDb, row: TenantRow): void {
  db.run(
    'UPDATE tenants SET tenant_key = ?, label_salt = ? WHERE tenant_id = ?',
    row.tenant_key,
    row.label_salt,
    row.tenant_id,
  )
}
