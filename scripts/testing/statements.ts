// Which named queries (exported functions of *.sql.ts) no test has run on PostgreSQL.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.ts'

const EXPORTED = /^export (?:async )?(?:function\*? |const )(\w+)(?=[^\n]*(?:\(|=>))/gm

/** @param called `path name` of every function that was called. */
export function uncalledStatements(called: ReadonlySet<string>): string[] {
  return globSync('packages/server/src/**/*.sql.ts', { cwd: ROOT })
    .sort()
    .flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(EXPORTED)].map(
        ([, name]) => `${path} ${name}`,
      ),
    )
    .filter((statement) => !called.has(statement))
}
