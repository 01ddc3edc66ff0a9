// Tenants' keys: made, unwrapped once, kept in memory.

import type { TenantKeys } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'
import { wipeTenantKeys } from './tenant-keys.ts'
import {
  destroyedRow,
  isDestroyed,
  newTenantRow,
  openTenantRow,
  requireTenantId,
  rewrapTenantRow,
} from './tenant-rows.ts'
import {
  findTenant,
  insertTenant,
  listTenantRows,
  updateTenantKeys,
  upsertTenant,
} from './tenants.sql.ts'
import type { MasterHolder } from './wrap.ts'

/** About 1.5 kB each; beyond it the one unwrapped longest ago is dropped. */
const TENANTS_IN_MEMORY_MAX = 10_000

export class TenantRing {
  readonly #db: KeyringDb
  readonly #master: MasterHolder
  readonly #open = new Map<string, TenantKeys>()

  constructor(db: KeyringDb, master: MasterHolder) {
    this.#db = db
    this.#master = master
  }

  create(tenant_id: string): void {
    requireTenantId(tenant_id)
    if (this.has(tenant_id)) return
    this.#db.transact(() => insertTenant(this.#db, newTenantRow(this.#master, tenant_id)))
  }

  has(tenant_id: string): boolean {
    return this.#open.has(tenant_id) || findTenant(this.#db, tenant_id) !== undefined
  }

  load(tenant_id: string): TenantKeys {
    const known = this.#open.get(tenant_id)
    if (known) return known
    const row = findTenant(this.#db, tenant_id)
    if (!row) throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
    const keys = openTenantRow(this.#master, row)
    if (this.#open.size >= TENANTS_IN_MEMORY_MAX) this.#dropOldest()
    this.#open.set(tenant_id, keys)
    return keys
  }

  /** Inside the caller's transaction: every row again, under `next`. */
  rewrap(next: MasterHolder): void {
    for (const row of listTenantRows(this.#db))
      updateTenantKeys(this.#db, rewrapTenantRow(row, { from: this.#master, next }))
  }

  /** Whether it has keys. */
  isLive(tenant_id: string): boolean {
    if (this.#open.has(tenant_id)) return true
    const row = findTenant(this.#db, tenant_id)
    return row !== undefined && !isDestroyed(row)
  }

  /** Whether its keys were destroyed. */
  isGone(tenant_id: string): boolean {
    return this.has(tenant_id) && !this.isLive(tenant_id)
  }

  /** Overwrites its row, and wipes what is in memory. */
  destroy(tenant_id: string): void {
    requireTenantId(tenant_id)
    this.#db.transact(() => upsertTenant(this.#db, destroyedRow(tenant_id)))
    const keys = this.#open.get(tenant_id)
    if (keys) wipeTenantKeys(keys)
    this.#open.delete(tenant_id)
  }

  #dropOldest(): void {
    for (const tenant_id of this.#open.keys()) {
      this.#open.delete(tenant_id)
      return
    }
  }
}
