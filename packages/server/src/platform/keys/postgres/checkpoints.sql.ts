// Each tenant's newest signed checkpoint.

import type { StoredCheckpoint, TenantCheckpoint } from '../keyring.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

export async function findCheckpoint(
  db: PgQueries,
  tenant_id: string,
): Promise<StoredCheckpoint | undefined> {
  return db.get<StoredCheckpoint>(
    `SELECT generation, epoch_number, tree_size, root_hash, checkpoint FROM keyring.checkpoints
     WHERE tenant_id = $1`,
    tenant_id,
  )
}

export async function listCheckpoints(db: PgQueries): Promise<TenantCheckpoint[]> {
  return db.all<TenantCheckpoint>(
    `SELECT tenant_id, generation, epoch_number, tree_size, root_hash, checkpoint
     FROM keyring.checkpoints ORDER BY tenant_id`,
  )
}

export async function upsertCheckpoint(tx: PgTx, row: TenantCheckpoint): Promise<void> {
  await tx.run(
    `INSERT INTO keyring.checkpoints
       (tenant_id, generation, epoch_number, tree_size, root_hash, checkpoint)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (tenant_id) DO UPDATE SET generation = excluded.generation,
       epoch_number = excluded.epoch_number, tree_size = excluded.tree_size,
       root_hash = excluded.root_hash, checkpoint = excluded.checkpoint`,
    row.tenant_id,
    row.generation,
    row.epoch_number,
    row.tree_size,
    row.root_hash,
    row.checkpoint,
  )
}
