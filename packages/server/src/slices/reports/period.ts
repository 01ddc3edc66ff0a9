// The period of a report, from what was asked for.

import { type GenerateReportRequest, REPORT_PERIOD_DAYS_MAX } from '@custos/contract'
import { formatTime, parseTime } from '../../platform/clock.ts'
import { Refusal } from '../../platform/refusal.ts'

const DAY_US = 86_400_000_000
const DAYS_DEFAULT = 30

export interface Period {
  readonly from_us: number
  readonly to_us: number
  readonly period_start: string
  readonly period_end: string
}

/** Refuses a period that is none, or too long. */
export function periodOf(request: GenerateReportRequest, now_us: number): Period {
  const { from, to, period_days } = request
  if (from !== undefined && period_days !== undefined)
    throw new Refusal('rejected', 'give from or period_days, not both')
  const to_us = to === undefined ? now_us : microseconds(to)
  const days = period_days ?? DAYS_DEFAULT
  const from_us = from === undefined ? to_us - days * DAY_US : microseconds(from)
  // What is in force at its end, and what will happen in it, nobody knows yet.
  if (to_us > now_us) throw new Refusal('rejected', 'the period ends in the future')
  if (from_us >= to_us) throw new Refusal('rejected', 'the period ends before it begins')
  if (to_us - from_us > REPORT_PERIOD_DAYS_MAX * DAY_US)
    throw new Refusal('rejected', `a period has at most ${REPORT_PERIOD_DAYS_MAX} days`)
  return { from_us, to_us, period_start: formatTime(from_us), period_end: formatTime(to_us) }
}

/** Of a time whose form was checked. */
function microseconds(time: string): number {
  const us = parseTime(time)
  if (us === null) throw new Refusal('rejected', 'the time is none that can be used')
  return us
}
