// Rows of the erasure ledger.

import type {
  LedgerCompletion,
  LedgerCount,
  LedgerEntry,
  LedgerSubjectKind,
  NewLedgerEntry,
  SecretRef,
} from '../keyring.ts'
import { destroysOf } from '../ledger.sql.ts'
import { takeNumbers } from './instance.sql.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

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

/** What tells an entry from all others. */
export type Subject = Pick<NewLedgerEntry, 'tenant_id' | 'subject_kind' | 'subject'>

export function keyOf({ tenant_id, subject_kind, subject }: Subject): string {
  return JSON.stringify([tenant_id, subject_kind, subject])
}

/** The number after the tenant's last; waits for who is requesting under that one. */
export async function takeTurn(tx: PgTx, tenant_id: string): Promise<number> {
  const row = await tx.get<{ number: number }>(
    `INSERT INTO keyring.ledger_turns (tenant_id, number) VALUES ($1, 1)
     ON CONFLICT (tenant_id) DO UPDATE SET number = ledger_turns.number + 1 RETURNING number`,
    tenant_id,
  )
  if (!row) throw new Error('INSERT … RETURNING gave no row')
  return row.number
}

/** The tenant's last number, which stays so until the transaction ends. */
export async function shareTurn(tx: PgTx, tenant_id: string): Promise<number | undefined> {
  const row = await tx.get<{ number: number }>(
    'SELECT number FROM keyring.ledger_turns WHERE tenant_id = $1 FOR SHARE',
    tenant_id,
  )
  return row?.number
}

/** By `keyOf`; those that are there. */
export async function findEntries(
  db: PgQueries,
  subjects: readonly Subject[],
): Promise<Map<string, LedgerEntry>> {
  const rows = await db.all<Row>(
    `SELECT l.* FROM keyring.ledger AS l
     JOIN unnest($1::text[], $2::text[], $3::text[]) AS u (tenant_id, subject_kind, subject)
       ON l.tenant_id = u.tenant_id AND l.subject_kind = u.subject_kind AND l.subject = u.subject`,
    subjects.map((one) => one.tenant_id),
    subjects.map((one) => one.subject_kind),
    subjects.map((one) => one.subject),
  )
  return new Map(rows.map((row) => [keyOf(row), entryOf(row)]))
}

export async function findEntriesById(
  db: PgQueries,
  ledger_ids: readonly number[],
): Promise<Map<number, LedgerEntry>> {
  const rows = await db.all<Row>(
    'SELECT * FROM keyring.ledger WHERE ledger_id = ANY ($1::bigint[])',
    ledger_ids,
  )
  return new Map(rows.map((row) => [row.ledger_id, entryOf(row)]))
}

/** In the order given; none of them is there yet. */
export async function insertEntries(
  tx: PgTx,
  entries: readonly NewLedgerEntry[],
): Promise<LedgerEntry[]> {
  if (entries.length === 0) return []
  const first = await takeNumbers(tx, 'ledger', entries.length)
  const rows = await tx.all<Row>(
    `INSERT INTO keyring.ledger
       (ledger_id, tenant_id, subject_kind, subject, store_id, destroys, state, requested_us,
        plan, parts_id, parts)
     SELECT $1::bigint + ord - 1, tenant_id, subject_kind, subject, store_id, destroys,
       'requested', requested_us, plan, parts_id, parts
     FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
         $8::text[], $9::text[], $10::bigint[]) WITH ORDINALITY
       AS u (tenant_id, subject_kind, subject, store_id, destroys, requested_us, plan, parts_id,
         parts, ord)
     RETURNING *`,
    first,
    ...columnsOf(entries),
  )
  await insertLedgerSecrets(tx, entries)
  return rows.sort((a, b) => a.ledger_id - b.ledger_id).map(entryOf)
}

function columnsOf(entries: readonly NewLedgerEntry[]) {
  return [
    entries.map((one) => one.tenant_id),
    entries.map((one) => one.subject_kind),
    entries.map((one) => one.subject),
    entries.map((one) => one.store_id),
    entries.map((one) => JSON.stringify(destroysOf(one))),
    entries.map((one) => one.requested_us),
    entries.map((one) => jsonText(one.plan)),
    entries.map((one) => one.parts?.parts_id ?? null),
    entries.map((one) => one.parts?.count ?? 0),
  ]
}

async function insertLedgerSecrets(tx: PgTx, entries: readonly NewLedgerEntry[]): Promise<void> {
  const named = entries.flatMap((one) =>
    destroysOf(one).map(({ kind, number }) => ({ tenant_id: one.tenant_id, kind, number })),
  )
  if (named.length === 0) return
  await tx.run(
    `INSERT INTO keyring.ledger_secrets (tenant_id, kind, number)
     SELECT tenant_id, kind, number
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u (tenant_id, kind, number)
     ON CONFLICT DO NOTHING`,
    named.map((one) => one.tenant_id),
    named.map((one) => one.kind),
    named.map((one) => one.number),
  )
}

export async function updateCompleted(tx: PgTx, done: readonly LedgerCompletion[]): Promise<void> {
  if (done.length === 0) return
  await tx.run(
    `UPDATE keyring.ledger AS l SET state = 'completed', certificate = u.certificate,
       completed_us = u.completed_us
     FROM unnest($1::bigint[], $2::text[], $3::bigint[])
       AS u (ledger_id, certificate, completed_us)
     WHERE l.ledger_id = u.ledger_id AND l.state = 'requested'`,
    done.map((one) => one.ledger_id),
    done.map((one) => jsonText(one.certificate)),
    done.map((one) => one.completed_us),
  )
}

export async function listRequestedEntries(db: PgQueries): Promise<LedgerEntry[]> {
  const rows = await db.all<Row>(
    `SELECT * FROM keyring.ledger WHERE state = 'requested' ORDER BY ledger_id`,
  )
  return rows.map(entryOf)
}

export async function listEntries(
  db: PgQueries,
  tenant_id: string,
  page: { after: number; limit: number },
): Promise<LedgerEntry[]> {
  const rows = await db.all<Row>(
    `SELECT * FROM keyring.ledger
     WHERE tenant_id = $1 AND ledger_id > $2 ORDER BY ledger_id LIMIT $3`,
    tenant_id,
    page.after,
    page.limit,
  )
  return rows.map(entryOf)
}

/** Of all tenants, in pages: the ledger only ever grows. */
export async function listAllEntries(
  db: PgQueries,
  page: { after: number; limit: number },
): Promise<LedgerEntry[]> {
  const rows = await db.all<Row>(
    'SELECT * FROM keyring.ledger WHERE ledger_id > $1 ORDER BY ledger_id LIMIT $2',
    page.after,
    page.limit,
  )
  return rows.map(entryOf)
}

export async function countCompletedEntries(db: PgQueries, tenant_id: string): Promise<number> {
  const row = await db.get<{ n: number }>(
    `SELECT count(*) AS n FROM keyring.ledger
     WHERE tenant_id = $1 AND state = 'completed' AND subject_kind IN ('fact', 'decision')`,
    tenant_id,
  )
  return row?.n ?? 0
}

export async function countByTenant(db: PgQueries): Promise<LedgerCount[]> {
  return db.all<LedgerCount>(
    `SELECT tenant_id, count(*) FILTER (WHERE state = 'requested') AS requested,
       count(*) FILTER (WHERE state = 'completed'
         AND subject_kind IN ('fact', 'decision')) AS completed,
       count(*) FILTER (WHERE subject_kind = 'scrub') AS scrubs,
       count(*) FILTER (WHERE subject_kind = 'store') AS stores
     FROM keyring.ledger GROUP BY tenant_id`,
  )
}

export async function listNewestEntries(
  db: PgQueries,
  tenant_id: string,
  kind: LedgerSubjectKind,
  page: { before: number; limit: number },
): Promise<LedgerEntry[]> {
  const rows = await db.all<Row>(
    `SELECT * FROM keyring.ledger
     WHERE tenant_id = $1 AND subject_kind = $2 AND ledger_id < $3
     ORDER BY ledger_id DESC LIMIT $4`,
    tenant_id,
    kind,
    page.before,
    page.limit,
  )
  return rows.map(entryOf)
}

export interface LedgerSecretRow extends SecretRef {
  readonly tenant_id: string
}

/** What the ledger names and is there all the same. */
export async function listNamedAlive(db: PgQueries): Promise<LedgerSecretRow[]> {
  return db.all<LedgerSecretRow>(
    `SELECT s.tenant_id, s.kind, s.number FROM keyring.ledger_secrets AS n
     JOIN keyring.secrets AS s
       ON s.tenant_id = n.tenant_id AND s.kind = n.kind AND s.number = n.number`,
  )
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
