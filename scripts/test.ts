// Runs the tests: `npm test`, or `npm test -- merkle` for the files whose path contains merkle.
// Without options: tests that need nothing but Node, on the embedded engine.
//
//   --all                  also those that start programs and browsers, and on PostgreSQL the main
//                          tests of each slice
//   --both                 all of these, and every slice on PostgreSQL
//   --postgres             only the tests of slices and of the contract, on PostgreSQL
//   --choose-postgres      with --both, and slowly: check that every query runs on PostgreSQL, and
//                          choose the files that `--all` runs there
//   --slow                 also the long forms of sweeps (*.slow.test.ts)
//   --timeout=MINUTES      for a file, and for each test in it
//   --slowest=N            how many of the slowest files to list
//   --test-name-pattern=P  only the tests whose name matches
//
// Starting a service compiles some 800 modules, so a process takes many files, one after another.

import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { quietEnvironment, requireNode } from './node-version.ts'
import { type RunOptions, runTests } from './testing/batches.ts'
import { chooseFiles, POSTGRES_FILES } from './testing/files.ts'
import { startPostgres } from './testing/postgres.ts'
import { buildPrograms } from './testing/programs.ts'
import { coveringFiles, listQueries } from './testing/queries.ts'
import { useScratch } from './testing/scratch.ts'

const TIMEOUT_MS = 600_000
const FILES_OF_A_PROCESS = 50
const SLOW_TIMEOUT_MS = 1_800_000

const startsPrograms = (path: string): boolean => /^(test|bench|eval|packages\/cli)\//.test(path)

requireNode()
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    both: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    'choose-postgres': { type: 'boolean', default: false },
    slow: { type: 'boolean', default: false },
    timeout: { type: 'string' },
    slowest: { type: 'string', default: '10' },
    'test-name-pattern': { type: 'string', multiple: true, default: [] },
  },
})

Object.assign(process.env, quietEnvironment())
useScratch()
const started = performance.now()
const chosen = chooseFiles(positionals, values)
const { embedded, postgres, with_postgres, alone } = chosen
if (Object.values(chosen).flat().length === 0) {
  console.error(`no test file matches ${positionals.join(' ') || 'anything'}`)
  process.exit(1)
}
if (Object.values(chosen).flat().some(startsPrograms)) await buildPrograms()
const needsPostgres = postgres.length + with_postgres.length + alone.length > 0
const server = needsPostgres ? await startPostgres() : undefined
if (values.slow) process.env['CUSTOS_TEST_SLOW'] = '1'
const usual_ms = values.slow ? SLOW_TIMEOUT_MS : TIMEOUT_MS
const timeout_ms = values.timeout === undefined ? usual_ms : Number(values.timeout) * 60_000
const each = { files_max: FILES_OF_A_PROCESS, timeout_ms }
const covers = values['choose-postgres']
const options: RunOptions = {
  queues: [
    { engine: 'sqlite', files: with_postgres, covers, ...each },
    { engine: 'postgres', files: postgres, covers, ...each },
    { engine: 'sqlite', files: embedded, covers: false, ...each },
  ],
  alone,
  // One more than cores, because tests sometimes wait.
  processes: Math.min(4, availableParallelism() + 1),
  name_patterns: values['test-name-pattern'],
  slowest: Number(values.slowest),
}
const { failed, called, seconds } = await runTests(options)
await server?.stop()

if (values['choose-postgres'])
  writeFileSync(
    POSTGRES_FILES,
    `${JSON.stringify(
      coveringFiles(called, seconds).filter((path) => postgres.includes(path)),
      null,
      2,
    )}\n`,
  )
const uncalled = covers ? listQueries().filter((query) => !called.has(query)) : []
for (const query of uncalled) console.log(`not run on PostgreSQL by any test: ${query}`)
console.log(`${Math.round((performance.now() - started) / 1000)} s in all`)
process.exit(failed || uncalled.length > 0 ? 1 : 0)
