// Finds the newest time in any log, after which the clock of the next run starts.

import { CLOCK_ADVICE, type ProcessClock, secondsAhead } from '../../platform/clock.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { type Database, PLATFORM } from '../../platform/db/database.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { findHeads } from '../../slices/gcrumbs/index.ts'

/** Microseconds; 0 if there is no log. */
async function lastLogTime(db: Database): Promise<number> {
  let last = 0
  const heads = await findHeads(db, await db.read(PLATFORM, listTenantIds))
  for (const { last_us } of heads.values()) last = Math.max(last, last_us)
  return last
}

/** Keeps new entries later than existing ones, and logs a machine clock that is behind them. */
export async function raiseClock(clock: ProcessClock, db: Database, logger: Logger): Promise<void> {
  const last_us = await lastLogTime(db)
  const seconds = secondsAhead(last_us)
  if (seconds > 0) logger.warn('clock.behind_log', { seconds, advice: CLOCK_ADVICE })
  clock.raise(last_us)
}
