// The erasure ledger: in keyring.db, and in its copy before anyone is told that it is.

import type {
  ErasureLedger,
  LedgerCompletion,
  LedgerEntry,
  LedgerSubjectKind,
  NewLedgerEntry,
} from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError, requireInteger } from './keyring-error.ts'
import {
  countCompletedEntries,
  findEntry,
  findEntryById,
  insertEntry,
  listAllEntries,
  listEntries,
  listRequestedEntries,
  updateCompleted,
} from './ledger.sql.ts'
import type { CopiedEntry, LedgerCopy } from './ledger-copy.ts'

const BACKFILL_PAGE = 500

export class FileLedger implements ErasureLedger {
  readonly #db: KeyringDb
  readonly #copy: LedgerCopy | undefined

  constructor(db: KeyringDb, copy: LedgerCopy | undefined) {
    this.#db = db
    this.#copy = copy
  }

  async request(entries: readonly NewLedgerEntry[]): Promise<LedgerEntry[]> {
    return this.#commit(() => {
      const fresh: LedgerEntry[] = []
      const rows = entries.map((entry) => {
        const { tenant_id, subject_kind, subject } = entry
        const known = findEntry(this.#db, tenant_id, subject_kind, subject)
        if (known) return known
        const row = insertEntry(this.#db, entry)
        fresh.push(row)
        return row
      })
      return { changed: fresh, result: rows }
    })
  }

  async complete(done: readonly LedgerCompletion[]): Promise<void> {
    this.#commit(() => {
      const changed = done.flatMap((completion) => this.#completeOne(completion))
      return { changed, result: undefined }
    })
  }

  async find(
    tenant_id: string,
    kind: LedgerSubjectKind,
    subject: string,
  ): Promise<LedgerEntry | null> {
    return findEntry(this.#db, tenant_id, kind, subject) ?? null
  }

  async listRequested(): Promise<LedgerEntry[]> {
    return listRequestedEntries(this.#db)
  }

  async list(tenant_id: string, options: { after: number; limit: number }): Promise<LedgerEntry[]> {
    requireInteger('after', options.after, 0)
    requireInteger('limit', options.limit, 1)
    return listEntries(this.#db, tenant_id, options)
  }

  async countCompleted(tenant_id: string): Promise<number> {
    return countCompletedEntries(this.#db, tenant_id)
  }

  /**
   * Both ways: entries only the copy has (this keyring was restored from an older backup) come
   * in, and entries the copy lacks (it is new, or was lost) go out. How many rows came in or
   * were completed.
   */
  mergeCopy(): number {
    if (!this.#copy) return 0
    const copied = new Map<string, 'requested' | 'completed'>()
    const touched = new Set<string>()
    this.#db.transact(() => {
      for (const entry of this.#copy?.read() ?? []) {
        const key = keyOf(entry)
        copied.set(key, entry.state)
        if (this.#mergeOne(entry)) touched.add(key)
      }
    })
    this.#backfill(copied)
    return touched.size
  }

  // The copy is written inside the transaction: if it cannot be, nothing is in the ledger; if the
  // commit fails, the lines are taken back. A crash between the two leaves a line without a row,
  // which the next start merges: the erasure was asked for, and is finished.
  #commit<T>(unit: () => { changed: readonly LedgerEntry[]; result: T }): T {
    let before: number | undefined
    try {
      return this.#db.transact(() => {
        const { changed, result } = unit()
        before = this.#copy?.append(changed)
        return result
      })
    } catch (error) {
      if (before !== undefined) this.#copy?.rewind(before)
      throw error
    }
  }

  #completeOne(completion: LedgerCompletion): LedgerEntry[] {
    const known = findEntryById(this.#db, completion.ledger_id)
    if (!known)
      throw new KeyringError('unknown_ledger_entry', `no ledger entry ${completion.ledger_id}`)
    if (known.state === 'completed') return []
    updateCompleted(this.#db, completion)
    const { certificate, completed_us } = completion
    return [{ ...known, state: 'completed', certificate, completed_us }]
  }

  #mergeOne(entry: CopiedEntry): boolean {
    const { tenant_id, subject_kind, subject, certificate, completed_us } = entry
    const known = findEntry(this.#db, tenant_id, subject_kind, subject)
    const row = known ?? insertEntry(this.#db, entry)
    const completes = entry.state === 'completed' && row.state === 'requested'
    if (completes && completed_us !== null)
      updateCompleted(this.#db, { ledger_id: row.ledger_id, certificate, completed_us })
    return !known || completes
  }

  #backfill(copied: ReadonlyMap<string, string>): void {
    let after = 0
    for (;;) {
      const page = listAllEntries(this.#db, { after, limit: BACKFILL_PAGE })
      const last = page.at(-1)
      if (!last) return
      this.#copy?.append(page.filter((entry) => copied.get(keyOf(entry)) !== entry.state))
      after = last.ledger_id
    }
  }
}

function keyOf({ tenant_id, subject_kind, subject }: CopiedEntry): string {
  return JSON.stringify([tenant_id, subject_kind, subject])
}
