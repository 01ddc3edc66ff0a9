// Queries on each tenant's newest signed checkpoint.

import type { StoredCheckpoint, TenantCheckpoint } from '../keyring.ts'
import type { KeyringQueries, KeyringTx } from '../shared/database.ts'

export async function findCheckpoint(
  db: KeyringQueries,
  tenant_id: string,
): Promise<StoredCheckpoint | undefined> {
  return db.first(
    db.tables
      .selectFrom('checkpoints')
      .select(['generation', 'epoch_number', 'tree_size', 'root_hash', 'checkpoint'])
      .where('tenant_id', '=', tenant_id),
  )
}

export async function listCheckpoints(db: KeyringQueries): Promise<TenantCheckpoint[]> {
  return db.all(db.tables.selectFrom('checkpoints').selectAll().orderBy('tenant_id'))
}

export async function upsertCheckpoint(tx: KeyringTx, row: TenantCheckpoint): Promise<void> {
  const { tenant_id, generation, epoch_number, tree_size, root_hash, checkpoint } = row
  const values = { generation, epoch_number, tree_size, root_hash, checkpoint }
  await tx.run(
    tx.tables
      .insertInto('checkpoints')
      .values({ tenant_id, ...values })
      .onConflict((on) => on.column('tenant_id').doUpdateSet(values)),
  )
}
