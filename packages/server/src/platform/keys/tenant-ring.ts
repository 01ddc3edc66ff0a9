// Tenants' keys: made, unwrapped once, kept in memory.

import { randomBytes } from 'node:crypto'
import type { TenantKeys } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'
import { tenantKeys } from './tenant-keys.ts'
import {
  findTenant,
  insertTenant,
  listTenantRows,
  type TenantRow,
  updateTenantKeys,
} from './tenants.sql.ts'
import { KEY_BYTES, type MasterHolder, unwrap, wrap } from './wrap.ts'

/** About 1.5 kB each; beyond it the one unwrapped longest ago is dropped. */
const TENANTS_IN_MEMORY_MAX = 10_000
const TENANT_ID_CHARS_MAX = 256

export class TenantRing {
  readonly #db: KeyringDb
  readonly #master: MasterHolder
  readonly #open = new Map<string, TenantKeys>()

  constructor(db: KeyringDb, master: MasterHolder) {
    this.#db = db
    this.#master = master
  }

  create(tenant_id: string): void {
    if (tenant_id.length === 0 || tenant_id.length > TENANT_ID_CHARS_MAX)
      throw new KeyringError('bad_argument', 'a tenant id has 1 to 256 characters')
    if (this.has(tenant_id)) return
    this.#db.transact(() => {
      insertTenant(this.#db, {
        tenant_id,
        tenant_key: this.#wrapped('tenant-key', tenant_id, randomBytes(KEY_BYTES)),
        label_salt: this.#wrapped('label-salt', tenant_id, randomBytes(KEY_BYTES)),
      })
    })
  }

  has(tenant_id: string): boolean {
    return this.#open.has(tenant_id) || findTenant(this.#db, tenant_id) !== undefined
  }

  load(tenant_id: string): TenantKeys {
    const known = this.#open.get(tenant_id)
    if (known) return known
    const row = findTenant(this.#db, tenant_id)
    if (!row) throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
    const keys = tenantKeys(tenant_id, this.#tenantKey(row), this.#labelSalt(row))
    if (this.#open.size >= TENANTS_IN_MEMORY_MAX) this.#dropOldest()
    this.#open.set(tenant_id, keys)
    return keys
  }

  /** Inside the caller's transaction: every row again, under `next`. */
  rewrap(next: MasterHolder): void {
    for (const row of listTenantRows(this.#db)) {
      const { tenant_id } = row
      updateTenantKeys(this.#db, {
        tenant_id,
        tenant_key: wrap(next.key, { kind: 'tenant-key', owner: tenant_id }, this.#tenantKey(row)),
        label_salt: wrap(next.key, { kind: 'label-salt', owner: tenant_id }, this.#labelSalt(row)),
      })
    }
  }

  #tenantKey(row: TenantRow): Buffer {
    return unwrap(this.#master.key, { kind: 'tenant-key', owner: row.tenant_id }, row.tenant_key)
  }

  #labelSalt(row: TenantRow): Buffer {
    return unwrap(this.#master.key, { kind: 'label-salt', owner: row.tenant_id }, row.label_salt)
  }

  #wrapped(kind: 'tenant-key' | 'label-salt', owner: string, value: Buffer): Buffer {
    const wrapped = wrap(this.#master.key, { kind, owner }, value)
    value.fill(0)
    return wrapped
  }

  #dropOldest(): void {
    for (const tenant_id of this.#open.keys()) {
      this.#open.delete(tenant_id)
      return
    }
  }
}
