// Blocks of secret numbers of tenants: chooses the next block and finds reserved numbers.

import type { SecretKind } from '../keyring.ts'
import { KeyringError, requireInteger } from '../keyring-error.ts'
import type { KeyringQueries, KeyringTx } from './database.ts'
import type { KeyringTables } from './tables.ts'
import { lockLiveTenant } from './tenants.sql.ts'

const BLOCK_NUMBERS = 1024
const BLOCK_NUMBERS_MAX = 65_536

export interface BlockOwner {
  readonly tenant_id: string
  readonly kind: SecretKind
}

/** Numbers `first … first+count-1`. `slot` is set only if they are in a slot file. */
export type BlockRow = Pick<KeyringTables['secret_blocks'], 'first' | 'count' | 'slot'>

export interface ReserveOptions {
  readonly at_least: number
  /** Default: 1,024. */
  readonly count?: number
}

/** How many numbers to reserve. Throws `bad_argument` for options that are out of range. */
export function reserveCount({ at_least, count = BLOCK_NUMBERS }: ReserveOptions): number {
  requireInteger('at_least', at_least, 0)
  requireInteger('count', count, 1)
  if (count > BLOCK_NUMBERS_MAX)
    throw new KeyringError('bad_argument', `count must be at most ${BLOCK_NUMBERS_MAX}`)
  return count
}

/**
 * The first number of a new block. No other transaction can reserve numbers of the tenant until
 * this one ends. Throws `tenant_key_missing` if the tenant has no keys.
 */
export async function chooseBlock(
  tx: KeyringTx,
  owner: BlockOwner,
  { at_least, count }: { at_least: number; count: number },
): Promise<number> {
  await requireLiveTenant(tx, owner.tenant_id)
  const last = await findLastBlock(tx, owner, Number.MAX_SAFE_INTEGER)
  const next = last ? last.first + last.count : 1
  return firstFreeNumber(tx, owner, { from: Math.max(next, at_least), count })
}

export async function requireLiveTenant(tx: KeyringTx, tenant_id: string): Promise<void> {
  if (!(await lockLiveTenant(tx, tenant_id)))
    throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
}

export async function insertBlock(
  tx: KeyringTx,
  { tenant_id, kind }: BlockOwner,
  block: BlockRow,
): Promise<void> {
  await tx.run(tx.tables.insertInto('secret_blocks').values({ tenant_id, kind, ...block }))
}

export async function deleteBlocks(tx: KeyringTx, tenant_id: string): Promise<void> {
  await tx.run(tx.tables.deleteFrom('secret_blocks').where('tenant_id', '=', tenant_id))
}

/** Whether the number was ever handed out. */
export async function isReserved(
  db: KeyringQueries,
  owner: BlockOwner,
  number: number,
): Promise<boolean> {
  const block = await findLastBlock(db, owner, number)
  return block !== undefined && number < block.first + block.count
}

/** The block with the greatest start `<= from`. */
async function findLastBlock(
  db: KeyringQueries,
  { tenant_id, kind }: BlockOwner,
  from: number,
): Promise<BlockRow | undefined> {
  return db.first(
    db.tables
      .selectFrom('secret_blocks')
      .select(['first', 'count'])
      .where('tenant_id', '=', tenant_id)
      .where('kind', '=', kind)
      .where('first', '<=', from)
      .orderBy('first', 'desc')
      .limit(1),
  )
}

/**
 * The start `>= from` of the first `count` consecutive numbers that the ledger does not name. The
 * next start of the service would destroy a new secret under a number that the ledger names. That
 * can only happen in a keyring restored from a backup older than those numbers.
 */
async function firstFreeNumber(
  db: KeyringQueries,
  owner: BlockOwner,
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

/** The highest number in `[first, end)` that the ledger destroys or uses for a renewed secret. */
async function lastLedgerNumber(
  db: KeyringQueries,
  { tenant_id, kind }: BlockOwner,
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
