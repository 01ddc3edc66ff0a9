// Parts of plans in the erasure ledger, the secrets their records were sealed again under, and
// the processes that are still adding to a plan.

import type { LedgerPart, LedgerParts, Renewal } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import type { RenewalRow } from '../parts.sql.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

/** A process that has not been seen for so long is taken for dead. */
const SILENCE = '60 seconds'

/** @param process_id null: read from the ledger copy; false: it is here already */
export async function insertPart(
  tx: PgTx,
  part: LedgerPart,
  process_id: string | null,
): Promise<boolean> {
  const { parts_id, part: number, tenant_id, plan, renewals } = part
  const made = await tx.run(
    `INSERT INTO keyring.ledger_parts (parts_id, part, tenant_id, plan, process_id)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    parts_id,
    number,
    tenant_id,
    JSON.stringify(plan),
    process_id,
  )
  if (made === 0) return false
  await tx.run(
    `INSERT INTO keyring.ledger_renewals (parts_id, part, tenant_id, number, renewed_as, box)
     SELECT $1, $2, $3, number, renewed_as, box
     FROM unnest($4::bigint[], $5::bigint[], $6::text[]) AS u (number, renewed_as, box)`,
    parts_id,
    number,
    tenant_id,
    renewals.map((one) => one.number),
    renewals.map((one) => one.renewed_as),
    renewals.map((one) => one.box),
  )
  return true
}

export async function findPart(
  db: PgQueries,
  parts_id: string,
  part: number,
): Promise<LedgerPart | undefined> {
  const row = await db.get<{ tenant_id: string; plan: string }>(
    'SELECT tenant_id, plan FROM keyring.ledger_parts WHERE parts_id = $1 AND part = $2',
    parts_id,
    part,
  )
  if (!row) return undefined
  const renewals = await db.all<Renewal>(
    `SELECT number, renewed_as, box FROM keyring.ledger_renewals
     WHERE parts_id = $1 AND part = $2 ORDER BY number`,
    parts_id,
    part,
  )
  return { tenant_id: row.tenant_id, parts_id, part, plan: JSON.parse(row.plan), renewals }
}

/** In the transaction of the entry that claims them: from now on the renewed secrets must go. */
export async function claimParts(tx: PgTx, { parts_id, count }: LedgerParts): Promise<void> {
  const row = await tx.get<{ n: number }>(
    'SELECT count(*) AS n FROM keyring.ledger_parts WHERE parts_id = $1',
    parts_id,
  )
  if (row?.n !== count)
    throw new KeyringError('ledger_parts_missing', `${row?.n ?? 0} of ${count} parts are here`)
  await tx.run(
    `INSERT INTO keyring.ledger_secrets (tenant_id, kind, number)
     SELECT tenant_id, 'decision', number FROM keyring.ledger_renewals WHERE parts_id = $1
     ON CONFLICT DO NOTHING`,
    parts_id,
  )
}

export async function isClaimed(db: PgQueries, parts_id: string): Promise<boolean> {
  const row = await db.get(
    'SELECT parts_id FROM keyring.ledger WHERE parts_id = $1 LIMIT 1',
    parts_id,
  )
  return row !== undefined
}

/** Of plans that came to nothing: nobody is left who could claim their parts. */
export async function listAbandoned(db: PgQueries): Promise<string[]> {
  const rows = await db.all<{ parts_id: string }>(
    `SELECT DISTINCT p.parts_id FROM keyring.ledger_parts AS p
     WHERE NOT EXISTS (SELECT 1 FROM keyring.ledger AS l WHERE l.parts_id = p.parts_id)
       AND NOT EXISTS (SELECT 1 FROM keyring.ledger_parts AS q
         JOIN keyring.processes AS a ON a.process_id = q.process_id
         WHERE q.parts_id = p.parts_id AND a.seen_at > now() - interval '${SILENCE}')`,
  )
  return rows.map(({ parts_id }) => parts_id)
}

/** Renewals of one plan with `number > after`, ascending. */
export async function listRenewals(
  db: PgQueries,
  parts_id: string,
  page: { after: number; limit: number },
): Promise<RenewalRow[]> {
  return db.all<RenewalRow>(
    `SELECT tenant_id, number, renewed_as, box FROM keyring.ledger_renewals
     WHERE parts_id = $1 AND number > $2 ORDER BY number LIMIT $3`,
    parts_id,
    page.after,
    page.limit,
  )
}

/** Of all claimed plans, where the old secret is there: it came back with an older keyring. */
export async function listRenewalsAlive(db: PgQueries): Promise<RenewalRow[]> {
  return db.all<RenewalRow>(
    `SELECT r.tenant_id, r.number, r.renewed_as, r.box FROM keyring.ledger_renewals AS r
     JOIN keyring.secrets AS s
       ON s.tenant_id = r.tenant_id AND s.kind = 'decision' AND s.number = r.number
     WHERE EXISTS (SELECT 1 FROM keyring.ledger AS l WHERE l.parts_id = r.parts_id)`,
  )
}

export async function deleteParts(tx: PgTx, parts_id: string): Promise<void> {
  await tx.run('DELETE FROM keyring.ledger_renewals WHERE parts_id = $1', parts_id)
  await tx.run('DELETE FROM keyring.ledger_parts WHERE parts_id = $1', parts_id)
}

/** This process is alive, and what it adds is not abandoned. */
export async function upsertProcess(tx: PgTx, process_id: string): Promise<void> {
  await tx.run(
    `INSERT INTO keyring.processes (process_id, seen_at) VALUES ($1, now())
     ON CONFLICT (process_id) DO UPDATE SET seen_at = excluded.seen_at`,
    process_id,
  )
  await tx.run(`DELETE FROM keyring.processes WHERE seen_at < now() - interval '1 day'`)
}

export async function deleteProcess(tx: PgTx, process_id: string): Promise<void> {
  await tx.run('DELETE FROM keyring.processes WHERE process_id = $1', process_id)
}
