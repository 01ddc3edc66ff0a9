// The erasure ledger: a change is in the keyring and in its copy before anyone is told of it.

import type {
  ErasureLedger,
  LedgerCompletion,
  LedgerCount,
  LedgerEntry,
  LedgerPart,
  LedgerSubjectKind,
  LedgerTurn,
  NewLedgerEntry,
} from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import type { KeyringDb, KeyringQueries, KeyringTx } from '../shared/database.ts'
import type { SecretStore } from '../shared/secret-store.ts'
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
import { claimParts, insertPart, isClaimed, loadPart } from './parts.sql.ts'
import { destroyOld, dropPlan } from './renewals.ts'

/** What each engine keeps in its own way: the order of changes and who makes them. */
export interface LedgerOrder {
  /** From here to the end of the transaction no other process changes the ledger. */
  lock(tx: KeyringTx): Promise<void>
  /** The number of the last entry; 0 when there is none. */
  lastNumber(db: KeyringQueries): Promise<number>
  /** The first of `count` numbers of entries that are now this transaction's. */
  takeNumbers(tx: KeyringTx, count: number): Promise<number>
  /** Waits for requests that are under way with the token before it. */
  nextToken(tenant_id: string): Promise<number>
  /** The tenant's last token, which stays the last until the transaction ends. */
  lastToken(tx: KeyringTx, tenant_id: string): Promise<number | undefined>
  /** Stored with each part; null where one process has the keyring. */
  readonly process_id: string | null
  /** Plans that no entry claims and no process will claim. */
  listAbandonedPlans(db: KeyringQueries): Promise<string[]>
}

export interface LedgerStorage {
  readonly db: KeyringDb
  readonly order: LedgerOrder
  readonly secrets: SecretStore
  readonly copy: LedgerCopy | undefined
}

/** The result of a change of the ledger, and the lines it adds to the copy. */
interface LedgerChange<T> {
  readonly changed: readonly CopiedChange[]
  readonly result: T
}

/**
 * Runs `unit` as the only change of the ledger, and appends what it says has `changed` just before
 * the commit; if that fails, nothing is in the keyring. A crash between the two leaves lines
 * without rows: the change was requested, and the next open merges them. So does a failed commit
 * of a shared keyring, whose lock may be another's by then; otherwise the lines are taken back.
 */
export async function commitCopied<T>(
  { db, order, copy }: Pick<LedgerStorage, 'db' | 'order' | 'copy'>,
  unit: (tx: KeyringTx) => Promise<LedgerChange<T>>,
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

export class StoredLedger implements ErasureLedger {
  readonly #storage: LedgerStorage
  readonly #db: KeyringDb
  readonly #order: LedgerOrder

  constructor(storage: LedgerStorage) {
    this.#storage = storage
    this.#db = storage.db
    this.#order = storage.order
  }

  async addPart(part: LedgerPart): Promise<void> {
    await commitCopied(this.#storage, async (tx) => {
      const inserted = await insertPart(tx, part, this.#order.process_id)
      return { changed: inserted ? [part] : [], result: undefined }
    })
  }

  async loadPart(parts_id: string, part: number): Promise<LedgerPart> {
    return loadPart(this.#db, parts_id, part)
  }

  async dropParts(parts_id: string): Promise<void> {
    await this.#storage.secrets.transact(async (tx, secrets) => {
      // No entry claims them between the check and the end.
      await this.#order.lock(tx)
      if (!(await isClaimed(tx, parts_id))) await dropPlan(tx, secrets, parts_id)
    })
  }

  async destroyRenewed(parts_id: string): Promise<void> {
    await this.#storage.secrets.transact(async (tx, secrets) => {
      if (!(await isClaimed(tx, parts_id)))
        throw new KeyringError('ledger_parts_missing', 'the parts belong to no entry')
      await destroyOld(tx, secrets, parts_id)
    })
  }

  async takeTurn(tenant_id: string): Promise<LedgerTurn> {
    return { tenant_id, number: await this.#order.nextToken(tenant_id) }
  }

  async request(entries: readonly NewLedgerEntry[], turn?: LedgerTurn): Promise<LedgerEntry[]> {
    return commitCopied(this.#storage, async (tx) => {
      if (turn) requireLast(turn, entries, await this.#order.lastToken(tx, turn.tenant_id))
      const rows = await findEntries(tx, entries)
      const missing = new Map<string, NewLedgerEntry>()
      for (const entry of entries) {
        const key = keyOf(entry)
        if (!rows.has(key) && !missing.has(key)) missing.set(key, entry)
      }
      const changed = await insertClaiming(tx, this.#order, [...missing.values()])
      for (const entry of changed) rows.set(keyOf(entry), entry)
      return { changed, result: entries.flatMap((entry) => rows.get(keyOf(entry)) ?? []) }
    })
  }

  async complete(completions: readonly LedgerCompletion[]): Promise<void> {
    await commitCopied(this.#storage, async (tx) => {
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

  async find(
    tenant_id: string,
    subject_kind: LedgerSubjectKind,
    subject: string,
  ): Promise<LedgerEntry | null> {
    const found = await findEntries(this.#db, [{ tenant_id, subject_kind, subject }])
    return [...found.values()][0] ?? null
  }

  async listRequested(): Promise<LedgerEntry[]> {
    return listRequestedEntries(this.#db)
  }

  async list(tenant_id: string, options: { after: number; limit: number }): Promise<LedgerEntry[]> {
    requireInteger('after', options.after, 0)
    requireInteger('limit', options.limit, 1)
    return listEntries(this.#db, { tenant_id, ...options })
  }

  async listNewest(
    tenant_id: string,
    kind: LedgerSubjectKind,
    options: { before: number; limit: number },
  ): Promise<LedgerEntry[]> {
    return listNewestEntries(this.#db, tenant_id, kind, options)
  }

  async countCompleted(tenant_id: string): Promise<number> {
    return countCompletedEntries(this.#db, tenant_id)
  }

  async countAll(): Promise<LedgerCount[]> {
    return countByTenant(this.#db)
  }

  /** Drops the plans of processes that are gone. */
  async dropAbandoned(): Promise<void> {
    for (const parts_id of await this.#order.listAbandonedPlans(this.#db))
      await this.dropParts(parts_id)
  }
}

/** Inserts entries that are not there yet, and claims their parts. */
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

/** The completions of those entries that are completed. */
export function completionsOf(
  entries: readonly Pick<LedgerEntry, 'ledger_id' | 'certificate' | 'completed_us'>[],
): LedgerCompletion[] {
  return entries.flatMap(({ ledger_id, certificate, completed_us }) =>
    completed_us === null ? [] : { ledger_id, certificate, completed_us },
  )
}

/** `turn_over` unless it is the tenant's last one. */
function requireLast(
  { tenant_id, number }: LedgerTurn,
  entries: readonly NewLedgerEntry[],
  last: number | undefined,
): void {
  if (entries.some((entry) => entry.tenant_id !== tenant_id))
    throw new KeyringError('bad_argument', 'a turn is for the entries of one tenant')
  if (number === last) return
  throw new KeyringError('turn_over', 'another has the turn at the erasures of this tenant')
}
