// The clock of a process on a machine whose clock is wrong.

import { type ProcessClock, systemClock } from '../platform/clock.ts'

/** The system's clock, ahead by so much. */
export function skewedClock(ahead_us: number): ProcessClock {
  const clock = systemClock()
  return {
    now: () => clock.now() + ahead_us,
    raise: (us) => clock.raise(us - ahead_us),
  }
}

/** The system's clock, which a test may put forward while it runs. */
export function movedClock(): ProcessClock & { forward(us: number): void } {
  const clock = systemClock()
  let ahead_us = 0
  return {
    now: () => clock.now() + ahead_us,
    raise: (us) => clock.raise(us - ahead_us),
    forward(us) {
      ahead_us += us
    },
  }
}
