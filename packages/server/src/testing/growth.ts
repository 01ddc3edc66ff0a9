// Says how the cost of a text grows with its length, in processor time of the same run.

import assert from 'node:assert/strict'

const FACTOR = 8
/** Linear work costs 8 times as much for 8 times the text, quadratic work 64 times. */
const GROWTH_MAX = 32
const TRIES = 3
/** Below this, processor time says nothing: such work is no risk at any growth. */
const NOISE_MS = 20

/**
 * Fails when `work` grows like the square of its input: 8 times the length may cost 32 times the
 * processor time, the least of three runs each. `size` is the length of the long run. A busy
 * machine slows both runs down, and waiting is not counted.
 */
export function assertLinear(size: number, work: (size: number) => void, name = ''): void {
  const short = leastMs(() => work(Math.floor(size / FACTOR)))
  const long = leastMs(() => work(size))
  if (long <= NOISE_MS) return
  const growth = long / Math.max(short, NOISE_MS / FACTOR)
  assert(growth < GROWTH_MAX, `${name}: ${FACTOR} times the input costs ${growth} times as much`)
}

function leastMs(work: () => void): number {
  const runs = Array.from({ length: TRIES }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...runs)
}
