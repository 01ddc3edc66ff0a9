// Catches up with the ledger and its copy when a keyring is opened, before it is used.

import type { KeyringTx } from '../core/database.ts'
import type { SecretStore, SecretTx } from '../core/secret-store.ts'
import type { LedgerEntry, LedgerPart } from '../keyring.ts'
import { syncCheckpoints } from './checkpoints.sql.ts'
import { findEntries, keyOf, listEntries, updateCompleted } from './ledger.sql.ts'
import { completionsOf, insertClaiming, type LedgerStorage } from './ledger.ts'
import type { CopiedEntry, LedgerCopy } from './ledger-copy.ts'
import type { LedgerOrder } from './ledger-order.sql.ts'
import { insertPart, loadPart } from './parts.sql.ts'
import { dropPlan, installRenewed } from './renewals.ts'

/**
 * Inserts what only the copy has, drops abandoned plans, destroys every secret and tenant that the
 * ledger names, and appends what the copy lacks. Returns the number of ledger rows inserted or
 * completed. If there is nothing to insert or destroy, as in most starts, it takes no lock.
 */
export async function recoverKeyring(storage: LedgerStorage): Promise<number> {
  const { db, order, secrets, copy } = storage
  await secrets.finishRemovals()
  const compared = copy && (await compareCopy(storage, copy))
  const merged = (await hasUnfinishedWork(storage, compared))
    ? await secrets.transact((tx, inTx) => merge(storage, compared, { tx, secrets: inTx }))
    : 0
  await destroyNamed(secrets)
  if (copy && compared) {
    await backfillCopy(storage, copy, compared)
    await syncCheckpoints({ db, order, copy }, copy)
  }
  return merged
}

async function hasUnfinishedWork(
  { db, order, secrets }: LedgerStorage,
  compared: CopyComparison | undefined,
): Promise<boolean> {
  if (compared && compared.incoming.size + compared.unclaimed.size > 0) return true
  if ((await order.listAbandonedPlans(db)).length > 0) return true
  return (await secrets.listUnfinishedRenewals()).length > 0
}

/**
 * Runs in one transaction, so that no process destroys the old secrets of records before their new
 * ones are installed: the commit publishes both the entries and the new secrets.
 */
async function merge(
  { order, copy }: LedgerStorage,
  compared: CopyComparison | undefined,
  { tx, secrets }: { tx: KeyringTx; secrets: SecretTx },
): Promise<number> {
  await order.lock(tx)
  const merged = copy && compared ? await mergeCopy(tx, { order, copy }, compared) : 0
  // First, while the old secrets exist: they show which new secrets an abandoned plan created.
  for (const parts_id of await order.listAbandonedPlans(tx)) await dropPlan(tx, secrets, parts_id)
  await installRenewed(secrets)
  return merged
}

// A stop between the ledger row and the destruction, or a restored keyring, leaves such secrets.
async function destroyNamed(secrets: SecretStore): Promise<void> {
  for (const tenant_id of await secrets.listUndestroyed()) await secrets.destroyTenant(tenant_id)
  const named = await secrets.listUndestroyedSecrets()
  const groups = Map.groupBy(named, ({ tenant_id, kind }) => JSON.stringify([tenant_id, kind]))
  for (const [first, ...rest] of groups.values()) {
    if (!first) continue
    const numbers = [first, ...rest].map(({ number }) => number)
    await secrets.destroy({ tenant_id: first.tenant_id, kind: first.kind }, numbers)
  }
}

const PAGE = 500
/** Lower than PAGE, because parts can be large. */
const PARTS = 16

/** The content of the copy, and what of it the ledger lacks. */
interface CopyComparison {
  readonly entries: ReadonlyMap<string, LedgerEntry['state']>
  readonly parts: ReadonlySet<string>
  /** Keys of entries that the ledger lacks, or has not completed. */
  readonly incoming: ReadonlySet<string>
  /** Plans that no entry of the ledger claims. */
  readonly unclaimed: ReadonlySet<string>
  /** The last entry at the time of the comparison. */
  readonly last_id: number
}

async function compareCopy(
  { db, order }: LedgerStorage,
  copy: LedgerCopy,
): Promise<CopyComparison> {
  // Must precede the read of the copy: a line is in the copy before its entry is in the ledger.
  const last_id = await order.lastNumber(db)
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

/** Pages of entries, each with the parts that precede its last entry. */
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
 * Inserts the entries that only the copy has, because this keyring was restored from an older
 * backup. Returns the number of rows inserted or completed.
 */
async function mergeCopy(
  tx: KeyringTx,
  { order, copy }: { order: LedgerOrder; copy: LedgerCopy },
  { incoming, unclaimed }: CopyComparison,
): Promise<number> {
  const touched = new Set<string>()
  for (const { page, parts } of pagesOf(copy)) {
    // The parts that an entry of the page may claim all precede it.
    for (const part of parts) if (unclaimed.has(part.parts_id)) await insertPart(tx, part, null)
    const missing = page.filter((line) => incoming.has(keyOf(line)))
    for (const key of await mergePage(tx, order, missing)) touched.add(key)
  }
  return touched.size
}

/** Returns the keys of the entries inserted or completed. */
async function mergePage(
  tx: KeyringTx,
  order: LedgerOrder,
  page: readonly CopiedEntry[],
): Promise<Set<string>> {
  if (page.length === 0) return new Set()
  const known = await findEntries(tx, page)
  const missing = new Map<string, CopiedEntry>()
  for (const line of page) {
    const key = keyOf(line)
    if (!known.has(key) && !missing.has(key)) missing.set(key, line)
  }
  for (const row of await insertClaiming(tx, order, [...missing.values()]))
    known.set(keyOf(row), row)
  // The same page may have the line that requests an entry and the line that completes it.
  const completed = new Map<string, Pick<LedgerEntry, 'ledger_id'> & CopiedEntry>()
  for (const line of page) {
    const key = keyOf(line)
    const row = known.get(key)
    if (line.state === 'completed' && row?.state === 'requested' && !completed.has(key))
      completed.set(key, { ...line, ledger_id: row.ledger_id })
  }
  await updateCompleted(tx, completionsOf([...completed.values()]))
  return new Set([...missing.keys(), ...completed.keys()])
}

/** Appends the entries that the copy lacks, because it is new or was lost. Locks once per page. */
async function backfillCopy(
  { db, order }: LedgerStorage,
  copy: LedgerCopy,
  compared: CopyComparison,
): Promise<void> {
  const written = new Set(compared.parts)
  for (let after = 0; ; ) {
    const page = await listEntries(db, { after, limit: PAGE })
    const last = page.at(-1)
    if (!last) return
    const missing = page.filter(
      (entry) =>
        entry.ledger_id <= compared.last_id && compared.entries.get(keyOf(entry)) !== entry.state,
    )
    if (missing.length > 0)
      await db.transact(async (tx) => {
        await order.lock(tx)
        for (const entry of missing) await backfillParts(tx, copy, { entry, written })
        copy.append(missing)
      })
    after = last.ledger_id
  }
}

// Parts go before the entry that claims them, in their original order.
async function backfillParts(
  tx: KeyringTx,
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
