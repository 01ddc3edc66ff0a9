// Small projects for tests of tidy, and what its rules find in them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from '../architecture.ts'
import { projectOf } from '../project.ts'
import { checkAll } from '../rules.ts'

export const architecture = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../architecture.json'), 'utf8'),
) as Architecture

export const SERVER = 'packages/server/src'
export const SLICE = `${SERVER}/slices`

type Texts = Readonly<Record<string, string>>

/** A project without ceilings, each text given the first line that every file must have. */
export function sample(texts: Texts, changes: Partial<Architecture> = {}) {
  const entries = Object.entries(texts).map(([path, text]): [string, string] =>
    /\.(ts|js)$/.test(path) ? [path, `// A sample.\n${text}`] : [path, text],
  )
  return projectOf(new Map(entries), { ...architecture, ceilings: {}, ...changes })
}

/** Findings of one rule as `path:line`. */
export function locations(
  rule: string,
  texts: Texts,
  changes: Partial<Architecture> = {},
): string[] {
  return checkAll(sample(texts, changes))
    .filter((finding) => finding.rule === rule)
    .map(({ path, line }) => `${path}:${line}`)
}

/** The rule finds the bad text under this path and nothing in the good one. */
export function assertRule(
  rule: string,
  path: string,
  { bad, good }: { bad: string; good: string },
) {
  assert.equal(locations(rule, { [path]: bad }).length, 1, `missed: ${bad}`)
  assert.deepEqual(locations(rule, { [path]: good }), [], `wrongly found: ${good}`)
}
