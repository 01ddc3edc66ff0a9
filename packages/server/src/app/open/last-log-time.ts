// The newest time any log holds: the clock of the next run starts behind it.

import { CLOCK_ADVICE, type ProcessClock, secondsAhead } from '../../platform/clock.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { type Database, PLATFORM } from '../../platform/db/database.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { findHeads } from '../../slices/gcrumbs/index.ts'

/** Microseconds; 0 where there is no log. */
async function lastLogTime(db: Database): Promise<number> {
  let last = 0
  const heads = await findHeads(db, await db.read(PLATFORM, listTenantIds))
  for (const { last_us } of heads.values()) last = Math.max(last, last_us)
  return last
}

/** No entry is dated before an earlier one; a machine whose clock is behind them is reported. */
export async function raiseClock(clock: ProcessClock, db: Database, logger: Logger): Promise<void> {
  const last_us = await lastLogTime(db)
  const seconds = secondsAhead(last_us)
  if (seconds > 0) logger.warn('clock.behind_log', { seconds, advice: CLOCK_ADVICE })
  clock.raise(last_us)
}
