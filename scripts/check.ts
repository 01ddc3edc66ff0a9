// Runs the checks that every change must pass: `npm run check`, or only some steps: `node
// scripts/check.ts types`. With --both every slice is tested on PostgreSQL as well.

import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { quietEnvironment, requireNode } from './node-version.ts'

const ROOT = join(import.meta.dirname, '..')
const BIOME = ['node_modules/@biomejs/biome/bin/biome']
const TSC = ['node_modules/typescript/bin/tsc', '--noEmit', '--pretty', 'false']

/** Each step is one or more commands: arguments for node. */
const STEPS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  format: [[...BIOME, 'format', '.']],
  lint: [[...BIOME, 'check', '--formatter-enabled=false', '--error-on-warnings', '.']],
  tidy: [['scripts/tidy.ts']],
  types: globSync(['tsconfig.json', 'packages/*/tsconfig.json'], { cwd: ROOT })
    .sort()
    .map((config) => [...TSC, '-p', config]),
  tests: [['scripts/test.ts', process.argv.includes('--both') ? '--both' : '--all']],
}

function run(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: quietEnvironment(),
    stdio: 'inherit',
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (status) => resolve(status ?? 1))
  })
}

/** Runs the commands of a step until one fails. Returns whether all succeeded. */
async function passes(commands: readonly (readonly string[])[]): Promise<boolean> {
  for (const args of commands) if ((await run(args)) !== 0) return false
  return true
}

requireNode()
const steps = process.argv.slice(2).filter((word) => word !== '--both')
const unknown = steps.find((name) => !(name in STEPS))
if (unknown !== undefined) {
  console.error(`no step ${unknown}: ${Object.keys(STEPS).join(', ')}`)
  process.exit(1)
}
for (const [name, commands] of Object.entries(STEPS)) {
  if (steps.length > 0 && !steps.includes(name)) continue
  console.log(`== ${name}`)
  const start = performance.now()
  const passed = await passes(commands)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`== ${name}: ${passed ? 'passed' : 'FAILED'} in ${seconds} s`)
  if (!passed) process.exit(1)
}
