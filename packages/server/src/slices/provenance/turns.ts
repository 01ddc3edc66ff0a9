// Long work on the event loop, a step in each of its turns.

import { setImmediate } from 'node:timers/promises'

/** What the steps return; between two of them everything else has its turn. */
export async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await setImmediate()
  }
}
