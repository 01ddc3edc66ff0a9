// Looking, twice a second, at what other processes have done to the keyring.

import { TURN_MS } from './held-secrets.ts'
import type { PgQueries } from './keyring-pg.ts'
import { loadState, type State } from './state.sql.ts'

/** Looks between two signs of life: every ten seconds. */
const LOOKS_A_SIGN = 20

export interface Watched {
  /** Wipes what has been in memory for too long; never waits. */
  turn(): void
  follow(state: State): Promise<void>
  /** The look failed; the next one may not. */
  lost(): void
  /** Tells other processes that this one is alive. */
  sign(): Promise<void>
}

/** Returns how to stop it, which waits for the look that is under way. */
export function watch(db: PgQueries, watched: Watched): () => Promise<void> {
  let looks = 0
  let looking: Promise<void> | undefined
  const look = async () => {
    try {
      await watched.follow(await loadState(db))
      looks += 1
      if (looks % LOOKS_A_SIGN === 0) await watched.sign()
    } catch {
      // Whoever needs the keyring meanwhile is told what is wrong with it.
      watched.lost()
    }
  }
  const timer = setInterval(() => {
    watched.turn()
    looking ??= look().finally(() => {
      looking = undefined
    })
  }, TURN_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await looking
  }
}
