// Queries on signing keys. A retired key keeps its row but loses its seed.

import type { KeyringQueries, KeyringTx } from './database.ts'
import type { KeyringTables } from './tables.ts'

export type SigningKeyRow = Readonly<Omit<KeyringTables['signing_keys'], 'ordinal'>>

export async function listSigningKeys(db: KeyringQueries): Promise<SigningKeyRow[]> {
  return db.all(
    db.tables
      .selectFrom('signing_keys')
      .select(['key_id', 'purpose', 'public_key', 'seed', 'valid_from', 'retired_at'])
      .orderBy('valid_from')
      .orderBy('ordinal'),
  )
}

export async function insertSigningKey(tx: KeyringTx, row: SigningKeyRow): Promise<void> {
  await tx.run(tx.tables.insertInto('signing_keys').values(row))
}

/** Retires the current key of the purpose, if there is one. */
export async function updateRetired(tx: KeyringTx, purpose: string, at: string): Promise<void> {
  await tx.run(
    tx.tables
      .updateTable('signing_keys')
      .set({ retired_at: at, seed: null })
      .where('purpose', '=', purpose)
      .where('retired_at', 'is', null),
  )
}

export async function updateSeed(tx: KeyringTx, key_id: string, seed: Uint8Array): Promise<void> {
  await tx.run(tx.tables.updateTable('signing_keys').set({ seed }).where('key_id', '=', key_id))
}
