// Which test files there are, and where each of them runs.

import { globSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
const ROOTS = ['packages/*/src', 'packages/*/bin', 'scripts', 'test', 'bench', 'eval']

/** Files that use a PostgreSQL whichever engine the run is on. */
const NEEDS_POSTGRES = /postgres|processes|leases|migrate-engine|purge|upgrade/

/** Files whose service can be on either engine; those that read its files say `embedded`. */
const ON_EITHER =
  /^(packages\/server\/src\/slices|test\/conformance)\/(?!.*\.(embedded|slow)\.test\.ts$)/

/** Of these, the ones that `npm test` runs on PostgreSQL too: together they run every query. */
const ON_BOTH: readonly RegExp[] = [/^packages\/server\/src\/slices\//]

/** Files that change or measure the process they are in. */
const ALONE = /governance\/lazy-loading\.test/

/** Files that take longest: they start first, so that no process is left with one at the end. */
const LONG = /^test\/(?:crash|processes|conformance)\/|^packages\/cli\//

export interface ChosenFiles {
  readonly embedded: readonly string[]
  readonly postgres: readonly string[]
  /** On the embedded engine, a process each. */
  readonly alone: readonly string[]
  readonly needs_postgres: boolean
}

export interface Selection {
  readonly all: boolean
  readonly postgres: boolean
  readonly slow: boolean
  /** With a pattern, hooks and parents of what does not match must not run: a process a file. */
  readonly 'test-name-pattern': readonly string[]
}

/** @param words parts of paths; none: every file */
export function chooseFiles(words: readonly string[], selection: Selection): ChosenFiles {
  const files = globSync(
    ROOTS.map((root) => `${root}/**/*.test.ts`),
    { cwd: ROOT, exclude: (path) => path.includes('node_modules') },
  )
    .filter((path) => selection.slow || !path.endsWith('.slow.test.ts'))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .sort((a, b) => Number(LONG.test(b)) - Number(LONG.test(a)) || (a < b ? -1 : 1))
  const either = files.filter((path) => ON_EITHER.test(path))
  const both = either.filter(
    (path) => words.length === 0 && ON_BOTH.some((rule) => rule.test(path)),
  )
  const isAlone = (path: string) => selection['test-name-pattern'].length > 0 || ALONE.test(path)
  const here = selection.postgres ? [] : files
  const postgres = selection.postgres || selection.all ? either : both
  return {
    embedded: here.filter((path) => !isAlone(path)),
    postgres,
    alone: here.filter(isAlone),
    needs_postgres: postgres.length > 0 || here.some((path) => NEEDS_POSTGRES.test(path)),
  }
}
