// Checks twice a second what other processes have changed in the keyring.

import { KeyringError } from '../keyring-error.ts'
import { PERIOD_MS } from './held-secrets.ts'
import type { PgQueries } from './keyring-pg.ts'

interface KeyringState {
  /** Secrets ever destroyed. */
  readonly destroyed: number
  /** Signing keys ever created, those retired, and those of other clusters valid for longer. */
  readonly key_changes: number
  /** Keys of days before it are gone. */
  readonly day_floor: number
  /** Tenants ever destroyed. */
  readonly tenants_destroyed: number
}

/** Numbers that show whether anything a process holds in memory has changed. */
export async function loadState(db: PgQueries): Promise<KeyringState> {
  const row = await db.queryFirst<KeyringState>(
    `SELECT (SELECT value FROM keyring.counters WHERE name = 'destroyed') AS destroyed,
       (SELECT count(*) + count(retired_at) FROM keyring.signing_keys)
         + coalesce((SELECT value FROM keyring.counters WHERE name = 'keys_prolonged'), 0)
         AS key_changes,
       (SELECT day_floor FROM keyring.instance) AS day_floor,
       coalesce((SELECT value FROM keyring.counters WHERE name = 'tenants_destroyed'), 0)
         AS tenants_destroyed`,
  )
  if (row) return row
  throw new KeyringError('keyring_damaged', 'the keyring has no state')
}

/** Checks between two signs of life: ten seconds. */
const CHECKS_PER_HEARTBEAT = 20

interface KeyringWatcher {
  /** Wipes what has been in memory for too long; never waits. */
  wipeExpired(): void
  follow(state: KeyringState): Promise<void>
  /** A check failed; the next one may succeed. */
  checkFailed(): void
  /** Tells other processes that this one is alive. */
  heartbeat(): Promise<void>
}

/** Returns a function that stops the checks and waits for the one that is running. */
export function watchKeyring(db: PgQueries, watcher: KeyringWatcher): () => Promise<void> {
  let checks = 0
  let running: Promise<void> | undefined
  const check = async () => {
    try {
      await watcher.follow(await loadState(db))
      checks += 1
      if (checks % CHECKS_PER_HEARTBEAT === 0) await watcher.heartbeat()
    } catch {
      // Calls that need the keyring meanwhile report what is wrong with it.
      watcher.checkFailed()
    }
  }
  const timer = setInterval(() => {
    watcher.wipeExpired()
    running ??= check().finally(() => {
      running = undefined
    })
  }, PERIOD_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
