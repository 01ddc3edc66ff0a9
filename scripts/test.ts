// Runs the tests: `npm test`, `npm test -- merkle` for the files whose path says so,
// `npm test -- --slow` for the slow ones too; other options go to `node --test`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { quietEnvironment, requireNode } from './node-version.ts'

const ROOT = join(import.meta.dirname, '..')
const ROOTS = ['packages/*/src', 'packages/*/bin', 'scripts', 'test', 'bench', 'eval']
const TIMEOUT_MS = 120_000
const SLOW_TIMEOUT_MS = 1_800_000
const NEEDS_POSTGRES = /postgres|processes|leases|migrate-engine|purge/
/** Files whose service can be on either engine; those that look into its files say `embedded`. */
const ON_BOTH =
  /^(packages\/server\/src\/slices|test\/conformance)\/(?!.*\.(embedded|slow)\.test\.ts$)/

requireNode()
const given = process.argv.slice(2)
const slow = given.includes('--slow')
const options = given.filter((word) => word.startsWith('-') && word !== '--slow')
const words = given.filter((word) => !word.startsWith('-'))

const files = globSync(
  ROOTS.map((root) => `${root}/**/*.test.ts`),
  { cwd: ROOT, exclude: (path) => path.includes('node_modules') },
)
  .filter((path) => slow || !path.endsWith('.slow.test.ts'))
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort()

if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ') || 'anything'}`)
  process.exit(1)
}

/**
 * One PostgreSQL for the whole run, unless one is given; files run by themselves start their own.
 * It stops when its standard input ends, however this process ends.
 */
async function startPostgres(): Promise<{ url: string; stop(): Promise<unknown> }> {
  const keeper = spawn(process.execPath, ['packages/server/src/testing/postgres-keeper.ts'], {
    cwd: ROOT,
    detached: true,
    env: quietEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(keeper, 'exit')
  const line = once(createInterface(keeper.stdout), 'line')
  const [url] = await Promise.race([line, exited.then(() => [])])
  if (url === undefined) {
    console.error('PostgreSQL for tests could not be started')
    process.exit(1)
  }
  const stop = () => {
    keeper.stdin.end()
    return exited
  }
  return { url: String(url), stop }
}

const GIVEN = 'CUSTOS_TEST_DATABASE_URL'
const wanted = words.length === 0 || slow || files.some((path) => NEEDS_POSTGRES.test(path))
const postgres = wanted && !process.env[GIVEN] ? await startPostgres() : undefined
const environment = {
  ...quietEnvironment(),
  ...(postgres ? { [GIVEN]: postgres.url } : {}),
}

/** The exit status of the runner over these files. */
async function runFiles(paths: readonly string[], more: NodeJS.ProcessEnv): Promise<number> {
  const runner = spawn(
    process.execPath,
    [
      '--test',
      '--test-concurrency=2',
      `--test-timeout=${slow ? SLOW_TIMEOUT_MS : TIMEOUT_MS}`,
      ...options,
      ...paths,
    ],
    { cwd: ROOT, env: { ...environment, ...more }, stdio: 'inherit' },
  )
  const stop = (signal: NodeJS.Signals) => runner.kill(signal)
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const [status] = await once(runner, 'exit')
  process.off('SIGINT', stop).off('SIGTERM', stop)
  return status ?? 1
}

// First what a service does on PostgreSQL, then everything on the embedded engine.
const shared = words.length === 0 ? files.filter((path) => ON_BOTH.test(path)) : []
if (shared.length > 0) console.log(`${shared.length} files on PostgreSQL`)
const onPostgres =
  shared.length === 0 ? 0 : await runFiles(shared, { CUSTOS_TEST_ENGINE: 'postgres' })
if (shared.length > 0) console.log(`${files.length} files on the embedded engine`)
const onEmbedded = await runFiles(files, {})
await postgres?.stop()
process.exit(onPostgres || onEmbedded)
