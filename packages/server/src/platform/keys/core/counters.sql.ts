// Counters that put the changes of several processes in an order.

import { KeyringError } from '../keyring-error.ts'
import type { KeyringQueries, KeyringTx } from './database.ts'

/** `destroyed`: secrets ever destroyed. `ledger`: the last number of an entry. */
type Counter = 'destroyed' | 'ledger'

/** From here to the end of the transaction this is the only one to change what is counted. */
export async function lockCounter(tx: KeyringTx, name: Counter): Promise<void> {
  await tx.first(selectCounter(tx, name).forUpdate())
}

/** The last number that a committed transaction has taken. */
export async function lastNumber(db: KeyringQueries, name: Counter): Promise<number> {
  return (await db.first(selectCounter(db, name)))?.value ?? 0
}

/** The first of `count` numbers that are now this transaction's. */
export async function takeNumbers(tx: KeyringTx, name: Counter, count: number): Promise<number> {
  const query = tx.tables
    .updateTable('counters')
    .set((eb) => ({ value: eb('value', '+', count) }))
    .where('name', '=', name)
  const row = await tx.first(query.returning('value'))
  if (!row) throw new KeyringError('keyring_damaged', `the keyring has no counter ${name}`)
  return row.value - count + 1
}

const selectCounter = (db: KeyringQueries, name: Counter) =>
  db.tables.selectFrom('counters').select('value').where('name', '=', name)
