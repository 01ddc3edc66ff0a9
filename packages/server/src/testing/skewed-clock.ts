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
