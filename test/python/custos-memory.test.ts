// The Python package, installed into an environment of its own, on a real service.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'

const PACKAGE = join(import.meta.dirname, '../../python/custos-memory')
const execute = promisify(execFile)

test('the Python client, its LangGraph store and its verifier', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-python-'))
  try {
    const python = join(dir, 'venv/bin/python')
    try {
      await execute('python3', ['-m', 'venv', join(dir, 'venv')])
      // A copy: a build writes beside the sources.
      cpSync(PACKAGE, join(dir, 'package'), { recursive: true })
      const install = [
        '-m',
        'pip',
        'install',
        '--quiet',
        `${join(dir, 'package')}[langgraph,verify]`,
      ]
      await execute(python, install, { timeout: 240_000 })
    } catch (error) {
      t.diagnostic(`NOT TESTED: Python 3.10 with pip and an index is needed: ${error}`)
      return
    }
    const service = await startTestService()
    try {
      const { api_key } = await service.createTenant('python')
      const env = {
        ...process.env,
        CUSTOS_URL: service.url,
        CUSTOS_API_KEY: api_key,
        CUSTOS_RUNS: String(roundsOf(25, 300)),
      }
      const args = ['-m', 'unittest', 'discover', '-s', join(PACKAGE, 'tests')]
      const { stderr } = await execute(python, ['-B', ...args], { env, timeout: 280_000 })
      t.diagnostic(stderr.trim().split('\n').slice(-3).join(' '))
      assert.match(stderr, /\nOK\s*$/)
    } finally {
      await service.stop()
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
