// Making the ledger and the checkpoints level with their copy, both ways.
//
// The copy grows with all that was ever erased, and whoever holds the ledger holds up every
// erasure and checkpoint of all processes. So both are compared without holding anything, which
// is safe since neither loses a line or a row; only what differs is then brought over in turns.

import { isOlder, isSameTree } from '../checkpoints.sql.ts'
import type { LedgerEntry, LedgerPart, StoredCheckpoint, TenantCheckpoint } from '../keyring.ts'
import type { CopiedEntry, LedgerCopy } from '../ledger-copy.ts'
import { findCheckpoint, listCheckpoints, upsertCheckpoint } from './checkpoints.sql.ts'
import { lastNumber, lockCounter } from './instance.sql.ts'
import type { KeyringPg, PgQueries, PgTx } from './keyring-pg.ts'
import { findEntries, keyOf, listAllEntries, updateCompleted } from './ledger.sql.ts'
import { insertClaiming, loadPart } from './ledger.ts'
import { insertPart } from './parts.sql.ts'

const PAGE = 500
/** Parts can be large. */
const PARTS = 16

/** What the copy holds, and what of that the ledger has not. */
export interface Compared {
  readonly entries: ReadonlyMap<string, LedgerEntry['state']>
  readonly parts: ReadonlySet<string>
  /** Keys of entries that are to come in, or to be completed. */
  readonly incoming: ReadonlySet<string>
  /** Plans that no entry of the ledger claims. */
  readonly unclaimed: ReadonlySet<string>
  /** Entries up to this one are in the copy by now, or were never written to it. */
  readonly last_id: number
}

export async function compareLedger(db: PgQueries, copy: LedgerCopy): Promise<Compared> {
  // First: a line is in the copy before its entry is in the ledger.
  const last_id = await lastNumber(db, 'ledger')
  const entries = new Map<string, LedgerEntry['state']>()
  const [parts, incoming, unclaimed] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const compare = async (page: readonly CopiedEntry[]) => {
    const known = await findEntries(db, page)
    for (const line of page) {
      const key = keyOf(line)
      const row = known.get(key)
      entries.set(key, line.state)
      if (!row || (line.state === 'completed' && row.state === 'requested')) incoming.add(key)
      else if (row.parts) unclaimed.delete(row.parts.parts_id)
    }
  }
  for (const { page, parts: between } of pagesOf(copy)) {
    for (const part of between) {
      parts.add(partKey(part))
      unclaimed.add(part.parts_id)
    }
    await compare(page)
  }
  return { entries, parts, incoming, unclaimed, last_id }
}

/** Entries in pages, and the parts that stand before the last of them. */
function* pagesOf(copy: LedgerCopy): Generator<{ page: CopiedEntry[]; parts: LedgerPart[] }> {
  let [page, parts]: [CopiedEntry[], LedgerPart[]] = [[], []]
  for (const line of copy.read()) {
    if ('part' in line) parts.push(line)
    else page.push(line)
    if (page.length < PAGE && parts.length < PARTS) continue
    yield { page, parts }
    page = []
    parts = []
  }
  yield { page, parts }
}

/**
 * Entries only the copy has come in: this keyring was restored from an older backup. How many
 * rows came in or were completed. In the transaction that then destroys what they name.
 */
export async function mergeLedger(
  tx: PgTx,
  copy: LedgerCopy,
  { incoming, unclaimed }: Compared,
): Promise<number> {
  const touched = new Set<string>()
  for (const { page, parts } of pagesOf(copy)) {
    // All parts that an entry of the page may claim stand before it.
    for (const part of parts) if (unclaimed.has(part.parts_id)) await insertPart(tx, part, null)
    await mergePage(
      tx,
      page.filter((line) => incoming.has(keyOf(line))),
      touched,
    )
  }
  return touched.size
}

// A line that completes an entry may follow the one that requested it in the same page.
async function mergePage(
  tx: PgTx,
  page: readonly CopiedEntry[],
  touched: Set<string>,
): Promise<void> {
  if (page.length === 0) return
  const known = await findEntries(tx, page)
  const lacking = new Map<string, CopiedEntry>()
  for (const line of page) {
    const key = keyOf(line)
    if (!known.has(key) && !lacking.has(key)) lacking.set(key, line)
  }
  for (const row of await insertClaiming(tx, [...lacking.values()])) {
    known.set(keyOf(row), row)
    touched.add(keyOf(row))
  }
  const done = new Map<string, CopiedEntry>()
  for (const line of page) {
    const key = keyOf(line)
    const completes = line.state === 'completed' && known.get(key)?.state === 'requested'
    if (completes && !done.has(key)) done.set(key, line)
  }
  for (const key of done.keys()) touched.add(key)
  await updateCompleted(
    tx,
    [...done].flatMap(([key, { certificate, completed_us }]) => {
      const row = known.get(key)
      return row && completed_us !== null
        ? [{ ledger_id: row.ledger_id, certificate, completed_us }]
        : []
    }),
  )
}

/** Entries the copy lacks go out: it is new, or was lost. A page in each turn at the ledger. */
export async function backfillLedger(
  db: KeyringPg,
  copy: LedgerCopy,
  compared: Compared,
): Promise<void> {
  const written = new Set(compared.parts)
  for (let after = 0; ; ) {
    const page = await listAllEntries(db, { after, limit: PAGE })
    const last = page.at(-1)
    if (!last) return
    const lacking = page.filter(
      (entry) =>
        entry.ledger_id <= compared.last_id && compared.entries.get(keyOf(entry)) !== entry.state,
    )
    if (lacking.length > 0)
      await db.transact(async (tx) => {
        await lockCounter(tx, 'ledger')
        for (const entry of lacking) await backfillParts(tx, copy, { entry, written })
        copy.append(lacking)
      })
    after = last.ledger_id
  }
}

// Before the entry that claims them, as they were written.
async function backfillParts(
  tx: PgTx,
  copy: LedgerCopy,
  { entry: { parts }, written }: { entry: LedgerEntry; written: Set<string> },
): Promise<void> {
  if (!parts) return
  for (let part = 0; part < parts.count; part += 1) {
    const key = partKey({ parts_id: parts.parts_id, part })
    if (written.has(key)) continue
    copy.append([await loadPart(tx, parts.parts_id, part)])
    written.add(key)
  }
}

function partKey({ parts_id, part }: Pick<LedgerPart, 'parts_id' | 'part'>): string {
  return `${parts_id} ${part}`
}

/** The same for checkpoints, of which the newest of each tenant counts. */
export async function levelCheckpoints(db: KeyringPg, copy: LedgerCopy): Promise<void> {
  const rows = new Map((await listCheckpoints(db)).map((row) => [row.tenant_id, row]))
  const copied = new Map<string, TenantCheckpoint>()
  for (const line of copy.readCheckpoints()) {
    const known = copied.get(line.tenant_id)
    if (!known || !isOlder(line, known)) copied.set(line.tenant_id, line)
  }
  const incoming = [...copied.values()].filter((line) => counts(line, rows.get(line.tenant_id)))
  const lacking = [...rows.values()].filter((row) => {
    const line = copied.get(row.tenant_id)
    return !line || !(isSameTree(line, row) || counts(line, row))
  })
  if (incoming.length + lacking.length === 0) return
  await db.transact(async (tx) => {
    await lockCounter(tx, 'ledger')
    for (const line of incoming)
      if (counts(line, await findCheckpoint(tx, line.tenant_id))) await upsertCheckpoint(tx, line)
    copy.append(lacking)
  })
}

// Another root at one size comes in: the log that does not have it must not go on.
const counts = (line: TenantCheckpoint, last: StoredCheckpoint | undefined): boolean =>
  !last || !(isOlder(line, last) || isSameTree(line, last))
