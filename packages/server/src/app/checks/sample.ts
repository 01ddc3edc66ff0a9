// Chooses the places of a sample by a seed, so that anybody can repeat the choice.

import { hash } from 'node:crypto'
import type { Sample } from './check-context.ts'

const DIGITS = 12

interface Range {
  /** Name of the sampled rows: samples of different names differ for the same seed. */
  readonly name: string
  readonly first: number
  readonly last: number
  readonly count: number
}

/** Distinct numbers, ascending, after which a page is checked; always includes the first page. */
export function chooseStarts(seed: string, { name, first, last, count }: Range): number[] {
  const starts = new Set([first - 1])
  for (let i = 1; i < count; i += 1) {
    const drawn = hash('sha256', `${seed}/${name}/${i}`).slice(0, DIGITS)
    starts.add(first - 1 + (Number.parseInt(drawn, 16) % (last - first + 1)))
  }
  return [...starts].sort((a, b) => a - b)
}

/**
 * The places of a sample; null if there are few enough items to check all. The first round chooses
 * them and later rounds reuse them: one more row would change every place, and the next round would
 * not see the findings of the first.
 * @param of.there how many there are now
 * @param of.page how many are checked after each place
 */
export async function chooseSample(
  { size, seed, chosen }: Sample,
  { name, there, page }: { readonly name: string; readonly there: number; readonly page: number },
  readRange: () => Promise<Pick<Range, 'first' | 'last'>>,
): Promise<readonly number[] | null> {
  const known = chosen.get(name)
  if (known !== undefined) return known
  const count = Math.ceil(size / page)
  const places = there > size ? chooseStarts(seed, { ...(await readRange()), name, count }) : null
  chosen.set(name, places)
  return places
}
