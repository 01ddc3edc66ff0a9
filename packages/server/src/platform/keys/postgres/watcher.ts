// Checks twice a second what other processes have changed in the keyring.

import { PERIOD_MS } from './held-secrets.ts'
import type { PgQueries } from './keyring-pg.ts'
import { type KeyringState, loadState } from './state.sql.ts'

/** Checks between two signs of life: ten seconds. */
const CHECKS_PER_HEARTBEAT = 20

export interface KeyringWatcher {
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
