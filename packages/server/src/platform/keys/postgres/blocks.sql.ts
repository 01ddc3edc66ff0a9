// Which numbers of a tenant were ever given out.

import type { PgQueries, PgTx } from './keyring-pg.ts'
import type { Owner } from './secrets.sql.ts'

/** `first … end-1`. */
export interface Range {
  readonly first: number
  readonly end: number
}

export async function insertBlock(tx: PgTx, owner: Owner, { first, end }: Range): Promise<void> {
  await tx.run(
    'INSERT INTO keyring.secret_blocks (tenant_id, kind, first, count) VALUES ($1, $2, $3, $4)',
    owner.tenant_id,
    owner.kind,
    first,
    end - first,
  )
}

export const deleteBlocks = (tx: PgTx, tenant_id: string): Promise<number> =>
  tx.run('DELETE FROM keyring.secret_blocks WHERE tenant_id = $1', tenant_id)

/** The block that starts last, of those that start at `from` or before. */
export async function findLastBlock(
  db: PgQueries,
  { tenant_id, kind }: Owner,
  from: number,
): Promise<Range | undefined> {
  return db.get<Range>(
    `SELECT first, first + count AS end FROM keyring.secret_blocks
     WHERE tenant_id = $1 AND kind = $2 AND first <= $3 ORDER BY first DESC LIMIT 1`,
    tenant_id,
    kind,
    from,
  )
}

/** The highest number of the range that the ledger names: to be destroyed, or renewed as. */
export async function lastLedgerNumber(
  db: PgQueries,
  { tenant_id, kind }: Owner,
  { first, end }: Range,
): Promise<number | undefined> {
  const row = await db.get<{ number: number }>(
    `SELECT number FROM keyring.ledger_secrets
     WHERE tenant_id = $1 AND kind = $2 AND number >= $3 AND number < $4
     UNION ALL
     SELECT renewed_as FROM keyring.ledger_renewals
     WHERE tenant_id = $1 AND $2 = 'decision' AND renewed_as >= $3 AND renewed_as < $4
     ORDER BY number DESC LIMIT 1`,
    tenant_id,
    kind,
    first,
    end,
  )
  return row?.number
}
