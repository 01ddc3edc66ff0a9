// The command line on a data directory, live or stopped.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { environmentOf, type ServerOptions } from './server-process.ts'

const CLI = fileURLToPath(new URL('../../../packages/cli/bin/custos.js', import.meta.url))
const run = promisify(execFile)
/** Under which clean runs are counted. */
export const FSCK_CLEAN = 'fsck runs without a finding'

/** What a command of the command line printed; fails when it failed. */
export async function custos(options: ServerOptions, args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [CLI, ...args], { env: environmentOf(options) })
  return stdout
}

export async function fsck(options: ServerOptions): Promise<void> {
  const printed = await custos(options, ['fsck', '--data-dir', options.data_dir])
  assert.ok(printed.length > 0)
  noteCounts({ [FSCK_CLEAN]: 1 })
}
