// Pure: due dates of requests. GDPR Article 12(3): one month after receipt, two more if necessary.

import { formatTime, parseTime } from '../../platform/clock.ts'

const MONTHS = 1
const EXTENDED_MONTHS = 3
const FURTHER_MONTHS = EXTENDED_MONTHS - MONTHS

/**
 * The same day and time `months` calendar months later, or the last day of the month if it has no
 * such day (Regulation (EEC, Euratom) No 1182/71, Article 3(2)(c)). Microseconds in UTC.
 */
export function addMonths(us: number, months: number): number {
  const text = formatTime(us)
  const [year, month, day] = [text.slice(0, 4), text.slice(5, 7), text.slice(8, 10)].map(Number)
  const count = (year ?? 0) * 12 + (month ?? 1) - 1 + months
  const [inYear, inMonth] = [Math.floor(count / 12), (count % 12) + 1]
  for (let last = day ?? 1; ; last -= 1) {
    const date = [String(inYear).padStart(4, '0'), two(inMonth), two(last)].join('-')
    const found = parseTime(`${date}${text.slice(10)}`)
    // A month has at least 28 days, and the clock's range ends after any of these periods.
    if (found !== null || last <= 28) return found ?? us
  }
}

const two = (value: number): string => String(value).padStart(2, '0')

/** One month after receipt. */
export const dueAfter = (received_us: number): number => addMonths(received_us, MONTHS)

/** Two further months, thus three after receipt, unless the request set another due date. */
export const extendedDue = (received_us: number, due_us: number): number =>
  due_us === dueAfter(received_us)
    ? addMonths(received_us, EXTENDED_MONTHS)
    : addMonths(due_us, FURTHER_MONTHS)
