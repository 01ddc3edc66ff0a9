// Signing keys ever made; a retired one keeps its row and loses its seed.

import type { KeyringDb } from './keyring-db.ts'

export interface SigningKeyRow {
  readonly key_id: string
  readonly purpose: string
  readonly public_key: Uint8Array
  /** Wrapped; null once retired. */
  readonly seed: Uint8Array | null
  readonly valid_from: string
  readonly retired_at: string | null
}

const COLUMNS = 'key_id, purpose, public_key, seed, valid_from, retired_at'

export function listSigningKeys(db: KeyringDb): SigningKeyRow[] {
  return db.all(`SELECT ${COLUMNS} FROM signing_keys ORDER BY valid_from, ordinal`)
}

export function insertSigningKey(db: KeyringDb, row: SigningKeyRow): void {
  db.run(
    `INSERT INTO signing_keys (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`,
    row.key_id,
    row.purpose,
    row.public_key,
    row.seed,
    row.valid_from,
    row.retired_at,
  )
}

export function updateRetired(db: KeyringDb, key_id: string, retired_at: string): void {
  db.run('UPDATE signing_keys SET retired_at = ?, seed = NULL WHERE key_id = ?', retired_at, key_id)
}

export function updateSeed(db: KeyringDb, key_id: string, seed: Uint8Array): void {
  db.run('UPDATE signing_keys SET seed = ? WHERE key_id = ?', seed, key_id)
}
