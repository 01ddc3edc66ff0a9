// Reads and writes docs/trust-results.json: for each sweep, the result of one run or a sum of runs.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PATH = join(import.meta.dirname, '..', '..', 'docs', 'trust-results.json')

export interface Result {
  readonly form: 'long' | 'short'
  readonly outcome: 'held' | 'failed'
  readonly date: string
  /** Ends with `+` if there were uncommitted changes. Lists all commits of added runs. */
  readonly commit: string
  readonly seconds: number
  readonly machine: string
  readonly counts: Readonly<Record<string, number>>
  /** Number of runs that are added up, the last of them at `date`; default: 1. */
  readonly runs?: number
}

/** Results by the name of the sweep. */
export type Results = Readonly<Record<string, Result>>

export const readResults = (): Results => JSON.parse(readFileSync(PATH, 'utf8'))

export function writeResults(results: Results): void {
  writeFileSync(PATH, `${JSON.stringify(results, null, 2)}\n`)
}

/**
 * If the run and the saved result both held and have the same form, sums them up. If the saved
 * result failed and the run held, changes nothing: only `replaced` removes a failed result. In all
 * other cases, does what `replaced` does.
 */
export function added(results: Results, name: string, result: Result): Results {
  const known = results[name]
  if (known?.outcome === 'failed' && result.outcome === 'held') return results
  if (known?.form !== result.form || result.outcome === 'failed')
    return replaced(results, name, result)
  const counts: Record<string, number> = { ...known.counts }
  for (const [what, count] of Object.entries(result.counts))
    counts[what] = (counts[what] ?? 0) + count
  const runs = (known.runs ?? 1) + 1
  const seconds = known.seconds + result.seconds
  const commit = [...new Set([...known.commit.split(', '), result.commit])].join(', ')
  return { ...results, [name]: { ...result, commit, seconds, counts, runs } }
}

/** Replaces the saved result. A short run that held does not replace a long one. */
export function replaced(results: Results, name: string, result: Result): Results {
  const known = results[name]
  const keeps = known?.form === 'long' && result.form === 'short' && result.outcome === 'held'
  return keeps ? results : { ...results, [name]: result }
}
