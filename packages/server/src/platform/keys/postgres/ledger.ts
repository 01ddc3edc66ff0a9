// The erasure ledger on PostgreSQL: one process at a time changes it and appends to its copy.

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
import type { CopiedChange, LedgerCopy } from '../ledger-copy.ts'
import { requireLast } from '../ledger-turn.ts'
import { lockCounter } from './instance.sql.ts'
import type { KeyringPg, PgQueries, PgTx } from './keyring-pg.ts'
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
  shareTurn,
  takeTurn,
  updateCompleted,
} from './ledger.sql.ts'
import { claimParts, findPart, insertPart, isClaimed, listAbandoned } from './parts.sql.ts'
import { destroyOld, dropPlan } from './renewals.ts'
import type { SecretStore } from './secret-store.ts'

/** What a change of the ledger comes to, and the lines it is in the copy. */
export interface Changed<T> {
  readonly changed: readonly CopiedChange[]
  readonly result: T
}

/**
 * Runs `unit` as the only one to change the ledger, and appends what it says has `changed` just
 * before the commit: nobody else can write to the copy meanwhile. If the append fails nothing is
 * in the ledger. If the commit fails the lines stay, for the lock may be another's by now: they
 * say what was asked for, and the next open merges them.
 */
export async function commitCopied<T>(
  { db, copy }: { db: KeyringPg; copy: LedgerCopy | undefined },
  unit: (tx: PgTx) => Promise<Changed<T>>,
): Promise<T> {
  return db.transact(async (tx) => {
    await lockCounter(tx, 'ledger')
    const { changed, result } = await unit(tx)
    copy?.append(changed)
    return result
  })
}

export interface LedgerPlace {
  readonly db: KeyringPg
  readonly secrets: SecretStore
  readonly copy: LedgerCopy | undefined
  /** Of this opening of the keyring: whose unclaimed parts are nobody else's to drop. */
  readonly process_id: string
}

export class PostgresLedger implements ErasureLedger {
  readonly #place: LedgerPlace
  readonly #db: KeyringPg

  constructor(place: LedgerPlace) {
    this.#place = place
    this.#db = place.db
  }

  async addPart(part: LedgerPart): Promise<void> {
    await commitCopied(this.#place, async (tx) => {
      const fresh = await insertPart(tx, part, this.#place.process_id)
      return { changed: fresh ? [part] : [], result: undefined }
    })
  }

  async loadPart(parts_id: string, part: number): Promise<LedgerPart> {
    return loadPart(this.#db, parts_id, part)
  }

  async dropParts(parts_id: string): Promise<void> {
    const { secrets } = this.#place
    await secrets.destroying(async (tx, destroy) => {
      // Nobody claims them between the look and the end.
      await lockCounter(tx, 'ledger')
      if (!(await isClaimed(tx, parts_id))) await dropPlan(tx, { secrets, destroy }, parts_id)
    })
  }

  async destroyRenewed(parts_id: string): Promise<void> {
    await this.#place.secrets.destroying(async (tx, destroy) => {
      if (!(await isClaimed(tx, parts_id)))
        throw new KeyringError('ledger_parts_missing', 'the parts belong to no entry')
      await destroyOld(tx, destroy, parts_id)
    })
  }

  async takeTurn(tenant_id: string): Promise<LedgerTurn> {
    const number = await this.#db.transact((tx) => takeTurn(tx, tenant_id))
    return { tenant_id, number }
  }

  async request(entries: readonly NewLedgerEntry[], turn?: LedgerTurn): Promise<LedgerEntry[]> {
    return commitCopied(this.#place, async (tx) => {
      if (turn) requireLast(turn, entries, await shareTurn(tx, turn.tenant_id))
      const rows = await findEntries(tx, entries)
      const lacking = new Map<string, NewLedgerEntry>()
      for (const entry of entries) {
        const key = keyOf(entry)
        if (!rows.has(key) && !lacking.has(key)) lacking.set(key, entry)
      }
      const changed = await insertClaiming(tx, [...lacking.values()])
      for (const entry of changed) rows.set(keyOf(entry), entry)
      return { changed, result: entries.flatMap((entry) => rows.get(keyOf(entry)) ?? []) }
    })
  }

  async complete(done: readonly LedgerCompletion[]): Promise<void> {
    await commitCopied(this.#place, async (tx) => {
      const known = await findEntriesById(
        tx,
        done.map(({ ledger_id }) => ledger_id),
      )
      const fresh = new Map<number, LedgerCompletion>()
      for (const completion of done) {
        const { ledger_id } = completion
        const entry = known.get(ledger_id)
        if (!entry) throw new KeyringError('unknown_ledger_entry', `no ledger entry ${ledger_id}`)
        if (entry.state === 'requested' && !fresh.has(ledger_id)) fresh.set(ledger_id, completion)
      }
      await updateCompleted(tx, [...fresh.values()])
      const changed = [...fresh.values()].flatMap(({ ledger_id, certificate, completed_us }) => {
        const entry = known.get(ledger_id)
        return entry ? [{ ...entry, state: 'completed' as const, certificate, completed_us }] : []
      })
      return { changed, result: undefined }
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
    return listEntries(this.#db, tenant_id, options)
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

  /** Plans of processes that are gone. */
  async dropAbandoned(): Promise<void> {
    for (const parts_id of await listAbandoned(this.#db)) await this.dropParts(parts_id)
  }
}

export async function loadPart(db: PgQueries, parts_id: string, part: number): Promise<LedgerPart> {
  const found = await findPart(db, parts_id, part)
  if (!found) throw new KeyringError('ledger_parts_missing', `part ${part} is missing`)
  return found
}

/** Entries that are not there yet, and their parts claimed. */
export async function insertClaiming(
  tx: PgTx,
  entries: readonly NewLedgerEntry[],
): Promise<LedgerEntry[]> {
  const rows = await insertEntries(tx, entries)
  const plans = new Map(rows.flatMap(({ parts }) => (parts ? [[parts.parts_id, parts]] : [])))
  for (const parts of plans.values()) await claimParts(tx, parts)
  return rows
}
