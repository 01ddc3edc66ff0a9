// The interface of a store of secrets, for both engines: slots of a file, or sealed rows.

import type { SecretBlock, SecretKind } from '../keyring.ts'
import type { NumberedSecret } from '../secret-bytes.ts'
import type { MasterRotation } from '../wrap.ts'
import type { ReserveOptions } from './blocks.sql.ts'
import type { KeyringTx } from './database.ts'
import type { LedgerSecretRow, RenewalRow } from './tables.ts'

/** The owner of secrets: a tenant with a kind, or the keyring itself with one secret a day. */
export interface SecretOwner {
  readonly tenant_id: string
  readonly kind: SecretKind | 'day'
}

/** Secrets within a transaction of `SecretStore.transact`. */
export interface SecretTx {
  /** Those that are not destroyed, read past any cache. */
  load(owner: SecretOwner, numbers: readonly number[]): Promise<NumberedSecret[]>
  /** false: the number has, or had, a secret. For days, whose numbers are not in blocks. */
  insert(owner: SecretOwner, secret: NumberedSecret): Promise<boolean>
  /** Adds a number that another keyring of this instance made; false: it is here already. */
  install(tenant_id: string, secret: NumberedSecret): Promise<boolean>
  /**
   * Numbers without a secret are skipped. In a file the secret is overwritten at once, before the
   * commit: what must be durable before that is committed in a transaction of its own.
   */
  destroy(owner: SecretOwner, numbers: readonly number[]): Promise<void>
  /** Days before `day` that have a key, ascending. */
  listDaysBefore(day: number): Promise<number[]>
  /** Makes the key that the secrets of a new tenant are stored under, where there is one. */
  addTenant(tenant_id: string): Promise<void>
  /** Wraps the keys that secrets are stored under again. */
  rewrap(rotation: MasterRotation): Promise<void>
  /** Claimed renewals whose old secret is there, in a keyring older than its ledger. */
  listUnfinishedRenewals(): Promise<RenewalRow[]>
}

export interface SecretStore {
  /** What the unit destroys is also gone from memory when this resolves. */
  transact<T>(unit: (tx: KeyringTx, secrets: SecretTx) => Promise<T>): Promise<T>
  reserve(tenant_id: string, kind: SecretKind, options: ReserveOptions): Promise<SecretBlock>
  /** null: destroyed, or never made. */
  read(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>>
  /** Those that are not destroyed, read past any cache. */
  load(owner: SecretOwner, numbers: readonly number[]): Promise<NumberedSecret[]>
  destroy(owner: SecretOwner, numbers: readonly number[]): Promise<void>
  /** Destroys the tenant's keys, then every secret it has. */
  destroyTenant(tenant_id: string): Promise<void>
  /** Whether a key, a secret or a block of numbers of the tenant is there. */
  hasRemains(tenant_id: string): Promise<boolean>
  /** Removes what a stop has left of destroyed tenants. */
  finishRemovals(): Promise<void>
  /** Tenants that the ledger names as destroyed and that are not, or not quite. */
  listUndestroyed(): Promise<string[]>
  /** Secrets that the ledger destroys and that are there. */
  listUndestroyedSecrets(): Promise<LedgerSecretRow[]>
  listUnfinishedRenewals(): Promise<RenewalRow[]>
}
