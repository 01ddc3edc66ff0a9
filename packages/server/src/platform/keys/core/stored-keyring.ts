// The keyring methods that both engines share; they delegate to the parts of the keyring.

import type { CheckpointStore, ErasureLedger, Keyring } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { type MasterHolder, masterKeyObject } from '../wrap.ts'
import { isReserved } from './blocks.sql.ts'
import type { KeyringDb } from './database.ts'
import type { DayKeys } from './day-keys.ts'
import {
  lockInstance,
  requireInstance,
  rewrapInstance,
  updateInstanceKeys,
} from './instance.sql.ts'
import type { SecretStore } from './secret-store.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { TenantRing } from './tenant-ring.ts'
import { requireTenantId, rewrapTenantRow } from './tenant-rows.ts'
import { listTenantIds, listTenantRows, upsertTenants } from './tenants.sql.ts'

/** Tenants that one statement rewraps. */
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

/** All but what each engine does in its own way. */
export function storedKeyring(
  parts: KeyringParts,
): Omit<Keyring, 'backupTo' | 'close' | 'rewriteSecrets'> {
  const { db, master, secrets, tenants, signing, days } = parts

  /** If a key does not open, checks whether the master key was rotated, and if so reports that. */
  async function underMaster<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (error instanceof KeyringError && error.code === 'keyring_damaged')
        await requireInstance(db, master)
      throw error
    }
  }

  return {
    instance_id: parts.instance_id,
    merged_from_copy: parts.merged_from_copy,
    ledger: parts.ledger,
    checkpoints: parts.checkpoints,

    createTenant: (tenant_id) => tenants.create(tenant_id),
    hasTenant: (tenant_id) => tenants.has(tenant_id),
    listTenants: async () => {
      // Fails in a process whose master key is outdated, which can do nothing.
      await requireInstance(db, master)
      return listTenantIds(db, 'live')
    },
    listDestroyedTenants: () => listTenantIds(db, 'destroyed'),
    tenant: (tenant_id) => underMaster(tenants.load(tenant_id)),
    destroyTenant: (tenant_id) => destroyTenant(parts, tenant_id),
    hasRemains: (tenant_id) => secrets.hasRemains(tenant_id),

    isReserved: (tenant_id, kind, number) => isReserved(db, { tenant_id, kind }, number),
    reserve: (tenant_id, kind, options) => underMaster(secrets.reserve(tenant_id, kind, options)),
    secrets: (tenant_id, kind, numbers) => underMaster(secrets.read(tenant_id, kind, numbers)),
    destroySecrets: (tenant_id, kind, numbers) => secrets.destroy({ tenant_id, kind }, numbers),

    signer: (purpose) => signing.signer(purpose),
    publishedKeys: () => signing.published(),
    rotateSigningKey: (purpose, at) => signing.rotate(purpose, at),
    retireSigningKey: (purpose, at) => signing.retire(purpose, at),
    rotateMasterKey: (next) => rotateMasterKey(parts, next),

    bodyMac: (body, day) => underMaster(days.mac(body, day)),
    verifyBodyMac: (body, day, mac) => underMaster(days.verify(body, day, mac)),
    dropDayKeys: (before_day) => days.drop(before_day),
  }
}

async function destroyTenant({ secrets, tenants }: KeyringParts, tenant_id: string): Promise<void> {
  requireTenantId(tenant_id)
  try {
    await secrets.destroyTenant(tenant_id)
  } finally {
    tenants.drop(tenant_id)
  }
}

/**
 * Rotates in one transaction: a process that creates or wraps a key meanwhile waits for it and is
 * then refused. Other processes must be restarted with the new key.
 */
async function rotateMasterKey(
  { db, master, secrets, signing }: KeyringParts,
  next_key: Buffer,
): Promise<void> {
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
  // SQLite's log keeps rows wrapped under the old key until it is truncated.
  await db.truncateLog()
}
