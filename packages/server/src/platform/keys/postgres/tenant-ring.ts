// Tenants' keys: made once by whichever process comes first, unwrapped once, kept in memory.

import type { TenantKeys } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { wipeTenantKeys } from '../tenant-keys.ts'
import { newTenantRow, openTenantRow, requireTenantId } from '../tenant-rows.ts'
import type { MasterHolder } from '../wrap.ts'
import { shareInstance } from './instance.sql.ts'
import type { KeyringPg } from './keyring-pg.ts'
import {
  findTenant,
  insertTenant,
  listDestroyedTenantIds,
  listLiveTenantIds,
} from './tenants.sql.ts'
import { insertWrapKey, newWrapKey } from './wrap-keys.sql.ts'

/** About 1.5 kB each; beyond it the one unwrapped longest ago is dropped. */
const TENANTS_IN_MEMORY_MAX = 10_000

export class TenantRing {
  readonly #db: KeyringPg
  readonly #master: MasterHolder
  readonly #open = new Map<string, TenantKeys>()
  /** Changes with each look for destroyed tenants. */
  #looks = 0

  constructor(db: KeyringPg, master: MasterHolder) {
    this.#db = db
    this.#master = master
  }

  async create(tenant_id: string): Promise<void> {
    requireTenantId(tenant_id)
    if (await this.has(tenant_id)) return
    await this.#db.transact(async (tx) => {
      await shareInstance(tx, this.#master)
      const made = await insertTenant(tx, newTenantRow(this.#master, tenant_id))
      if (made) await insertWrapKey(tx, newWrapKey(this.#master, tenant_id, 1))
    })
  }

  async has(tenant_id: string): Promise<boolean> {
    return this.#open.has(tenant_id) || (await findTenant(this.#db, tenant_id)) !== undefined
  }

  async list(): Promise<string[]> {
    return listLiveTenantIds(this.#db)
  }

  listDestroyed(): Promise<string[]> {
    return listDestroyedTenantIds(this.#db)
  }

  /** Wipes what is in memory of tenants whose keys were destroyed; which those are. */
  async follow(): Promise<string[]> {
    this.#looks += 1
    const gone = await this.listDestroyed()
    for (const tenant_id of gone) this.drop(tenant_id)
    return gone
  }

  drop(tenant_id: string): void {
    this.#looks += 1
    const keys = this.#open.get(tenant_id)
    if (keys) wipeTenantKeys(keys)
    this.#open.delete(tenant_id)
  }

  async load(tenant_id: string): Promise<TenantKeys> {
    const known = this.#open.get(tenant_id)
    if (known) return known
    const looks = this.#looks
    const row = await findTenant(this.#db, tenant_id)
    if (!row) throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
    const keys = openTenantRow(this.#master, row)
    // Read before a destruction and kept after it, they would stay.
    if (looks !== this.#looks) return keys
    if (this.#open.size >= TENANTS_IN_MEMORY_MAX) this.#dropOldest()
    this.#open.set(tenant_id, keys)
    return keys
  }

  #dropOldest(): void {
    for (const tenant_id of this.#open.keys()) {
      this.#open.delete(tenant_id)
      return
    }
  }
}
