// The clock: times of the log rise, and no clock is behind the newest of them.

import { parseTime, wallTime } from '../../platform/clock.ts'
import { databaseClock } from '../../platform/db/leases.sql.ts'
import { findHead } from '../../slices/gcrumbs/index.ts'
import type { Check } from '../fsck/finding.ts'

/** Clocks of one service may differ so much before it is said. */
const TOLERANCE_US = 5_000_000
const SECOND_US = 1_000_000

/** After `summariseLog`. */
export async function checkClock({ kernel, db, log }: Check) {
  const findings: { kind: string; id: string; what: string }[] = []
  const add = (id: string, what: string) => findings.push({ kind: 'clock', id, what })
  const now_us = wallTime()
  const head = await findHead(db)
  if (log.back_at !== null) add(`entry ${log.back_at}`, 'is not later than the one before it')
  const newest_us = Math.max(head?.last_us ?? 0, parseTime(log.last_at) ?? 0)
  const behind_us = newest_us - now_us
  if (behind_us > TOLERANCE_US)
    add('machine', `is ${seconds(behind_us)} s behind the newest entry of the log`)
  if (kernel.db.source.engine !== 'postgres') return { findings, counts: {} }
  const offset_us = (await databaseClock(db)) - now_us
  if (Math.abs(offset_us) > TOLERANCE_US)
    add('database', `differs from this machine by ${seconds(offset_us)} s`)
  return { findings, counts: { database_offset_ms: Math.round(offset_us / 1_000) } }
}

const seconds = (us: number): number => Math.round(us / SECOND_US)
