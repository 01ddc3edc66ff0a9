// A small seeded generator: a failing run is repeated by giving its seed again.

export interface Random {
  readonly seed: number
  /** 0 up to, not including, `below`. */
  int(below: number): number
  pick<T>(items: readonly T[]): T | undefined
}

/** Mulberry32. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const int = (below: number) => next() % below
  return { seed, int, pick: (items) => items[int(Math.max(1, items.length))] }
}

/** A seed of this run, or the one given in CUSTOS_TEST_SEED. */
export function seedOfRun(): number {
  const given = process.env['CUSTOS_TEST_SEED']
  return given === undefined ? Date.now() % 2 ** 31 : Number(given)
}
