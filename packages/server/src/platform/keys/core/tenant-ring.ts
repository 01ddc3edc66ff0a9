// The keys of tenants: created once, unwrapped once, and kept in memory.

import { LruCache } from '../../lru-cache.ts'
import type { TenantKeys } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import type { MasterHolder } from '../wrap.ts'
import type { KeyringDb } from './database.ts'
import { shareInstance } from './instance.sql.ts'
import type { SecretStore } from './secret-store.ts'
import type { WipeableTenantKeys } from './tenant-keys.ts'
import { newTenantRow, openTenantRow, requireTenantId } from './tenant-rows.ts'
import { findTenant, insertTenant, listTenantIds } from './tenants.sql.ts'

/** About 1.5 kB each. */
const TENANTS_IN_MEMORY_MAX = 10_000

export class TenantRing {
  readonly #db: KeyringDb
  readonly #secrets: SecretStore
  readonly #master: MasterHolder
  readonly #open = new LruCache<string, WipeableTenantKeys>({ max: TENANTS_IN_MEMORY_MAX })
  /** Changes whenever tenants may have been destroyed; keys read before a change are not cached. */
  #generation = 0

  constructor({
    db,
    secrets,
    master,
  }: { readonly db: KeyringDb; readonly secrets: SecretStore; readonly master: MasterHolder }) {
    this.#db = db
    this.#secrets = secrets
    this.#master = master
  }

  async create(tenant_id: string): Promise<void> {
    requireTenantId(tenant_id)
    if (await this.has(tenant_id)) return
    await this.#secrets.transact(async (tx, secrets) => {
      await shareInstance(tx, this.#master)
      const created = await insertTenant(tx, newTenantRow(this.#master, tenant_id))
      if (created) await secrets.addTenant(tenant_id)
    })
  }

  async has(tenant_id: string): Promise<boolean> {
    return this.#open.has(tenant_id) || (await findTenant(this.#db, tenant_id)) !== undefined
  }

  async load(tenant_id: string): Promise<TenantKeys> {
    const known = this.#open.get(tenant_id)
    if (known) return known
    const generation = this.#generation
    const row = await findTenant(this.#db, tenant_id)
    if (!row) throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
    const keys = openTenantRow(this.#master, row)
    return generation === this.#generation ? this.#open.set(tenant_id, keys) : keys
  }

  /** Overwrites the tenant's keys in memory. */
  drop(tenant_id: string): void {
    this.#generation += 1
    this.#open.peek(tenant_id)?.wipe()
    this.#open.delete(tenant_id)
  }

  /** Removes from memory the tenants that any process has destroyed; returns their ids. */
  async dropDestroyed(): Promise<string[]> {
    this.#generation += 1
    const destroyed = await listTenantIds(this.#db, 'destroyed')
    for (const tenant_id of destroyed) this.drop(tenant_id)
    return destroyed
  }
}
