// What work costs: how its processor time grows with a text, and how often others run beside it.

import assert from 'node:assert/strict'

const FACTOR = 8
/** Linear work costs as much for one text as for its parts, quadratic work 8 times as much. */
const GROWTH_MAX = 4
/** A busy machine disturbs a measurement: the least costs of all rounds are compared. */
const ROUNDS_MAX = 8
/** Below this, processor time says nothing: such work is no risk at any growth. */
const NOISE_MS = 20

/**
 * Fails when `work` grows like the square of its input: a text of `size` may cost 4 times the
 * processor time of 8 texts of an eighth of it. Only this thread's time is counted, no waiting and
 * no other thread's. It ends with the first round that shows no such growth.
 */
export function assertLinear(size: number, work: (size: number) => void, name = ''): void {
  const part = Math.floor(size / FACTOR)
  const parts = Array.from({ length: FACTOR }, () => part)
  // Compiles what is measured.
  work(part)
  let [whole_ms, parts_ms] = [Infinity, Infinity]
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    parts_ms = Math.min(parts_ms, costMs(parts, work))
    whole_ms = Math.min(whole_ms, costMs([size], work))
    if (whole_ms <= NOISE_MS || whole_ms < GROWTH_MAX * parts_ms) return
  }
  assert.fail(`${name}: one text costs ${whole_ms / parts_ms} times as much as its ${FACTOR} parts`)
}

function costMs(sizes: readonly number[], work: (size: number) => void): number {
  const before = process.threadCpuUsage()
  for (const size of sizes) work(size)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** Iterations of the event loop until `act` ends: other requests are answered in each. */
export async function countIterations(act: () => Promise<unknown>): Promise<number> {
  let [iterations, over] = [0, false]
  const turn = () => {
    iterations += 1
    if (!over) setImmediate(turn)
  }
  setImmediate(turn)
  await act()
  over = true
  return iterations
}
