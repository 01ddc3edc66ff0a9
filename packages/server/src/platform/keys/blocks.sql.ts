// Which slots hold which numbers of a tenant.

import type { SecretKind } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'

/** Numbers `first … first+count-1` lie in slots `slot … slot+count-1`. */
export interface BlockRow {
  readonly first: number
  readonly count: number
  readonly slot: number
}

export function insertBlock(
  db: KeyringDb,
  tenant_id: string,
  kind: SecretKind,
  row: BlockRow,
): void {
  const { first, count, slot } = row
  db.run('INSERT INTO secret_blocks VALUES (?, ?, ?, ?, ?)', tenant_id, kind, first, count, slot)
}

/** Blocks that start at `from` or later, ascending. */
export function listBlocks(
  db: KeyringDb,
  tenant_id: string,
  kind: SecretKind,
  from: number,
): BlockRow[] {
  return db.all<BlockRow>(
    `SELECT first, count, slot FROM secret_blocks
     WHERE tenant_id = ? AND kind = ? AND first >= ? ORDER BY first`,
    tenant_id,
    kind,
    from,
  )
}

export function deleteBlocks(db: KeyringDb, tenant_id: string): void {
  db.run('DELETE FROM secret_blocks WHERE tenant_id = ?', tenant_id)
}

/** The highest number in `[first, end)` that the ledger names: to be destroyed, or renewed as. */
export function lastLedgerNumber(
  db: KeyringDb,
  tenant_id: string,
  kind: SecretKind,
  range: { first: number; end: number },
): number | undefined {
  return db.get<{ number: number }>(
    `SELECT number FROM ledger_secrets
     WHERE tenant_id = ?1 AND kind = ?2 AND number >= ?3 AND number < ?4
     UNION ALL
     SELECT renewed_as FROM ledger_renewals
     WHERE tenant_id = ?1 AND ?2 = 'decision' AND renewed_as >= ?3 AND renewed_as < ?4
     ORDER BY number DESC LIMIT 1`,
    tenant_id,
    kind,
    range.first,
    range.end,
  )?.number
}
