// Each tenant's newest signed checkpoint, kept so that an older restored log is not accepted.

import { sql } from 'kysely'
import type { KeyringQueries, KeyringTx } from '../core/database.ts'
import type { CheckpointStore, StoredCheckpoint, TenantCheckpoint } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { commitCopied, type LedgerStorage } from './ledger.ts'
import type { LedgerCopy } from './ledger-copy.ts'

type Storage = Pick<LedgerStorage, 'db' | 'order' | 'copy'>

export function checkpointStore(storage: Storage): CheckpointStore {
  const { db } = storage
  return {
    last: async (tenant_id) => (await findCheckpoint(db, tenant_id)) ?? null,
    listLast: () => listCheckpoints(db),
    any: async (begin = '') => (await findAny(db, begin)) ?? null,
    save: (tenant_id, checkpoint) =>
      commitCopied(storage, async (tx) => {
        const next = { tenant_id, ...checkpoint }
        const last = await findCheckpoint(tx, tenant_id)
        if (last) requireSuccessor(last, next)
        await upsertCheckpoint(tx, next)
        const repeated = last !== undefined && isSameTree(last, next)
        return { changed: repeated ? [] : [next], result: undefined }
      }),
  }
}

/**
 * Brings the keyring and its copy to the same checkpoints. A newer one in the copy is saved in the
 * keyring, which was restored from an older backup or stopped before its commit. One that the copy
 * lacks is appended to it.
 */
export async function syncCheckpoints({ db, order }: Storage, copy: LedgerCopy): Promise<void> {
  const rows = new Map((await listCheckpoints(db)).map((row) => [row.tenant_id, row]))
  const copied = newestOf(copy.readCheckpoints())
  const incoming = [...copied.values()].filter((line) => counts(line, rows.get(line.tenant_id)))
  const outgoing = [...rows.values()].filter((row) => {
    const line = copied.get(row.tenant_id)
    return !line || !(isSameTree(line, row) || counts(line, row))
  })
  if (incoming.length + outgoing.length === 0) return
  await db.transact(async (tx) => {
    await order.lock(tx)
    for (const line of incoming)
      if (counts(line, await findCheckpoint(tx, line.tenant_id))) await upsertCheckpoint(tx, line)
    copy.append(outgoing)
  })
}

function newestOf(lines: Iterable<TenantCheckpoint>): Map<string, TenantCheckpoint> {
  const newest = new Map<string, TenantCheckpoint>()
  for (const line of lines) {
    const known = newest.get(line.tenant_id)
    if (!known || !isOlder(line, known)) newest.set(line.tenant_id, line)
  }
  return newest
}

// Another root at the same size counts too: a log without it must not continue.
const counts = (line: TenantCheckpoint, last: StoredCheckpoint | undefined): boolean =>
  !last || !(isOlder(line, last) || isSameTree(line, last))

function isOlder(one: StoredCheckpoint, other: StoredCheckpoint): boolean {
  if (one.generation !== other.generation) return one.generation < other.generation
  return one.tree_size < other.tree_size
}

function isSameTree(one: StoredCheckpoint, other: StoredCheckpoint): boolean {
  return (
    one.generation === other.generation &&
    one.tree_size === other.tree_size &&
    one.root_hash === other.root_hash
  )
}

// Two signed trees of one origin and size prove a forked log; this is the last place to prevent it.
function requireSuccessor(last: StoredCheckpoint, next: StoredCheckpoint): void {
  if (isOlder(last, next) || isSameTree(last, next)) return
  throw new KeyringError(
    'checkpoint_conflict',
    `generation ${next.generation} size ${next.tree_size} does not follow ` +
      `generation ${last.generation} size ${last.tree_size}`,
  )
}

async function findCheckpoint(
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

async function findAny(db: KeyringQueries, begin: string): Promise<TenantCheckpoint | undefined> {
  const text = sql<string>`substr(checkpoint, 1, ${begin.length})`
  return db.first(db.tables.selectFrom('checkpoints').selectAll().where(text, '=', begin).limit(1))
}

async function listCheckpoints(db: KeyringQueries): Promise<TenantCheckpoint[]> {
  return db.all(db.tables.selectFrom('checkpoints').selectAll().orderBy('tenant_id'))
}

async function upsertCheckpoint(tx: KeyringTx, row: TenantCheckpoint): Promise<void> {
  const { tenant_id, generation, epoch_number, tree_size, root_hash, checkpoint } = row
  const values = { generation, epoch_number, tree_size, root_hash, checkpoint }
  await tx.run(
    tx.tables
      .insertInto('checkpoints')
      .values({ tenant_id, ...values })
      .onConflict((on) => on.column('tenant_id').doUpdateSet(values)),
  )
}
