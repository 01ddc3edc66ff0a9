// Counters that order the changes of several processes.

import { KeyringError } from '../keyring-error.ts'
import type { KeyringQueries, KeyringTx } from './database.ts'

/** `destroyed`: number of secrets ever destroyed; `ledger`: the last entry number. */
type Counter = 'destroyed' | 'ledger'

/** Until the transaction ends, only this one can change what the counter counts. */
export async function lockCounter(tx: KeyringTx, name: Counter): Promise<void> {
  await tx.first(selectCounter(tx, name).forUpdate())
}

/** The last number that a committed transaction has taken. */
export async function lastNumber(db: KeyringQueries, name: Counter): Promise<number> {
  return (await db.first(selectCounter(db, name)))?.value ?? 0
}

/** Reserves `count` numbers for this transaction and returns the first. */
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
