// Seeded chance: the same numbers in every run, on every machine.

/** Numbers in [0, 1), 32 bits each (mulberry32). */
export type Random = () => number

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number from 0 to below `end`. */
export const below = (random: Random, end: number): number => Math.floor(random() * end)

export function pick<T>(random: Random, items: readonly T[]): T {
  const [item] = items.slice(below(random, items.length))
  if (item === undefined) throw new Error('there is nothing to pick from')
  return item
}

/** A new list in random order (Fisher-Yates). */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const rest = [...items]
  return items.flatMap(() => rest.splice(below(random, rest.length), 1))
}
