// Each tenant's newest signed checkpoint, kept so that a restored log cannot pass as the log.

import { commitCopied } from './copied-commit.ts'
import type { CheckpointStore, StoredCheckpoint, TenantCheckpoint } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'
import type { LedgerCopy } from './ledger-copy.ts'

const COLUMNS = 'generation, epoch_number, tree_size, root_hash, checkpoint'

export function checkpointStore(db: KeyringDb, copy: LedgerCopy | undefined): CheckpointStore {
  return {
    last: async (tenant_id) => findCheckpoint(db, tenant_id) ?? null,
    listLast: async () => listCheckpoints(db),
    save: async (tenant_id, checkpoint) => {
      const next = { tenant_id, ...checkpoint }
      commitCopied({ db, copy }, () => {
        const last = findCheckpoint(db, tenant_id)
        if (last) requireSuccessor(last, next)
        upsertCheckpoint(db, next)
        const repeats = last !== undefined && isSameTree(last, next)
        return { changed: repeats ? [] : [next], result: undefined }
      })
    },
  }
}

/**
 * Both ways: a newer checkpoint of the copy comes in (this keyring was restored from an older
 * backup, or stopped before it had committed), one the copy lacks goes out.
 */
export function mergeCheckpoints(db: KeyringDb, copy: LedgerCopy): void {
  const copied = new Map<string, TenantCheckpoint>()
  for (const line of copy.readCheckpoints()) {
    const known = copied.get(line.tenant_id)
    if (!known || !isOlder(line, known)) copied.set(line.tenant_id, line)
  }
  db.transact(() => {
    for (const line of copied.values()) {
      const last = findCheckpoint(db, line.tenant_id)
      // Another root at one size comes in: the log that does not have it must not go on.
      if (!last || !(isOlder(line, last) || isSameTree(line, last))) upsertCheckpoint(db, line)
    }
  })
  const lacking = listCheckpoints(db).filter((row) => {
    const known = copied.get(row.tenant_id)
    return !known || !isSameTree(known, row)
  })
  copy.append(lacking)
}

export function isOlder(one: StoredCheckpoint, other: StoredCheckpoint): boolean {
  if (one.generation !== other.generation) return one.generation < other.generation
  return one.tree_size < other.tree_size
}

export function isSameTree(one: StoredCheckpoint, other: StoredCheckpoint): boolean {
  return (
    one.generation === other.generation &&
    one.tree_size === other.tree_size &&
    one.root_hash === other.root_hash
  )
}

// Two trees signed for one origin and size are proof of a forked log: the last place to stop it.
export function requireSuccessor(last: StoredCheckpoint, next: StoredCheckpoint): void {
  if (isOlder(last, next) || isSameTree(last, next)) return
  throw new KeyringError(
    'checkpoint_conflict',
    `generation ${next.generation} size ${next.tree_size} does not follow ` +
      `generation ${last.generation} size ${last.tree_size}`,
  )
}

function findCheckpoint(db: KeyringDb, tenant_id: string): StoredCheckpoint | undefined {
  return db.get(`SELECT ${COLUMNS} FROM checkpoints WHERE tenant_id = ?`, tenant_id)
}

function listCheckpoints(db: KeyringDb): TenantCheckpoint[] {
  return db.all(`SELECT tenant_id, ${COLUMNS} FROM checkpoints ORDER BY tenant_id`)
}

function upsertCheckpoint(db: KeyringDb, row: TenantCheckpoint): void {
  db.run(
    `INSERT INTO checkpoints (tenant_id, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
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
