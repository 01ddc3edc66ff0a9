// The erasure ledger: in keyring.db, and in its copy before anyone is told that it is.

import { commitCopied } from './copied-commit.ts'
import type {
  ErasureLedger,
  LedgerCompletion,
  LedgerCount,
  LedgerEntry,
  LedgerPart,
  LedgerSubjectKind,
  LedgerTurn,
  NewLedgerEntry,
} from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError, requireInteger } from './keyring-error.ts'
import {
  countByTenant,
  countCompletedEntries,
  findEntry,
  findEntryById,
  insertEntry,
  listAllEntries,
  listEntries,
  listNewestEntries,
  listRequestedEntries,
  updateCompleted,
} from './ledger.sql.ts'
import type { CopiedChange, CopiedEntry, LedgerCopy } from './ledger-copy.ts'
import { requireLast } from './ledger-turn.ts'
import { findPart, insertPart, isClaimed, listUnclaimed } from './parts.sql.ts'
import { destroyOld, dropPlan } from './renewals.ts'
import type { SecretStore } from './secret-store.ts'

const BACKFILL_PAGE = 500

export class FileLedger implements ErasureLedger {
  readonly #db: KeyringDb
  readonly #secrets: SecretStore
  readonly #copy: LedgerCopy | undefined
  // In memory: one process has the keyring, and its turns end with it.
  readonly #turns = new Map<string, number>()

  constructor(db: KeyringDb, secrets: SecretStore, copy: LedgerCopy | undefined) {
    this.#db = db
    this.#secrets = secrets
    this.#copy = copy
  }

  async addPart(part: LedgerPart): Promise<void> {
    this.#commit(() => ({ changed: insertPart(this.#db, part) ? [part] : [], result: undefined }))
  }

  async loadPart(parts_id: string, part: number): Promise<LedgerPart> {
    return this.#part(parts_id, part)
  }

  async dropParts(parts_id: string): Promise<void> {
    if (!isClaimed(this.#db, parts_id)) dropPlan(this.#db, this.#secrets, parts_id)
  }

  async destroyRenewed(parts_id: string): Promise<void> {
    if (!isClaimed(this.#db, parts_id))
      throw new KeyringError('ledger_parts_missing', 'the parts belong to no entry')
    destroyOld(this.#db, this.#secrets, parts_id)
  }

  async takeTurn(tenant_id: string): Promise<LedgerTurn> {
    const number = (this.#turns.get(tenant_id) ?? 0) + 1
    this.#turns.set(tenant_id, number)
    return { tenant_id, number }
  }

  async request(entries: readonly NewLedgerEntry[], turn?: LedgerTurn): Promise<LedgerEntry[]> {
    if (turn) requireLast(turn, entries, this.#turns.get(turn.tenant_id))
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

  /**
   * Both ways: entries only the copy has (this keyring was restored from an older backup) come
   * in, and entries the copy lacks (it is new, or was lost) go out. How many rows came in or
   * were completed.
   */
  mergeCopy(): number {
    if (!this.#copy) return 0
    const copied: Copied = { entries: new Map(), parts: new Set() }
    const touched = new Set<string>()
    this.#db.transact(() => {
      for (const line of this.#copy?.read() ?? []) {
        if ('part' in line) {
          insertPart(this.#db, line)
          copied.parts.add(partKey(line.parts_id, line.part))
          continue
        }
        const key = keyOf(line)
        copied.entries.set(key, line.state)
        if (this.#mergeOne(line)) touched.add(key)
      }
    })
    this.#backfill(copied)
    return touched.size
  }

  /** Plans that a stop has cut off before they were anything. */
  dropUnclaimed(): void {
    for (const parts_id of listUnclaimed(this.#db)) dropPlan(this.#db, this.#secrets, parts_id)
  }

  // A crash between copy and commit: the erasure was asked for, and the next start finishes it.
  #commit<T>(unit: () => { changed: readonly CopiedChange[]; result: T }): T {
    return commitCopied({ db: this.#db, copy: this.#copy }, unit)
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

  #part(parts_id: string, part: number): LedgerPart {
    const found = findPart(this.#db, parts_id, part)
    if (!found) throw new KeyringError('ledger_parts_missing', `part ${part} is missing`)
    return found
  }

  #backfill(copied: Copied): void {
    let after = 0
    for (;;) {
      const page = listAllEntries(this.#db, { after, limit: BACKFILL_PAGE })
      const last = page.at(-1)
      if (!last) return
      const lacking = page.filter((entry) => copied.entries.get(keyOf(entry)) !== entry.state)
      for (const entry of lacking) this.#backfillParts(entry, copied)
      this.#copy?.append(lacking)
      after = last.ledger_id
    }
  }

  // Before the entry that claims them, as they were written.
  #backfillParts({ parts }: LedgerEntry, copied: Copied): void {
    if (!parts) return
    for (let part = 0; part < parts.count; part += 1) {
      const key = partKey(parts.parts_id, part)
      if (copied.parts.has(key)) continue
      this.#copy?.append([this.#part(parts.parts_id, part)])
      copied.parts.add(key)
    }
  }
}

interface Copied {
  readonly entries: Map<string, LedgerEntry['state']>
  readonly parts: Set<string>
}

const partKey = (parts_id: string, part: number): string => `${parts_id} ${part}`

function keyOf({ tenant_id, subject_kind, subject }: CopiedEntry): string {
  return JSON.stringify([tenant_id, subject_kind, subject])
}
