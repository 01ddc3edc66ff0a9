// Builds the programs that tests start as processes: from sources a start takes twice as long.

import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeBundle } from '../../packages/cli/build-bundle.ts'
import { ROOT } from './files.ts'

/** The service with named points that tests of crashes start. */
const SERVED = 'test/crash/testing/served.ts'
const SOURCES = [
  'packages/*/src/**/*',
  'packages/*/package.json',
  'packages/cli/build-bundle.ts',
  'node_modules/.package-lock.json',
  SERVED,
]

const changedAt = (path: string): number =>
  statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Builds what is older than a source; sets CUSTOS_TEST_SERVED for the tests. */
export async function buildPrograms(): Promise<void> {
  const sources_ms = Math.max(...globSync(SOURCES, { cwd: ROOT }).map(changedAt))
  const programs = [
    { entry: 'packages/cli/src/commands/main.ts', output: 'packages/cli/dist' },
    { entry: SERVED, output: 'test/crash/dist' },
  ]
  for (const { entry, output } of programs) {
    const name = entry.replace(/^.*\/(\w+)\.ts$/, '$1.js')
    if (changedAt(join(output, name)) > sources_ms) continue
    await writeBundle(join(ROOT, entry), join(ROOT, output))
  }
  process.env['CUSTOS_TEST_SERVED'] = join(ROOT, 'test/crash/dist/served.js')
}
