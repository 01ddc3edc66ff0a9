// Creates, opens and rewraps the stored rows of tenants' keys.

import { randomBytes } from 'node:crypto'
import { KeyringError } from '../keyring-error.ts'
import { KEY_BYTES, type MasterHolder, type MasterRotation, unwrap, wrap } from '../wrap.ts'
import { tenantKeys, type WipeableTenantKeys } from './tenant-keys.ts'
import type { TenantRow } from './tenants.sql.ts'

const TENANT_ID_CHARS_MAX = 256

/** Throws `bad_argument` for an id that no tenant can have. */
export function requireTenantId(tenant_id: string): void {
  if (tenant_id.length === 0 || tenant_id.length > TENANT_ID_CHARS_MAX)
    throw new KeyringError('bad_argument', 'a tenant id has 1 to 256 characters')
}

/** A row with new keys. */
export function newTenantRow(master: MasterHolder, tenant_id: string): TenantRow {
  const wrapped = (kind: 'tenant-key' | 'label-salt') => {
    const value = randomBytes(KEY_BYTES)
    const sealed = wrap(master.key, { kind, owner: tenant_id }, value)
    value.fill(0)
    return sealed
  }
  return { tenant_id, tenant_key: wrapped('tenant-key'), label_salt: wrapped('label-salt') }
}

/** The row of a tenant whose keys are destroyed. */
export const destroyedRow = (tenant_id: string): TenantRow => ({
  tenant_id,
  tenant_key: new Uint8Array(0),
  label_salt: new Uint8Array(0),
})

export const isDestroyed = ({ tenant_key }: TenantRow): boolean => tenant_key.length === 0

export function openTenantRow(master: MasterHolder, row: TenantRow): WipeableTenantKeys {
  if (isDestroyed(row))
    throw new KeyringError('tenant_destroyed', `the keys of tenant ${row.tenant_id} are destroyed`)
  return tenantKeys(row.tenant_id, tenantKey(master, row), labelSalt(master, row))
}

/** Wraps the same keys under the next master key. */
export function rewrapTenantRow(row: TenantRow, { from, next }: MasterRotation): TenantRow {
  const { tenant_id: owner } = row
  if (isDestroyed(row)) return row
  return {
    tenant_id: owner,
    tenant_key: wrap(next.key, { kind: 'tenant-key', owner }, tenantKey(from, row)),
    label_salt: wrap(next.key, { kind: 'label-salt', owner }, labelSalt(from, row)),
  }
}

function tenantKey(master: MasterHolder, row: TenantRow): Buffer {
  return unwrap(master, { kind: 'tenant-key', owner: row.tenant_id }, row.tenant_key)
}

function labelSalt(master: MasterHolder, row: TenantRow): Buffer {
  return unwrap(master, { kind: 'label-salt', owner: row.tenant_id }, row.label_salt)
}
