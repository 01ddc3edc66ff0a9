// Short and long forms of sweeps: `npm test` runs some cases, `npm run test:slow` all.

import { randomInt } from 'node:crypto'
import { appendFileSync } from 'node:fs'

const SEED = 'CUSTOS_TEST_SEED'
const COUNTS = 'CUSTOS_TEST_COUNTS'
const ROUNDS = 'CUSTOS_TEST_ROUNDS'

const isLong = (): boolean => process.env['CUSTOS_TEST_SLOW'] === '1'

/** How many rounds of a sweep to run. */
export const roundsOf = (short: number, long: number): number => (isLong() ? long : short)

/**
 * In the short form `count` of the cases, evenly spread from a random first, in their order. It
 * prints what makes it choose the same ones again.
 */
export function casesOf<T>(cases: readonly T[], count: number): readonly T[] {
  if (isLong() || count >= cases.length) return cases
  const seed = Number(process.env[SEED] ?? randomInt(1_000_000))
  console.log(`${SEED}=${seed} chooses ${count} of ${cases.length} cases`)
  const first = seed % cases.length
  const chosen = Array.from(
    { length: count },
    (_, i) => (first + Math.floor((i * cases.length) / count)) % cases.length,
  )
  return chosen.sort((a, b) => a - b).flatMap((index) => cases.slice(index, index + 1))
}

/** How many rounds a long sweep has: the number given, or its own. */
export const longRounds = (own: number): number => Number(process.env[ROUNDS] ?? own)

/** What a sweep has done, where somebody keeps results: `npm run trust` adds the lines up. */
export function noteCounts(counts: Readonly<Record<string, number>>): void {
  const path = process.env[COUNTS]
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(counts)}\n`)
}
