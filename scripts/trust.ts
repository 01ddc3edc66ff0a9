// Runs the sweeps of docs/trust.md one after another, saves the results and writes the page.
//
//   --short      the short forms
//   --only A,B   only these sweeps
//   --rounds N   replaces the number of rounds of each sweep
//   --add        adds the counts to the saved ones, to split a sweep of hours into several runs

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { quietEnvironment, requireNode } from './node-version.ts'
import { trustPage } from './trust/page.ts'
import { added, type Result, readResults, replaced, writeResults } from './trust/results.ts'
import { formOf, SWEEPS, type Sweep } from './trust/sweeps.ts'

/** Long, because a thousand rounds take hours. */
const LONG_MINUTES = 720
const ROOT = join(import.meta.dirname, '..')
/** Exit statuses of the test runner after SIGINT and SIGTERM. */
const STOPPED = [130, 143]

requireNode()
const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    add: { type: 'boolean', default: false },
  },
})
const form = values.short ? 'short' : 'long'

function chosenSweeps(): readonly Sweep[] {
  const names = values.only.split(',').filter((name) => name !== '')
  const unknown = names.filter((name) => !SWEEPS.some((sweep) => sweep.name === name))
  if (unknown.length > 0) {
    console.error(`no sweep ${unknown.join(', ')}: ${SWEEPS.map(({ name }) => name).join(', ')}`)
    process.exit(1)
  }
  return SWEEPS.filter(({ name }) => names.length === 0 || names.includes(name))
}

/** The commit, with `+` if files other than the results were changed. */
function commitOf(): string {
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout.trim()
  const changes = git('status', '--porcelain', '--', '.', ':!docs/trust*')
  return `${git('rev-parse', '--short=12', 'HEAD')}${changes === '' ? '' : '+'}`
}

/** Sums the counts that tests have written, by name. */
function addUp(text: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const line of text.split('\n').filter((one) => one !== ''))
    for (const [what, count] of Object.entries<number>(JSON.parse(line)))
      counts[what] = (counts[what] ?? 0) + count
  return counts
}

/** Returns null if it was stopped, or if its tests counted nothing because they cannot run here. */
function run(sweep: Sweep): Result | null {
  const { files, rounds, tests } = formOf(sweep, form)
  const scratch = mkdtempSync(join(tmpdir(), 'custos-trust-'))
  const path = join(scratch, 'counts')
  writeFileSync(path, '')
  const given = values.rounds ?? rounds
  const commit = commitOf()
  const started = performance.now()
  const { status, signal } = spawnSync(
    process.execPath,
    [
      'scripts/test.ts',
      ...files,
      ...(form === 'long' ? ['--slow', `--timeout=${LONG_MINUTES}`] : []),
      ...(tests === undefined ? [] : [`--test-name-pattern=${tests}`]),
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: {
        ...quietEnvironment(),
        CUSTOS_TEST_COUNTS: path,
        ...(given === undefined ? {} : { CUSTOS_TEST_ROUNDS: String(given) }),
      },
    },
  )
  const counts = addUp(readFileSync(path, 'utf8'))
  rmSync(scratch, { recursive: true })
  if (signal !== null || STOPPED.includes(status ?? 0)) return null
  if (status === 0 && Object.keys(counts).length === 0) return null
  return {
    form,
    outcome: status === 0 ? 'held' : 'failed',
    date: `${new Date().toISOString().slice(0, 16)}Z`,
    commit,
    seconds: Math.round((performance.now() - started) / 1_000),
    machine: `${process.platform}, ${cpus().length} cores, Node ${process.versions.node}`,
    counts,
  }
}

let failed = false
for (const sweep of chosenSweeps()) {
  console.log(`== ${sweep.name}: ${sweep.claim}`)
  const result = run(sweep)
  if (result === null) {
    console.log(`== ${sweep.name}: NOT RUN TO ITS END ON THIS MACHINE, nothing recorded`)
    continue
  }
  failed ||= result.outcome === 'failed'
  const keep = values.add ? added : replaced
  writeResults(keep(readResults(), sweep.name, result))
  writeFileSync(join(ROOT, 'docs', 'trust.md'), trustPage())
  console.log(`== ${sweep.name}: ${result.outcome} in ${result.seconds} s`)
}
process.exit(failed ? 1 : 0)
