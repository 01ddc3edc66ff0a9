// Making the ledger and the checkpoints level with their copy, both ways.

import { isOlder, isSameTree } from '../checkpoints.sql.ts'
import type { LedgerEntry, LedgerPart, TenantCheckpoint } from '../keyring.ts'
import type { CopiedEntry, LedgerCopy } from '../ledger-copy.ts'
import { findCheckpoint, listCheckpoints, upsertCheckpoint } from './checkpoints.sql.ts'
import type { PgTx } from './keyring-pg.ts'
import { findEntries, keyOf, listAllEntries, updateCompleted } from './ledger.sql.ts'
import { insertClaiming, loadPart } from './ledger.ts'
import { insertPart } from './parts.sql.ts'

const PAGE = 500

interface Copied {
  readonly entries: Map<string, LedgerEntry['state']>
  readonly parts: Set<string>
  /** Keys of entries that came in or were completed. */
  readonly touched: Set<string>
}

/**
 * Entries only the copy has (this keyring was restored from an older backup) come in, and entries
 * the copy lacks (it is new, or was lost) go out. How many rows came in or were completed. In a
 * transaction that holds the ledger: another process may be writing a line this one would cut off.
 */
export async function mergeLedger(tx: PgTx, copy: LedgerCopy): Promise<number> {
  const copied: Copied = { entries: new Map(), parts: new Set(), touched: new Set() }
  let page: CopiedEntry[] = []
  for (const line of copy.read()) {
    if ('part' in line) {
      await insertPart(tx, line, null)
      copied.parts.add(partKey(line))
      continue
    }
    page.push(line)
    if (page.length < PAGE) continue
    await mergePage(tx, page, copied)
    page = []
  }
  await mergePage(tx, page, copied)
  await backfill(tx, copy, copied)
  return copied.touched.size
}

// A line that completes an entry may follow the one that requested it in the same page.
async function mergePage(tx: PgTx, page: readonly CopiedEntry[], copied: Copied): Promise<void> {
  const known = await findEntries(tx, page)
  const lacking = new Map<string, CopiedEntry>()
  for (const line of page) {
    const key = keyOf(line)
    copied.entries.set(key, line.state)
    if (!known.has(key) && !lacking.has(key)) lacking.set(key, line)
  }
  for (const row of await insertClaiming(tx, [...lacking.values()])) {
    known.set(keyOf(row), row)
    copied.touched.add(keyOf(row))
  }
  const done = new Map<string, CopiedEntry>()
  for (const line of page) {
    const key = keyOf(line)
    const completes = line.state === 'completed' && known.get(key)?.state === 'requested'
    if (completes && !done.has(key)) done.set(key, line)
  }
  for (const key of done.keys()) copied.touched.add(key)
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

async function backfill(tx: PgTx, copy: LedgerCopy, copied: Copied): Promise<void> {
  for (let after = 0; ; ) {
    const page = await listAllEntries(tx, { after, limit: PAGE })
    const last = page.at(-1)
    if (!last) return
    const lacking = page.filter((entry) => copied.entries.get(keyOf(entry)) !== entry.state)
    for (const entry of lacking) await backfillParts(tx, copy, { entry, copied })
    copy.append(lacking)
    after = last.ledger_id
  }
}

// Before the entry that claims them, as they were written.
async function backfillParts(
  tx: PgTx,
  copy: LedgerCopy,
  { entry: { parts }, copied }: { entry: LedgerEntry; copied: Copied },
): Promise<void> {
  if (!parts) return
  for (let part = 0; part < parts.count; part += 1) {
    const key = partKey({ parts_id: parts.parts_id, part })
    if (copied.parts.has(key)) continue
    copy.append([await loadPart(tx, parts.parts_id, part)])
    copied.parts.add(key)
  }
}

function partKey({ parts_id, part }: Pick<LedgerPart, 'parts_id' | 'part'>): string {
  return `${parts_id} ${part}`
}

/** The same for checkpoints, of which the newest of each tenant counts. */
export async function mergeCheckpoints(tx: PgTx, copy: LedgerCopy): Promise<void> {
  const copied = new Map<string, TenantCheckpoint>()
  for (const line of copy.readCheckpoints()) {
    const known = copied.get(line.tenant_id)
    if (!known || !isOlder(line, known)) copied.set(line.tenant_id, line)
  }
  for (const line of copied.values()) {
    const last = await findCheckpoint(tx, line.tenant_id)
    // Another root at one size comes in: the log that does not have it must not go on.
    if (!last || !(isOlder(line, last) || isSameTree(line, last))) await upsertCheckpoint(tx, line)
  }
  const lacking = (await listCheckpoints(tx)).filter((row) => {
    const known = copied.get(row.tenant_id)
    return !known || !isSameTree(known, row)
  })
  copy.append(lacking)
}
