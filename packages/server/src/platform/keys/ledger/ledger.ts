// The erasure ledger: acknowledges a change once it is in the keyring and in its copy.

import type { KeyringDb, KeyringTx } from '../core/database.ts'
import type { SecretStore } from '../core/secret-store.ts'
import type {
  ErasureLedger,
  FencingToken,
  LedgerCompletion,
  LedgerEntry,
  LedgerPart,
  NewLedgerEntry,
} from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import {
  countByTenant,
  countCompletedEntries,
  findEntries,
  findEntriesById,
  insertEntries,
  keyOf,
  listEntries,
  listNewestEntries,
  listRequestedEntries,
  updateCompleted,
} from './ledger.sql.ts'
import type { CopiedChange, LedgerCopy } from './ledger-copy.ts'
import type { LedgerOrder } from './ledger-order.sql.ts'
import { claimParts, insertPart, isClaimed, loadPart } from './parts.sql.ts'
import { destroyOld, dropPlan } from './renewals.ts'

export interface LedgerStorage {
  readonly db: KeyringDb
  readonly order: LedgerOrder
  readonly secrets: SecretStore
  readonly copy: LedgerCopy | undefined
}

/**
 * Runs `unit` as the only change of the ledger, and appends the changes that it returns just before
 * the commit. If the append fails, nothing is committed. A crash between the two leaves lines
 * without rows: those changes were requested, and the next open merges them. So does a failed
 * commit of a shared keyring, whose lock another process may have by then; otherwise the lines are
 * removed.
 */
export async function commitCopied<T>(
  { db, order, copy }: Pick<LedgerStorage, 'db' | 'order' | 'copy'>,
  unit: (
    tx: KeyringTx,
  ) => Promise<{ readonly changed: readonly CopiedChange[]; readonly result: T }>,
): Promise<T> {
  let size_before: number | undefined
  try {
    return await db.transact(async (tx) => {
      await order.lock(tx)
      const { changed, result } = await unit(tx)
      size_before = copy?.size
      copy?.append(changed)
      return result
    })
  } catch (error) {
    if (size_before !== undefined && !db.shared) copy?.rewind(size_before)
    throw error
  }
}

export function storedLedger(storage: LedgerStorage): ErasureLedger {
  const { db, order } = storage
  return {
    issueFencingToken: async (tenant_id) => ({
      tenant_id,
      number: await order.nextToken(tenant_id),
    }),
    addPart: (part) => addPart(storage, part),
    loadPart: (parts_id, part) => loadPart(db, parts_id, part),
    dropParts: (parts_id) => dropParts(storage, parts_id),
    destroyRenewed: (parts_id) => destroyRenewed(storage, parts_id),
    request: (entries, token) => request(storage, entries, token),
    complete: (completions) => complete(storage, completions),
    find: async (tenant_id, subject_kind, subject) => {
      const found = await findEntries(db, [{ tenant_id, subject_kind, subject }])
      return [...found.values()][0] ?? null
    },
    listRequested: () => listRequestedEntries(db),
    list: async (tenant_id, options) => {
      requireInteger('after', options.after, 0)
      requireInteger('limit', options.limit, 1)
      return listEntries(db, { tenant_id, ...options })
    },
    listNewest: (tenant_id, kind, options) => listNewestEntries(db, tenant_id, kind, options),
    countCompleted: (tenant_id) => countCompletedEntries(db, tenant_id),
    countAll: () => countByTenant(db),
  }
}

/** Drops the plans of processes that have ended. */
export async function dropAbandonedPlans(storage: LedgerStorage): Promise<void> {
  for (const parts_id of await storage.order.listAbandonedPlans(storage.db))
    await dropParts(storage, parts_id)
}

async function addPart(storage: LedgerStorage, part: LedgerPart): Promise<void> {
  await commitCopied(storage, async (tx) => {
    const inserted = await insertPart(tx, part, storage.order.process_id)
    return { changed: inserted ? [part] : [], result: undefined }
  })
}

async function dropParts({ order, secrets }: LedgerStorage, parts_id: string): Promise<void> {
  await secrets.transact(async (tx, secretTx) => {
    // No entry can claim them between the check and the end of the transaction.
    await order.lock(tx)
    if (!(await isClaimed(tx, parts_id))) await dropPlan(tx, secretTx, parts_id)
  })
}

async function destroyRenewed({ secrets }: LedgerStorage, parts_id: string): Promise<void> {
  await secrets.transact(async (tx, secretTx) => {
    if (!(await isClaimed(tx, parts_id)))
      throw new KeyringError('ledger_parts_missing', 'the parts belong to no entry')
    await destroyOld(tx, secretTx, parts_id)
  })
}

async function request(
  storage: LedgerStorage,
  entries: readonly NewLedgerEntry[],
  token?: FencingToken,
): Promise<LedgerEntry[]> {
  const { order } = storage
  return commitCopied(storage, async (tx) => {
    if (token) requireLastToken(token, entries, await order.lastToken(tx, token.tenant_id))
    const rows = await findEntries(tx, entries)
    const missing = new Map<string, NewLedgerEntry>()
    for (const entry of entries) {
      const key = keyOf(entry)
      if (!rows.has(key) && !missing.has(key)) missing.set(key, entry)
    }
    const changed = await insertClaiming(tx, order, [...missing.values()])
    for (const entry of changed) rows.set(keyOf(entry), entry)
    return { changed, result: entries.flatMap((entry) => rows.get(keyOf(entry)) ?? []) }
  })
}

async function complete(
  storage: LedgerStorage,
  completions: readonly LedgerCompletion[],
): Promise<void> {
  await commitCopied(storage, async (tx) => {
    const ids = completions.map(({ ledger_id }) => ledger_id)
    const known = await findEntriesById(tx, ids)
    const changed = new Map<number, LedgerEntry>()
    for (const { ledger_id, certificate, completed_us } of completions) {
      const entry = known.get(ledger_id)
      if (!entry) throw new KeyringError('unknown_ledger_entry', `no ledger entry ${ledger_id}`)
      if (entry.state === 'requested' && !changed.has(ledger_id))
        changed.set(ledger_id, { ...entry, state: 'completed', certificate, completed_us })
    }
    await updateCompleted(tx, completionsOf([...changed.values()]))
    return { changed: [...changed.values()], result: undefined }
  })
}

/** Inserts entries that do not exist yet, and claims their parts. */
export async function insertClaiming(
  tx: KeyringTx,
  order: LedgerOrder,
  entries: readonly NewLedgerEntry[],
): Promise<LedgerEntry[]> {
  if (entries.length === 0) return []
  const first = await order.takeNumbers(tx, entries.length)
  const rows = await insertEntries(tx, entries, first)
  const plans = new Map(rows.flatMap(({ parts }) => (parts ? [[parts.parts_id, parts]] : [])))
  for (const parts of plans.values()) await claimParts(tx, parts)
  return rows
}

/** The completions of the completed ones among the entries. */
export function completionsOf(
  entries: readonly Pick<LedgerEntry, 'ledger_id' | 'certificate' | 'completed_us'>[],
): LedgerCompletion[] {
  return entries.flatMap(({ ledger_id, certificate, completed_us }) =>
    completed_us === null ? [] : { ledger_id, certificate, completed_us },
  )
}

/** Throws `stale_fencing_token` unless it is the tenant's last token. */
function requireLastToken(
  { tenant_id, number }: FencingToken,
  entries: readonly NewLedgerEntry[],
  last: number | undefined,
): void {
  if (entries.some((entry) => entry.tenant_id !== tenant_id))
    throw new KeyringError('bad_argument', 'a fencing token is for the entries of one tenant')
  if (number === last) return
  throw new KeyringError('stale_fencing_token', 'another process erases for this tenant')
}
