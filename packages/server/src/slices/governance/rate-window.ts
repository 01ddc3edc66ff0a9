// Counting requests in a sliding window, by slots: pure arithmetic on counts.

/** How finely a window is divided. What it costs: a request counts up to a 60th too long. */
const SLOTS = 60

export interface Window {
  readonly window_us: number
  readonly max_requests: number
}

/** When the slot of a moment begins. */
export function slotOf(now_us: number, { window_us }: Pick<Window, 'window_us'>): number {
  const width = widthOf(window_us)
  return Math.floor(now_us / width) * width
}

/**
 * Slots that begin after this still reach into the window: any part of one counts in full, so
 * that no window of that length ever holds more than its maximum.
 */
export const countedAfter = (now_us: number, { window_us }: Pick<Window, 'window_us'>): number =>
  now_us - window_us - widthOf(window_us)

const widthOf = (window_us: number): number => Math.max(1, Math.ceil(window_us / SLOTS))

/** Requests by the beginning of their slot. */
export type Slots = Map<number, number>

/** Requests that count now; forgets the slots that do not count any more. */
export function countIn(slots: Slots, now_us: number, window: Window): number {
  const after = countedAfter(now_us, window)
  let sum = 0
  for (const [slot_us, count] of slots) {
    if (slot_us <= after) slots.delete(slot_us)
    else sum += count
  }
  return sum
}
