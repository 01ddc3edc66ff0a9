// Periods in which governed decisions are counted: those of a subscription, or calendar months.

import { formatTime } from '../../../platform/clock.ts'
import type { SharedSlot, TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { findMarks, findPaidTime, insertMark } from './usage.sql.ts'
import { calendarMonth, countGoverned, countGovernedEver, pendingGoverned } from './usage.ts'

/**
 * Records the total at the beginning of a period, unless it is recorded already.
 * @param uncounted governed decisions of this unit, which belong to the new period
 */
export async function markPeriod(tx: Tx, period_start_us: number, uncounted = 0): Promise<void> {
  tx.shared.set(slot, null)
  const total = (await countGovernedEver(tx)) - uncounted
  await insertMark(tx, { period_start_us, total })
}

interface Period {
  /** `YYYY-MM` for a month, else the day on which the period begins. */
  readonly name: string
  readonly start_at: string
  /** Exclusive end. */
  readonly end_at: string
  readonly source: 'subscription' | 'calendar_month'
}

interface CountedPeriod extends Period {
  /** Governed decisions in the period. */
  readonly used: number
}

/** Read once per commit, with the counts of earlier commits. */
const slot: SharedSlot<CountedPeriod | null> = { name: 'period', flush: async () => {} }

/** Same as `currentPeriod`, in a unit that counted a governed decision; may begin a period. */
export async function countedPeriod(
  tx: Tx,
  now_us: number,
  { begins }: { readonly begins: boolean },
): Promise<CountedPeriod> {
  const known = tx.shared.get(slot) ?? null
  if (known !== null && formatTime(now_us) < known.end_at)
    return { ...known, used: known.used + pendingGoverned(tx) }
  if (begins) await beginPeriod(tx, now_us)
  const period = await currentPeriod(tx, now_us)
  tx.shared.set(slot, { ...period, used: period.used - pendingGoverned(tx) })
  return period
}

/** The current period with its count; in a unit of work, including that unit's counts. */
export async function currentPeriod(db: TenantDb, now_us: number): Promise<CountedPeriod> {
  const paid = await findPaidPeriod(db)
  if (paid === null || now_us < paid.period_start_us) {
    const { period, ...month } = calendarMonth(now_us, 0)
    const used = await countGoverned(db, period)
    return { name: period, ...month, source: 'calendar_month', used }
  }
  // Past the end of the period the next one has begun, though the provider has not reported it yet.
  const isOver = now_us >= paid.period_end_us
  const start_us = isOver ? paid.period_end_us : paid.period_start_us
  const length_us = paid.period_end_us - paid.period_start_us
  const marks = await findMarks(db)
  const mark = marks.find(({ period_start_us }) => period_start_us === start_us)
  const used = mark === undefined ? 0 : (await countGovernedEver(db)) - mark.total
  return {
    name: formatTime(start_us).slice(0, 10),
    start_at: formatTime(start_us),
    end_at: formatTime(isOver ? start_us + length_us : paid.period_end_us),
    source: 'subscription',
    used,
  }
}

/** Runs in the unit that counts the first governed decision after the end of a paid period. */
async function beginPeriod(tx: Tx, now_us: number): Promise<void> {
  const paid = await findPaidPeriod(tx)
  if (paid === null || now_us < paid.period_end_us) return
  const marks = await findMarks(tx)
  if (marks.some(({ period_start_us }) => period_start_us === paid.period_end_us)) return
  await markPeriod(tx, paid.period_end_us, 1)
}

const PAID: readonly string[] = ['trialing', 'active', 'canceling', 'past_due']

async function findPaidPeriod(db: TenantDb) {
  const row = await findPaidTime(db)
  if (!row || !PAID.includes(row.status)) return null
  const { period_start_us, period_end_us } = row
  return period_start_us === null || period_end_us === null
    ? null
    : { period_start_us, period_end_us }
}
