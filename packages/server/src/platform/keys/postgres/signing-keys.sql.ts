// Signing keys ever made; a retired one keeps its row and loses its seed.

import type { SigningKeyRow } from '../signing-keys.sql.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'

export async function listSigningKeys(db: PgQueries): Promise<SigningKeyRow[]> {
  return db.all<SigningKeyRow>(
    `SELECT key_id, purpose, public_key, seed, valid_from, retired_at FROM keyring.signing_keys
     ORDER BY valid_from, ordinal`,
  )
}

export async function insertSigningKey(tx: PgTx, row: SigningKeyRow): Promise<void> {
  await tx.run(
    `INSERT INTO keyring.signing_keys
       (key_id, purpose, public_key, seed, valid_from, retired_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    row.key_id,
    row.purpose,
    row.public_key,
    row.seed,
    row.valid_from,
    row.retired_at,
  )
}

/** The current key of the purpose, if there is one. */
export async function updateRetired(tx: PgTx, purpose: string, at: string): Promise<void> {
  await tx.run(
    `UPDATE keyring.signing_keys SET retired_at = $2, seed = NULL
     WHERE purpose = $1 AND retired_at IS NULL`,
    purpose,
    at,
  )
}

export async function updateSeed(tx: PgTx, key_id: string, seed: Buffer): Promise<void> {
  await tx.run('UPDATE keyring.signing_keys SET seed = $2 WHERE key_id = $1', key_id, seed)
}
