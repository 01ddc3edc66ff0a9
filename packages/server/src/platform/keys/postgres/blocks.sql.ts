// Queries on which numbers of a tenant were ever given out.

import type { SecretKind } from '../keyring.ts'
import type { KeyringQueries, KeyringTx } from '../shared/database.ts'

/** `first … end-1`. */
export interface NumberRange {
  readonly first: number
  readonly end: number
}

interface BlockOwner {
  readonly tenant_id: string
  readonly kind: SecretKind
}

export async function insertBlock(
  tx: KeyringTx,
  { tenant_id, kind }: BlockOwner,
  { first, end }: NumberRange,
): Promise<void> {
  const row = { tenant_id, kind, first, count: end - first }
  await tx.run(tx.tables.insertInto('secret_blocks').values(row))
}

export async function deleteBlocks(tx: KeyringTx, tenant_id: string): Promise<void> {
  await tx.run(tx.tables.deleteFrom('secret_blocks').where('tenant_id', '=', tenant_id))
}

/** The block that starts last, of those that start at `from` or before. */
export async function findLastBlock(
  db: KeyringQueries,
  { tenant_id, kind }: BlockOwner,
  from: number,
): Promise<NumberRange | undefined> {
  return db.first(
    db.tables
      .selectFrom('secret_blocks')
      .select((eb) => ['first', eb('first', '+', eb.ref('count')).as('end')])
      .where('tenant_id', '=', tenant_id)
      .where('kind', '=', kind)
      .where('first', '<=', from)
      .orderBy('first', 'desc')
      .limit(1),
  )
}
