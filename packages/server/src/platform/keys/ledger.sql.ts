// Rows of the erasure ledger.

import type {
  LedgerCompletion,
  LedgerCount,
  LedgerEntry,
  LedgerSubjectKind,
  NewLedgerEntry,
  SecretRef,
} from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { claimParts } from './parts.sql.ts'

interface Row {
  readonly ledger_id: number
  readonly tenant_id: string
  readonly subject_kind: LedgerSubjectKind
  readonly subject: string
  readonly store_id: string | null
  readonly destroys: string
  readonly state: 'requested' | 'completed'
  readonly requested_us: number
  readonly completed_us: number | null
  readonly plan: string
  readonly parts_id: string | null
  readonly parts: number
  readonly certificate: string | null
}

const DECIMAL = /^(0|[1-9]\d{0,15})$/

/** What `destroys` stands for when it is left out. */
export function destroysOf(entry: NewLedgerEntry): readonly SecretRef[] {
  if (entry.destroys) return entry.destroys
  const { subject_kind: kind } = entry
  if (kind === 'store' || kind === 'scrub' || kind === 'tenant') return []
  const number = DECIMAL.test(entry.subject) ? Number(entry.subject) : -1
  const named = number >= 0 && Number.isSafeInteger(number)
  return named ? [{ kind, number }] : []
}

export function findEntry(
  db: KeyringDb,
  tenant_id: string,
  kind: LedgerSubjectKind,
  subject: string,
): LedgerEntry | undefined {
  const row = db.get<Row>(
    'SELECT * FROM ledger WHERE tenant_id = ? AND subject_kind = ? AND subject = ?',
    tenant_id,
    kind,
    subject,
  )
  return row && entryOf(row)
}

export function findEntryById(db: KeyringDb, ledger_id: number): LedgerEntry | undefined {
  const row = db.get<Row>('SELECT * FROM ledger WHERE ledger_id = ?', ledger_id)
  return row && entryOf(row)
}

export function insertEntry(db: KeyringDb, entry: NewLedgerEntry): LedgerEntry {
  const { tenant_id, subject_kind, subject, store_id, requested_us } = entry
  const destroys = destroysOf(entry)
  const row = db.get<Row>(
    `INSERT INTO ledger
       (tenant_id, subject_kind, subject, store_id, destroys, state, requested_us, plan,
        parts_id, parts)
     VALUES (?, ?, ?, ?, ?, 'requested', ?, ?, ?, ?) RETURNING *`,
    tenant_id,
    subject_kind,
    subject,
    store_id,
    JSON.stringify(destroys),
    requested_us,
    jsonText(entry.plan),
    entry.parts?.parts_id ?? null,
    entry.parts?.count ?? 0,
  )
  for (const { kind, number } of destroys)
    db.run('INSERT OR IGNORE INTO ledger_secrets VALUES (?, ?, ?)', tenant_id, kind, number)
  if (entry.parts) claimParts(db, entry.parts)
  if (!row) throw new Error('INSERT … RETURNING gave no row')
  return entryOf(row)
}

export function updateCompleted(db: KeyringDb, done: LedgerCompletion): void {
  db.run(
    `UPDATE ledger SET state = 'completed', certificate = ?, completed_us = ?
     WHERE ledger_id = ? AND state = 'requested'`,
    jsonText(done.certificate),
    done.completed_us,
    done.ledger_id,
  )
}

export function listRequestedEntries(db: KeyringDb): LedgerEntry[] {
  return db
    .all<Row>(`SELECT * FROM ledger WHERE state = 'requested' ORDER BY ledger_id`)
    .map(entryOf)
}

export function listEntries(
  db: KeyringDb,
  tenant_id: string,
  page: { after: number; limit: number },
): LedgerEntry[] {
  const rows = db.all<Row>(
    'SELECT * FROM ledger WHERE tenant_id = ? AND ledger_id > ? ORDER BY ledger_id LIMIT ?',
    tenant_id,
    page.after,
    page.limit,
  )
  return rows.map(entryOf)
}

/** Of all tenants, in pages: the ledger only ever grows. */
export function listAllEntries(db: KeyringDb, page: { after: number; limit: number }) {
  const rows = db.all<Row>(
    'SELECT * FROM ledger WHERE ledger_id > ? ORDER BY ledger_id LIMIT ?',
    page.after,
    page.limit,
  )
  return rows.map(entryOf)
}

export function countCompletedEntries(db: KeyringDb, tenant_id: string): number {
  const row = db.get<{ n: number }>(
    `SELECT count(*) AS n FROM ledger
     WHERE tenant_id = ? AND state = 'completed' AND subject_kind IN ('fact', 'decision')`,
    tenant_id,
  )
  return row?.n ?? 0
}

export function countByTenant(db: KeyringDb): LedgerCount[] {
  return db.all<LedgerCount>(
    `SELECT tenant_id, count(*) FILTER (WHERE state = 'requested') AS requested,
       count(*) FILTER (WHERE state = 'completed'
         AND subject_kind IN ('fact', 'decision')) AS completed,
       count(*) FILTER (WHERE subject_kind = 'scrub') AS scrubs,
       count(*) FILTER (WHERE subject_kind = 'store') AS stores
     FROM ledger GROUP BY tenant_id`,
  )
}

export function listNewestEntries(
  db: KeyringDb,
  tenant_id: string,
  kind: LedgerSubjectKind,
  page: { before: number; limit: number },
): LedgerEntry[] {
  const rows = db.all<Row>(
    `SELECT * FROM ledger WHERE tenant_id = ? AND subject_kind = ? AND ledger_id < ?
     ORDER BY ledger_id DESC LIMIT ?`,
    tenant_id,
    kind,
    page.before,
    page.limit,
  )
  return rows.map(entryOf)
}

/** Tenants that the ledger names as destroyed. */
export function listNamedTenants(db: KeyringDb): string[] {
  const rows = db.all<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM ledger WHERE subject_kind = 'tenant' ORDER BY tenant_id`,
  )
  return rows.map(({ tenant_id }) => tenant_id)
}

export interface LedgerSecretRow extends SecretRef {
  readonly tenant_id: string
}

export function listLedgerSecrets(db: KeyringDb): LedgerSecretRow[] {
  return db.all('SELECT tenant_id, kind, number FROM ledger_secrets')
}

function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null)
}

function entryOf({ parts_id, parts: count, ...row }: Row): LedgerEntry {
  return {
    ...row,
    parts: parts_id === null ? null : { parts_id, count },
    destroys: JSON.parse(row.destroys),
    plan: JSON.parse(row.plan),
    certificate: row.certificate === null ? null : JSON.parse(row.certificate),
  }
}
