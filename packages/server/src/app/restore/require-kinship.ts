// A data file and a keyring that do not belong together must not be joined.

import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { type Snapshots, SqliteSnapshots } from '../../platform/db/snapshots.ts'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import { checkStores } from '../fsck/check-stores.ts'
import { OfflineError } from '../offline-error.ts'

/** OfflineError when a tenant has no keys, or the description of a store does not open. */
export async function requireKinship(
  database: string,
  { dir, master_key }: { dir: string; master_key: Buffer },
): Promise<void> {
  const keyring = await openFileKeyring({ dir, master_key, now_us: () => 0, read_only: true })
  const db = new SqliteSnapshots(database)
  try {
    const tenants = await db.read(PLATFORM, listTenantIds)
    // What was off-boarded since the backup opens for nobody.
    const destroyed = new Set(await keyring.listDestroyedTenants())
    for (const tenant_id of tenants)
      if (!destroyed.has(tenant_id)) await requireTenant(db, keyring, tenant_id)
  } finally {
    await db.close()
    keyring.close()
  }
}

async function requireTenant(
  database: Snapshots,
  keyring: Keyring,
  tenant_id: string,
): Promise<void> {
  if (!(await keyring.hasTenant(tenant_id)))
    throw new OfflineError(`the keyring has no keys of tenant ${tenant_id}: not of this data`)
  await database.read(tenant_id, async (db) => {
    // A store whose secret is gone was deleted since the backup.
    for await (const { what } of checkStores({ keyring, db }))
      if (what === 'the seal does not open')
        throw new OfflineError(`data and keyring do not belong together (tenant ${tenant_id})`)
  })
}
