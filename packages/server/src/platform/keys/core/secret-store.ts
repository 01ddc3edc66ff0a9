// The interface of a store of secrets: slots of a file in one engine, sealed rows in the other.

import type { SecretBlock, SecretKind } from '../keyring.ts'
import type { NumberedSecret } from '../secret-bytes.ts'
import type { MasterRotation } from '../wrap.ts'
import type { ReserveOptions } from './blocks.sql.ts'
import type { KeyringTx } from './database.ts'
import type { LedgerSecretRow, RenewalRow } from './tables.ts'

/** The owner of secrets: a tenant and a kind, or the keyring itself with one secret per day. */
export interface SecretOwner {
  readonly tenant_id: string
  readonly kind: SecretKind | 'day'
}

/** Operations on secrets in a transaction of `SecretStore.transact`. */
export interface SecretTx {
  /** Loads the secrets that are not destroyed. Bypasses any cache. */
  load(owner: SecretOwner, numbers: readonly number[]): Promise<NumberedSecret[]>
  /** Returns false if the number has or had a secret. For days only, which have no blocks. */
  insert(owner: SecretOwner, secret: NumberedSecret): Promise<boolean>
  /** Adds a secret that another keyring of this instance created; returns false if it exists. */
  install(tenant_id: string, secret: NumberedSecret): Promise<boolean>
  /**
   * Skips numbers without a secret. In a slot file the secret is overwritten at once, before the
   * commit: what must be durable first has to be committed in an earlier transaction.
   */
  destroy(owner: SecretOwner, numbers: readonly number[]): Promise<void>
  /** Days before `day` that have a key, ascending. */
  listDaysBefore(day: number): Promise<number[]>
  /** Creates the key that seals the secrets of a new tenant, on an engine that has such keys. */
  addTenant(tenant_id: string): Promise<void>
  /** Wraps the keys that seal secrets under the next master key. */
  rewrap(rotation: MasterRotation): Promise<void>
  /** Claimed renewals whose old secret still exists, in a keyring older than its ledger. */
  listUnfinishedRenewals(): Promise<RenewalRow[]>
}

export interface SecretStore {
  /** When it resolves, secrets that the unit destroyed are also gone from memory. */
  transact<T>(unit: (tx: KeyringTx, secrets: SecretTx) => Promise<T>): Promise<T>
  reserve(tenant_id: string, kind: SecretKind, options: ReserveOptions): Promise<SecretBlock>
  /** A secret is null if it is destroyed or never existed. */
  read(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>>
  /** Loads the secrets that are not destroyed. Bypasses any cache. */
  load(owner: SecretOwner, numbers: readonly number[]): Promise<NumberedSecret[]>
  destroy(owner: SecretOwner, numbers: readonly number[]): Promise<void>
  /** Destroys the tenant's keys, then every secret it has. */
  destroyTenant(tenant_id: string): Promise<void>
  /** Whether the tenant has a key, a secret or a block of numbers left. */
  hasRemains(tenant_id: string): Promise<boolean>
  /** Finishes the removal of destroyed tenants that a process left unfinished. */
  finishRemovals(): Promise<void>
  /** Tenants that the ledger names as destroyed but that are not fully removed. */
  listUndestroyed(): Promise<string[]>
  /** Secrets that the ledger destroys but that still exist. */
  listUndestroyedSecrets(): Promise<LedgerSecretRow[]>
  listUnfinishedRenewals(): Promise<RenewalRow[]>
}
