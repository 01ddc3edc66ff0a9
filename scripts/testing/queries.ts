// Which named queries (exported functions of *.sql.ts) the tests run on PostgreSQL.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.ts'

const EXPORTED = /^export (?:async )?(?:function\*? |const )(\w+)(?=[^\n]*(?:\(|=>))/gm

/** As `path function`. */
export function listQueries(): string[] {
  return globSync('packages/server/src/**/*.sql.ts', { cwd: ROOT })
    .sort()
    .flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(EXPORTED)].map(
        ([, name]) => `${path} ${name}`,
      ),
    )
}

/**
 * Files that together call every query that any of them calls, cheapest first: each step takes the
 * file with the most new queries a second.
 */
export function coveringFiles(
  called: ReadonlyMap<string, ReadonlySet<string>>,
  seconds: ReadonlyMap<string, number>,
): string[] {
  const queriesOf = new Map<string, Set<string>>()
  for (const query of listQueries())
    for (const file of called.get(query) ?? [])
      queriesOf.set(file, (queriesOf.get(file) ?? new Set()).add(query))
  const missing = new Set([...queriesOf.values()].flatMap((queries) => [...queries]))
  const chosen: string[] = []
  while (missing.size > 0) {
    let best = ''
    let most = 0
    for (const [file, queries] of queriesOf) {
      const gain = queries.intersection(missing).size / ((seconds.get(file) ?? 1) + 1)
      if (gain > most) [best, most] = [file, gain]
    }
    chosen.push(best)
    for (const query of queriesOf.get(best) ?? []) missing.delete(query)
  }
  return chosen.sort()
}
