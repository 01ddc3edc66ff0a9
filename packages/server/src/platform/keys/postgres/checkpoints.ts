// Checkpoints that no other process can have put another tree beside.

import { isSameTree, requireSuccessor } from '../checkpoints.sql.ts'
import type { CheckpointStore } from '../keyring.ts'
import type { LedgerCopy } from '../ledger-copy.ts'
import { findCheckpoint, listCheckpoints, upsertCheckpoint } from './checkpoints.sql.ts'
import type { KeyringPg } from './keyring-pg.ts'
import { commitCopied } from './ledger.ts'

export function checkpointStore(place: {
  db: KeyringPg
  copy: LedgerCopy | undefined
}): CheckpointStore {
  const { db } = place
  return {
    last: async (tenant_id) => (await findCheckpoint(db, tenant_id)) ?? null,
    listLast: () => listCheckpoints(db),
    save: (tenant_id, checkpoint) =>
      commitCopied(place, async (tx) => {
        const next = { tenant_id, ...checkpoint }
        const last = await findCheckpoint(tx, tenant_id)
        if (last) requireSuccessor(last, next)
        await upsertCheckpoint(tx, next)
        const repeats = last !== undefined && isSameTree(last, next)
        return { changed: repeats ? [] : [next], result: undefined }
      }),
  }
}
