// Which number a tenant's next block of secrets may start with.

import type { SecretKind } from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import type { KeyringQueries } from './database.ts'

const BLOCK_NUMBERS = 1024
const BLOCK_NUMBERS_MAX = 65_536

export interface ReserveOptions {
  readonly at_least: number
  /** 1,024 when absent. */
  readonly count?: number
}

/** The number of secrets to reserve; `bad_argument` for options that are out of range. */
export function reserveCount({ at_least, count = BLOCK_NUMBERS }: ReserveOptions): number {
  requireInteger('at_least', at_least, 0)
  requireInteger('count', count, 1)
  if (count > BLOCK_NUMBERS_MAX)
    throw new KeyringError('bad_argument', `count must be at most ${BLOCK_NUMBERS_MAX}`)
  return count
}

/**
 * The first number `>= from` that starts `count` numbers which the ledger does not name. The
 * ledger would destroy a new secret with such a number at the next start; this only happens to a
 * keyring restored from a backup older than those numbers.
 */
export async function firstFreeNumber(
  db: KeyringQueries,
  owner: { tenant_id: string; kind: SecretKind },
  { from, count }: { from: number; count: number },
): Promise<number> {
  for (let first = from; ; ) {
    const end = first + count
    requireInteger('the end of the block', end, 1)
    const last = await lastLedgerNumber(db, owner, { first, end })
    if (last === null) return first
    first = last + 1
  }
}

/** The highest number in `[first, end)` that the ledger destroys, or renews a secret as. */
async function lastLedgerNumber(
  db: KeyringQueries,
  { tenant_id, kind }: { tenant_id: string; kind: SecretKind },
  { first, end }: { first: number; end: number },
): Promise<number | null> {
  const destroyed = await db.first(
    db.tables
      .selectFrom('ledger_secrets')
      .select((eb) => eb.fn.max('number').as('last'))
      .where('tenant_id', '=', tenant_id)
      .where('kind', '=', kind)
      .where('number', '>=', first)
      .where('number', '<', end),
  )
  if (kind === 'fact') return destroyed?.last ?? null
  const renewed = await db.first(
    db.tables
      .selectFrom('ledger_renewals')
      .select((eb) => eb.fn.max('renewed_as').as('last'))
      .where('tenant_id', '=', tenant_id)
      .where('renewed_as', '>=', first)
      .where('renewed_as', '<', end),
  )
  const last = Math.max(destroyed?.last ?? -1, renewed?.last ?? -1)
  return last < 0 ? null : last
}
