// Parts of plans in the erasure ledger, and the secrets their records were sealed again under.

import type { LedgerPart, LedgerParts, Renewal } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'

/** false: it is here already. */
export function insertPart(db: KeyringDb, part: LedgerPart): boolean {
  const { parts_id, part: number, tenant_id, plan, renewals } = part
  if (hasPart(db, part)) return false
  db.run(
    'INSERT INTO ledger_parts VALUES (?, ?, ?, ?)',
    parts_id,
    number,
    tenant_id,
    JSON.stringify(plan),
  )
  for (const renewal of renewals)
    db.run(
      'INSERT INTO ledger_renewals VALUES (?, ?, ?, ?, ?, ?)',
      parts_id,
      renewal.number,
      tenant_id,
      number,
      renewal.renewed_as,
      renewal.box,
    )
  return true
}

function hasPart(db: KeyringDb, { parts_id, part }: LedgerPart): boolean {
  const sql = 'SELECT 1 FROM ledger_parts WHERE parts_id = ? AND part = ?'
  return db.get(sql, parts_id, part) !== undefined
}

export function findPart(db: KeyringDb, parts_id: string, part: number): LedgerPart | undefined {
  const row = db.get<{ tenant_id: string; plan: string }>(
    'SELECT tenant_id, plan FROM ledger_parts WHERE parts_id = ? AND part = ?',
    parts_id,
    part,
  )
  if (!row) return undefined
  const renewed = db.all<Renewal>(
    `SELECT number, renewed_as, box FROM ledger_renewals
     WHERE parts_id = ? AND part = ? ORDER BY number`,
    parts_id,
    part,
  )
  const renewals = renewed.map((renewal) => ({ ...renewal }))
  return { tenant_id: row.tenant_id, parts_id, part, plan: JSON.parse(row.plan), renewals }
}

/** In the transaction of the entry that claims them: from now on the renewed secrets must go. */
export function claimParts(db: KeyringDb, { parts_id, count }: LedgerParts): void {
  const row = db.get<{ n: number }>(
    'SELECT count(*) AS n FROM ledger_parts WHERE parts_id = ?',
    parts_id,
  )
  if (row?.n !== count)
    throw new KeyringError('ledger_parts_missing', `${row?.n ?? 0} of ${count} parts are here`)
  db.run(
    `INSERT OR IGNORE INTO ledger_secrets
     SELECT tenant_id, 'decision', number FROM ledger_renewals WHERE parts_id = ?`,
    parts_id,
  )
}

export function isClaimed(db: KeyringDb, parts_id: string): boolean {
  return db.get('SELECT 1 FROM ledger WHERE parts_id = ? LIMIT 1', parts_id) !== undefined
}

/** Of plans that came to nothing: the process was cut off before an entry claimed their parts. */
export function listUnclaimed(db: KeyringDb): string[] {
  return db
    .all<{ parts_id: string }>(
      `SELECT DISTINCT parts_id FROM ledger_parts
       WHERE parts_id NOT IN (SELECT parts_id FROM ledger WHERE parts_id IS NOT NULL)`,
    )
    .map(({ parts_id }) => parts_id)
}

export interface RenewalRow extends Renewal {
  readonly tenant_id: string
}

/** Renewals of one plan with `number > after`, ascending. */
export function listRenewals(
  db: KeyringDb,
  parts_id: string,
  page: { after: number; limit: number },
): RenewalRow[] {
  return db.all<RenewalRow>(
    `SELECT tenant_id, number, renewed_as, box FROM ledger_renewals
     WHERE parts_id = ? AND number > ? ORDER BY number LIMIT ?`,
    parts_id,
    page.after,
    page.limit,
  )
}

/** Of all claimed plans: whose old secret may have come back with an older keyring. */
export function listClaimedRenewals(db: KeyringDb): RenewalRow[] {
  return db.all<RenewalRow>(
    `SELECT tenant_id, number, renewed_as, box FROM ledger_renewals
     WHERE parts_id IN (SELECT parts_id FROM ledger WHERE parts_id IS NOT NULL)`,
  )
}

export function deleteParts(db: KeyringDb, parts_id: string): void {
  db.run('DELETE FROM ledger_renewals WHERE parts_id = ?', parts_id)
  db.run('DELETE FROM ledger_parts WHERE parts_id = ?', parts_id)
}
