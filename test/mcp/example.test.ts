// examples/mcp as a reader runs it: the client starts the server that its configuration names.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { tempDirectory } from '../../packages/cli/src/testing/run.ts'

const ROOT = join(import.meta.dirname, '../..')
const execute = promisify(execFile)

test('the example saves a memory, and finds it the next time too', async () => {
  const cwd = tempDirectory()
  // `npx custos` finds the command of this tree, as it finds an installed one.
  symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'))
  const program = join(ROOT, 'examples/mcp/remember.ts')
  const run = async (...words: string[]) =>
    (await execute(process.execPath, [program, ...words], { cwd })).stdout.trim()
  const first = await run('The office opens at nine', 'when does the office open')
  assert.match(first, /^\d+: The office opens at nine$/)
  const second = await run('The office closes at five', 'the office')
  assert.match(second, /opens at nine/)
  assert.match(second, /closes at five/)
})
