// The keyring itself, the same on both engines: it delegates to the parts that keep each kind of key.

import type {
  BodyMac,
  CheckpointStore,
  ErasureLedger,
  Keyring,
  PublishedKey,
  SecretBlock,
  SecretKind,
  Signer,
  SigningPurpose,
  TenantKeys,
} from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { type MasterHolder, masterKeyObject } from '../wrap.ts'
import type { KeyringDb } from './database.ts'
import type { DayKeys } from './day-keys.ts'
import {
  lockInstance,
  requireInstance,
  rewrapInstance,
  updateInstanceKeys,
} from './instance.sql.ts'
import type { ReserveOptions } from './reserved-numbers.sql.ts'
import type { SecretStore } from './secret-store.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { TenantRing } from './tenant-ring.ts'
import { requireTenantId, rewrapTenantRow } from './tenant-rows.ts'
import { listTenantIds, listTenantRows, upsertTenants } from './tenants.sql.ts'

/** Tenants rewrapped by one statement. */
const PAGE = 1_000

export interface KeyringParts {
  readonly db: KeyringDb
  readonly master: MasterHolder
  readonly secrets: SecretStore
  readonly tenants: TenantRing
  readonly signing: SigningKeys
  readonly days: DayKeys
  readonly ledger: ErasureLedger
  readonly checkpoints: CheckpointStore
  readonly instance_id: string
  readonly merged_from_copy: number
}

export abstract class StoredKeyring implements Keyring {
  readonly instance_id: string
  readonly merged_from_copy: number
  readonly ledger: ErasureLedger
  readonly checkpoints: CheckpointStore
  readonly #parts: KeyringParts

  constructor(parts: KeyringParts) {
    this.instance_id = parts.instance_id
    this.merged_from_copy = parts.merged_from_copy
    this.ledger = parts.ledger
    this.checkpoints = parts.checkpoints
    this.#parts = parts
  }

  abstract backupTo(path: string): Promise<void>
  abstract close(): void

  async createTenant(tenant_id: string): Promise<void> {
    await this.#parts.tenants.create(tenant_id)
  }

  async hasTenant(tenant_id: string): Promise<boolean> {
    return this.#parts.tenants.has(tenant_id)
  }

  /** Also tells a process whose master key is outdated that it can do nothing. */
  async listTenants(): Promise<string[]> {
    await requireInstance(this.#parts.db, this.#parts.master)
    return listTenantIds(this.#parts.db, 'live')
  }

  async listDestroyedTenants(): Promise<string[]> {
    return listTenantIds(this.#parts.db, 'destroyed')
  }

  async destroyTenant(tenant_id: string): Promise<void> {
    requireTenantId(tenant_id)
    try {
      await this.#parts.secrets.destroyTenant(tenant_id)
    } finally {
      this.#parts.tenants.drop(tenant_id)
    }
  }

  async hasRemains(tenant_id: string): Promise<boolean> {
    return this.#parts.secrets.hasRemains(tenant_id)
  }

  async tenant(tenant_id: string): Promise<TenantKeys> {
    return this.#underMaster(() => this.#parts.tenants.load(tenant_id))
  }

  async reserve(
    tenant_id: string,
    kind: SecretKind,
    options: ReserveOptions,
  ): Promise<SecretBlock> {
    return this.#underMaster(() => this.#parts.secrets.reserve(tenant_id, kind, options))
  }

  async secrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>> {
    return this.#underMaster(() => this.#parts.secrets.read(tenant_id, kind, numbers))
  }

  async destroySecrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<void> {
    await this.#parts.secrets.destroy({ tenant_id, kind }, numbers)
  }

  signer(purpose: SigningPurpose): Signer {
    return this.#parts.signing.signer(purpose)
  }

  publishedKeys(): PublishedKey[] {
    return this.#parts.signing.published()
  }

  async rotateSigningKey(purpose: SigningPurpose, at: string): Promise<PublishedKey> {
    return this.#parts.signing.rotate(purpose, at)
  }

  async retireSigningKey(purpose: SigningPurpose, at: string): Promise<void> {
    await this.#parts.signing.retire(purpose, at)
  }

  /**
   * In one transaction: who makes or wraps a key meanwhile waits for it, and is then refused. Other
   * processes must be started again with the new key.
   */
  async rotateMasterKey(next_key: Buffer): Promise<void> {
    const { db, master, secrets, signing } = this.#parts
    const rotation = { from: master, next: { key: masterKeyObject(next_key) } }
    await secrets.transact(async (tx, secretTx) => {
      const instance = await lockInstance(tx, master)
      for (let after = ''; ; ) {
        const rows = await listTenantRows(tx, { after, limit: PAGE })
        const last = rows.at(-1)
        if (!last) break
        const rewrapped = rows.map((row) => rewrapTenantRow(row, rotation))
        await upsertTenants(tx, rewrapped)
        after = last.tenant_id
      }
      await secretTx.rewrap(rotation)
      await signing.rewrap(tx, rotation)
      await updateInstanceKeys(tx, rewrapInstance(instance, rotation))
    })
    master.key = rotation.next.key
    // SQLite's log keeps rows wrapped under the old key until it is emptied.
    await db.truncateLog()
  }

  async bodyMac(body: Uint8Array, day: number): Promise<BodyMac> {
    return this.#underMaster(() => this.#parts.days.mac(body, day))
  }

  async verifyBodyMac(body: Uint8Array, day: number, mac: string): Promise<boolean> {
    return this.#underMaster(() => this.#parts.days.verify(body, day, mac))
  }

  async dropDayKeys(before_day: number): Promise<number> {
    return this.#parts.days.drop(before_day)
  }

  /** What does not open may be wrapped under another master key by now: then that is the error. */
  async #underMaster<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof KeyringError && error.code === 'keyring_damaged')
        await requireInstance(this.#parts.db, this.#parts.master)
      throw error
    }
  }
}
