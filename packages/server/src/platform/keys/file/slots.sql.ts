// Queries on which slots of the slot file hold which secrets.

import type { BlockOwner, BlockRow } from '../core/blocks.sql.ts'
import type { KeyringQueries, KeyringTx } from '../core/database.ts'
import { KeyringError } from '../keyring-error.ts'

/** Numbers `first … first+count-1` are in slots `slot … slot+count-1`. */
export type SlotBlock = Required<BlockRow>

/** Blocks that start at `from` or later, ascending. */
export async function listBlocks(
  db: KeyringQueries,
  { tenant_id, kind }: BlockOwner,
  from: number,
): Promise<SlotBlock[]> {
  return db.all(
    db.tables
      .selectFrom('secret_blocks')
      .select(['first', 'count', 'slot'])
      .$narrowType<{ slot: number }>()
      .where('tenant_id', '=', tenant_id)
      .where('kind', '=', kind)
      .where('first', '>=', from)
      .orderBy('first'),
  )
}

export async function hasBlocks(db: KeyringQueries, tenant_id: string): Promise<boolean> {
  const query = db.tables.selectFrom('secret_blocks').select('first')
  return (await db.first(query.where('tenant_id', '=', tenant_id).limit(1))) !== undefined
}

/** End (exclusive) of the slots in use. */
export async function loadSlotsEnd(db: KeyringQueries): Promise<number> {
  return slotsEndOf(await db.first(db.tables.selectFrom('instance').select('slots_end')))
}

/** Reserves `count` slots for this transaction and returns the first; free again on rollback. */
export async function takeSlots(tx: KeyringTx, count: number): Promise<number> {
  const query = tx.tables
    .updateTable('instance')
    .set((eb) => ({ slots_end: eb('slots_end', '+', count) }))
    .returning('slots_end')
  return slotsEndOf(await tx.first(query)) - count
}

function slotsEndOf(row: { slots_end?: number | undefined } | undefined): number {
  if (row?.slots_end !== undefined) return row.slots_end
  throw new KeyringError('keyring_damaged', 'the keyring has no instance row')
}

/** Slots of the keys of the given days. */
export async function listDaySlots(
  db: KeyringQueries,
  days: readonly number[],
): Promise<{ day: number; slot: number }[]> {
  return db.all(db.tables.selectFrom('day_keys').selectAll().where('day', 'in', days))
}

/** Slots of the keys of all days before `day`, ascending by day. */
export async function listDaysBefore(
  db: KeyringQueries,
  day: number,
): Promise<{ day: number; slot: number }[]> {
  const query = db.tables.selectFrom('day_keys').selectAll().where('day', '<', day)
  return db.all(query.orderBy('day'))
}

export async function insertDay(tx: KeyringTx, row: { day: number; slot: number }): Promise<void> {
  await tx.run(tx.tables.insertInto('day_keys').values(row))
}

export async function deleteDays(tx: KeyringTx, days: readonly number[]): Promise<void> {
  await tx.run(tx.tables.deleteFrom('day_keys').where('day', 'in', days))
}
