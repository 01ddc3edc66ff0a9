// Long computations in steps, so that other requests can run between them.

/** Yields between steps of a few milliseconds. */
export type Steps<T> = Generator<void, T, void>

/** Runs all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Slots that one step goes over. */
const SLOTS_A_STEP = 0x4000

/** Calls `act` for one range of slots after another. */
export function* overSlots(used: number, act: (from: number, to: number) => void): Steps<void> {
  for (let from = 0; from < used; from += SLOTS_A_STEP) {
    act(from, Math.min(used, from + SLOTS_A_STEP))
    yield
  }
}
