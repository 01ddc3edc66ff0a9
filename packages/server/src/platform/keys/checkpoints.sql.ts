// Each tenant's newest signed checkpoint, kept so that a restored log cannot pass as the log.

import type { CheckpointStore, StoredCheckpoint } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'

const COLUMNS = 'generation, epoch_number, tree_size, root_hash, checkpoint'

export function checkpointStore(db: KeyringDb): CheckpointStore {
  return {
    last: async (tenant_id) => findCheckpoint(db, tenant_id) ?? null,
    save: async (tenant_id, checkpoint) => {
      db.transact(() => {
        const last = findCheckpoint(db, tenant_id)
        if (last) requireSuccessor(last, checkpoint)
        upsertCheckpoint(db, tenant_id, checkpoint)
      })
    },
    list: async () => db.all(`SELECT tenant_id, ${COLUMNS} FROM checkpoints ORDER BY tenant_id`),
  }
}

function findCheckpoint(db: KeyringDb, tenant_id: string): StoredCheckpoint | undefined {
  return db.get(`SELECT ${COLUMNS} FROM checkpoints WHERE tenant_id = ?`, tenant_id)
}

// Two trees signed for one origin and size are proof of a forked log: the last place to stop it.
function requireSuccessor(last: StoredCheckpoint, next: StoredCheckpoint): void {
  if (next.generation > last.generation) return
  const grows = next.generation === last.generation && next.tree_size > last.tree_size
  const repeats =
    next.generation === last.generation &&
    next.tree_size === last.tree_size &&
    next.root_hash === last.root_hash
  if (grows || repeats) return
  throw new KeyringError(
    'checkpoint_conflict',
    `generation ${next.generation} size ${next.tree_size} does not follow ` +
      `generation ${last.generation} size ${last.tree_size}`,
  )
}

function upsertCheckpoint(db: KeyringDb, tenant_id: string, row: StoredCheckpoint): void {
  db.run(
    `INSERT INTO checkpoints (tenant_id, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant_id) DO UPDATE SET generation = excluded.generation,
       epoch_number = excluded.epoch_number, tree_size = excluded.tree_size,
       root_hash = excluded.root_hash, checkpoint = excluded.checkpoint`,
    tenant_id,
    row.generation,
    row.epoch_number,
    row.tree_size,
    row.root_hash,
    row.checkpoint,
  )
}
