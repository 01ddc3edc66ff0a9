// Splits long computations into steps, so that other requests can run between them.

/** Yields between steps of a few milliseconds. */
export type Steps<T> = Generator<void, T, void>

/** Runs all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Slots processed per step. */
const SLOTS_A_STEP = 0x4000

/** Calls `act` for consecutive ranges of slots, with a step between them. */
export function* overSlots(used: number, act: (from: number, to: number) => void): Steps<void> {
  for (let from = 0; from < used; from += SLOTS_A_STEP) {
    act(from, Math.min(used, from + SLOTS_A_STEP))
    yield
  }
}
