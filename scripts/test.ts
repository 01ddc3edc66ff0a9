// Runs the tests: `npm test`, `npm test -- merkle` for the files whose path says so,
// `npm test -- --slow` for the slow ones too; other options go to `node --test`.

import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { quietEnvironment, requireNode } from './node-version.ts'

const ROOT = join(import.meta.dirname, '..')
const ROOTS = ['packages/*/src', 'packages/*/bin', 'scripts', 'test', 'bench']
const TIMEOUT_MS = 120_000
const SLOW_TIMEOUT_MS = 1_800_000

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

const runner = spawn(
  process.execPath,
  [
    '--test',
    '--test-concurrency=2',
    `--test-timeout=${slow ? SLOW_TIMEOUT_MS : TIMEOUT_MS}`,
    ...options,
    ...files,
  ],
  { cwd: ROOT, env: quietEnvironment(), stdio: 'inherit' },
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
runner.on('exit', (status) => process.exit(status ?? 1))
