// The results that are kept: the last run of each sweep, in docs/trust-results.json.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PATH = join(import.meta.dirname, '..', '..', 'docs', 'trust-results.json')

export interface Result {
  readonly form: 'long' | 'short'
  readonly outcome: 'held' | 'failed'
  readonly date: string
  /** `+` at the end: with changes that were not committed. */
  readonly commit: string
  readonly seconds: number
  readonly machine: string
  readonly counts: Readonly<Record<string, number>>
}

/** By name of the sweep. */
export type Results = Readonly<Record<string, Result>>

export const readResults = (): Results => JSON.parse(readFileSync(PATH, 'utf8'))

export function writeResults(results: Results): void {
  writeFileSync(PATH, `${JSON.stringify(results, null, 2)}\n`)
}

/** A short run that holds says less than a long one: it does not take its place. */
export function replaced(results: Results, name: string, result: Result): Results {
  const known = results[name]
  const keeps = known?.form === 'long' && result.form === 'short' && result.outcome === 'held'
  return keeps ? results : { ...results, [name]: result }
}
