// Which test files there are, and where each of them runs.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
const ROOTS = ['packages/*/src', 'packages/*/bin', 'scripts', 'test', 'bench', 'eval']

/** Files that use a PostgreSQL whichever engine the run is on. */
const NEEDS_POSTGRES = /postgres|processes|leases|migrate-engine|purge|upgrade/

/** Files that start programs: commands, several services, browsers, Python. */
const STARTS_PROGRAMS =
  /^test\/(adapters|client|console|crash|docs|mcp|pages|processes|python|upgrade|witness)\//

/** Files whose service can be on either engine; those that read its files say `embedded`. */
const ON_EITHER =
  /^(packages\/server\/src\/slices|test\/conformance)\/(?!.*\.(embedded|slow)\.test\.ts$)/

/** Of these, the ones that `--all` runs on PostgreSQL too: together they run every query. */
export const POSTGRES_FILES = join(import.meta.dirname, 'postgres-files.json')

/** Files that change or measure the process they are in. */
const ALONE = /governance\/lazy-loading\.test/

/** Files that take longest: they start first, so that no process is left with one at the end. */
const LONG = /^test\/(?:crash|processes|conformance)\/|^packages\/cli\//

export interface ChosenFiles {
  readonly embedded: readonly string[]
  /** With the service on PostgreSQL. */
  readonly postgres: readonly string[]
  /** They use PostgreSQL by themselves. */
  readonly with_postgres: readonly string[]
  /** On the embedded engine, a process each. */
  readonly alone: readonly string[]
}

export interface Selection {
  /** Without: neither files that start programs nor files that use a PostgreSQL. */
  readonly all: boolean
  /** Every file that can be is run on PostgreSQL as well. */
  readonly both: boolean
  readonly postgres: boolean
  readonly slow: boolean
  /** With a pattern, hooks and parents of what does not match must not run: a process a file. */
  readonly 'test-name-pattern': readonly string[]
}

/** @param words parts of paths: files with one of them, whatever they need */
export function chooseFiles(words: readonly string[], selection: Selection): ChosenFiles {
  const isWhole = selection.all || selection.both || selection.postgres
  const isWanted = (path: string) =>
    words.length > 0
      ? words.some((word) => path.includes(word))
      : isWhole || !(STARTS_PROGRAMS.test(path) || NEEDS_POSTGRES.test(path))
  const files = globSync(
    ROOTS.map((root) => `${root}/**/*.test.ts`),
    { cwd: ROOT, exclude: (path) => path.includes('node_modules') },
  )
    .filter((path) => selection.slow || !path.endsWith('.slow.test.ts'))
    .filter(isWanted)
    .sort((a, b) => Number(LONG.test(b)) - Number(LONG.test(a)) || (a < b ? -1 : 1))
  const either = files.filter((path) => ON_EITHER.test(path))
  const listed: string[] = JSON.parse(readFileSync(POSTGRES_FILES, 'utf8'))
  const main = selection.all && words.length === 0 ? listed : []
  const isAlone = (path: string) => selection['test-name-pattern'].length > 0 || ALONE.test(path)
  const shared = selection.postgres ? [] : files.filter((path) => !isAlone(path))
  return {
    embedded: shared.filter((path) => !NEEDS_POSTGRES.test(path)),
    postgres: either.filter(
      (path) => !isAlone(path) && (selection.postgres || selection.both || main.includes(path)),
    ),
    with_postgres: shared.filter((path) => NEEDS_POSTGRES.test(path)),
    alone: selection.postgres ? [] : files.filter(isAlone),
  }
}
