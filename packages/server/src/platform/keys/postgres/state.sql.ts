// A query for the numbers that tell whether anything a process holds in memory has changed.

import { KeyringError } from '../keyring-error.ts'
import type { PgQueries } from './keyring-pg.ts'

export interface KeyringState {
  /** Secrets ever destroyed. */
  readonly destroyed: number
  /** Signing keys ever made plus those retired. */
  readonly key_changes: number
  /** Keys of days before it are gone. */
  readonly day_floor: number
  /** Tenants ever destroyed. */
  readonly tenants_destroyed: number
}

export async function loadState(db: PgQueries): Promise<KeyringState> {
  const row = await db.queryFirst<KeyringState>(
    `SELECT (SELECT value FROM keyring.counters WHERE name = 'destroyed') AS destroyed,
       (SELECT count(*) + count(retired_at) FROM keyring.signing_keys) AS key_changes,
       (SELECT day_floor FROM keyring.instance) AS day_floor,
       coalesce((SELECT value FROM keyring.counters WHERE name = 'tenants_destroyed'), 0)
         AS tenants_destroyed`,
  )
  if (row) return row
  throw new KeyringError('keyring_damaged', 'the keyring has no state')
}
