// Queries on the erasure ledger.

import { type Selectable, sql } from 'kysely'
import { chunksOf, type KeyringQueries, type KeyringTx } from '../core/database.ts'
import type { KeyringTables, LedgerSecretRow } from '../core/tables.ts'
import type {
  LedgerCompletion,
  LedgerCount,
  LedgerEntry,
  LedgerSubjectKind,
  NewLedgerEntry,
  SecretRef,
} from '../keyring.ts'

/** Rows per statement. */
const CHUNK = 500
const DECIMAL = /^(0|[1-9]\d{0,15})$/

/** What identifies an entry. */
type LedgerSubject = Pick<NewLedgerEntry, 'tenant_id' | 'subject_kind' | 'subject'>

export function keyOf({ tenant_id, subject_kind, subject }: LedgerSubject): string {
  return JSON.stringify([tenant_id, subject_kind, subject])
}

type LedgerRow = Selectable<KeyringTables['ledger']>

const selectEntries = (db: KeyringQueries) => db.tables.selectFrom('ledger').selectAll()

async function entriesOf(rows: Promise<LedgerRow[]>): Promise<LedgerEntry[]> {
  return (await rows).map(entryOf)
}

/** The entries that exist, by `keyOf`. */
export async function findEntries(
  db: KeyringQueries,
  subjects: readonly LedgerSubject[],
): Promise<Map<string, LedgerEntry>> {
  const found = new Map<string, LedgerEntry>()
  for (const chunk of chunksOf(subjects, CHUNK)) {
    const query = selectEntries(db).where((eb) =>
      eb.or(
        groupsOf(chunk).map(({ subjects, ...same }) =>
          eb.and([eb.and(same), eb('subject', 'in', subjects)]),
        ),
      ),
    )
    for (const entry of await entriesOf(db.all(query))) found.set(keyOf(entry), entry)
  }
  return found
}

function groupsOf(subjects: readonly LedgerSubject[]) {
  const groups = Map.groupBy(subjects, (one) => JSON.stringify([one.tenant_id, one.subject_kind]))
  return [...groups.values()].flatMap(([first, ...rest]) => {
    if (!first) return []
    const { tenant_id, subject_kind } = first
    return { tenant_id, subject_kind, subjects: [first, ...rest].map(({ subject }) => subject) }
  })
}

export async function findEntriesById(
  db: KeyringQueries,
  ledger_ids: readonly number[],
): Promise<Map<number, LedgerEntry>> {
  const found = new Map<number, LedgerEntry>()
  for (const chunk of chunksOf(ledger_ids, CHUNK)) {
    const query = selectEntries(db).where('ledger_id', 'in', chunk)
    for (const entry of await entriesOf(db.all(query))) found.set(entry.ledger_id, entry)
  }
  return found
}

/** Inserts new entries, numbered from `first` on in the given order. */
export async function insertEntries(
  tx: KeyringTx,
  entries: readonly NewLedgerEntry[],
  first: number,
): Promise<LedgerEntry[]> {
  const inserted: LedgerEntry[] = []
  for (const chunk of chunksOf(entries, CHUNK)) {
    const rows = chunk.map((entry, i) => rowOf(entry, first + inserted.length + i))
    const query = tx.tables.insertInto('ledger').values(rows).returningAll()
    const chunkEntries = await entriesOf(tx.all(query))
    inserted.push(...chunkEntries.sort((a, b) => a.ledger_id - b.ledger_id))
  }
  await insertLedgerSecrets(tx, entries)
  return inserted
}

function rowOf(entry: NewLedgerEntry, ledger_id: number) {
  const { tenant_id, subject_kind, subject, store_id, requested_us } = entry
  return {
    ledger_id,
    tenant_id,
    subject_kind,
    subject,
    store_id,
    destroys: JSON.stringify(destroysOf(entry)),
    state: 'requested' as const,
    requested_us,
    plan: jsonText(entry.plan),
    parts_id: entry.parts?.parts_id ?? null,
    parts: entry.parts?.count ?? 0,
  }
}

async function insertLedgerSecrets(
  tx: KeyringTx,
  entries: readonly NewLedgerEntry[],
): Promise<void> {
  const rows = entries.flatMap((entry) =>
    destroysOf(entry).map(({ kind, number }) => ({ tenant_id: entry.tenant_id, kind, number })),
  )
  for (const chunk of chunksOf(rows, CHUNK)) {
    const query = tx.tables.insertInto('ledger_secrets').values(chunk)
    await tx.run(query.onConflict((on) => on.doNothing()))
  }
}

/** The secrets that an entry destroys, including the default when it omits `destroys`. */
function destroysOf(entry: NewLedgerEntry): readonly SecretRef[] {
  if (entry.destroys) return entry.destroys
  const { subject_kind: kind } = entry
  if (kind !== 'fact' && kind !== 'decision') return []
  const number = DECIMAL.test(entry.subject) ? Number(entry.subject) : -1
  const named = number >= 0 && Number.isSafeInteger(number)
  return named ? [{ kind, number }] : []
}

/** Completes entries. One that is already completed keeps its certificate. */
export async function updateCompleted(
  tx: KeyringTx,
  completions: readonly LedgerCompletion[],
): Promise<void> {
  for (const chunk of chunksOf(completions, CHUNK)) {
    const rows = chunk.map(
      ({ ledger_id, certificate, completed_us }) =>
        sql`(cast(${ledger_id} as bigint), ${jsonText(certificate)},
          cast(${completed_us} as bigint))`,
    )
    // The column name that both engines give to the first column of VALUES.
    const done = sql<{
      column1: number
      column2: string
      column3: number
    }>`(values ${sql.join(rows)})`
    await tx.run(
      tx.tables
        .updateTable('ledger')
        .from(done.as('done'))
        .set((eb) => ({
          state: 'completed' as const,
          certificate: eb.ref('done.column2'),
          completed_us: eb.ref('done.column3'),
        }))
        .whereRef('ledger.ledger_id', '=', 'done.column1')
        .where('ledger.state', '=', 'requested'),
    )
  }
}

export async function listRequestedEntries(db: KeyringQueries): Promise<LedgerEntry[]> {
  return entriesOf(db.all(selectEntries(db).where('state', '=', 'requested').orderBy('ledger_id')))
}

/** Entries with `ledger_id > after`, ascending: of one tenant, or of all. */
export async function listEntries(
  db: KeyringQueries,
  page: { tenant_id?: string; after: number; limit: number },
): Promise<LedgerEntry[]> {
  let query = selectEntries(db).where('ledger_id', '>', page.after)
  if (page.tenant_id !== undefined) query = query.where('tenant_id', '=', page.tenant_id)
  return entriesOf(db.all(query.orderBy('ledger_id').limit(page.limit)))
}

/** Entries of one kind with `ledger_id < before`, newest first. */
export async function listNewestEntries(
  db: KeyringQueries,
  tenant_id: string,
  kind: LedgerSubjectKind,
  page: { before: number; limit: number },
): Promise<LedgerEntry[]> {
  const query = selectEntries(db)
    .where('tenant_id', '=', tenant_id)
    .where('subject_kind', '=', kind)
    .where('ledger_id', '<', page.before)
  return entriesOf(db.all(query.orderBy('ledger_id', 'desc').limit(page.limit)))
}

export async function countCompletedEntries(
  db: KeyringQueries,
  tenant_id: string,
): Promise<number> {
  const row = await db.first(
    db.tables
      .selectFrom('ledger')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('tenant_id', '=', tenant_id)
      .where('state', '=', 'completed')
      .where('subject_kind', 'in', ['fact', 'decision', 'text']),
  )
  return row?.n ?? 0
}

export async function countByTenant(db: KeyringQueries): Promise<LedgerCount[]> {
  return db.all(
    db.tables
      .selectFrom('ledger')
      .select(({ fn }) => [
        'tenant_id',
        fn.countAll<number>().filterWhere('state', '=', 'requested').as('requested'),
        fn
          .countAll<number>()
          .filterWhere('state', '=', 'completed')
          .filterWhere('subject_kind', 'in', ['fact', 'decision', 'text'])
          .as('completed'),
        fn.countAll<number>().filterWhere('subject_kind', '=', 'scrub').as('scrubs'),
        fn.countAll<number>().filterWhere('subject_kind', '=', 'store').as('stores'),
      ])
      .groupBy('tenant_id'),
  )
}

/** Tenants that the ledger destroys, ascending. */
export async function listLedgerTenants(db: KeyringQueries): Promise<string[]> {
  const query = db.tables.selectFrom('ledger').select('tenant_id').distinct()
  const rows = await db.all(query.where('subject_kind', '=', 'tenant').orderBy('tenant_id'))
  return rows.map(({ tenant_id }) => tenant_id)
}

/** Every secret that the ledger destroys. */
export async function listLedgerSecrets(db: KeyringQueries): Promise<LedgerSecretRow[]> {
  return db.all(db.tables.selectFrom('ledger_secrets').selectAll())
}

function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null)
}

function entryOf({ parts_id, parts: count, ...row }: LedgerRow): LedgerEntry {
  return {
    ...row,
    parts: parts_id === null ? null : { parts_id, count },
    destroys: JSON.parse(row.destroys),
    plan: JSON.parse(row.plan),
    certificate: row.certificate === null ? null : JSON.parse(row.certificate),
  }
}
