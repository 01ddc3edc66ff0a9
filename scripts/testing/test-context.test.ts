// Errors that nobody catches, in a process whose runner follows no promises.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const TESTS = `
import { createServer, get } from 'node:http'
import { after, before, describe, test } from 'node:test'

const said = []
const pause = () => new Promise((resolve) => setTimeout(resolve, 50))
const fail = () => { throw new Error('nobody catches it') }
describe('a suite', () => {
  before(() => said.push('before'))
  after(() => said.push('after'))
  test('within', pause)
})
test('outside', () => { if (said.join() !== 'before,after') throw new Error(said.join()) })
test('timer', async () => { setTimeout(fail, 1); await pause() })
test('rejection', async () => { setTimeout(async () => fail(), 1); await pause() })
test('microtask', async () => { queueMicrotask(fail); await pause() })
test('request', async (t) => {
  const server = createServer(fail).listen(0, '127.0.0.1')
  t.after(() => { server.closeAllConnections(); server.close() })
  await pause()
  get(server.address()).on('error', () => {})
  await new Promise(() => {})
})
test('subtests', async (t) => {
  await t.test('sound', pause)
  await t.test('broken', async () => { setImmediate(() => process.nextTick(fail)); await pause() })
})
test('last', pause)
`

test('an error that nobody catches fails the test it comes from, at once, and no other', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-context-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'tests.mjs')
  writeFileSync(path, TESTS)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const first = new URL('test-context.ts', import.meta.url).href
  const run = spawnSync(process.execPath, ['--import', first, '--test-reporter=tap', path], {
    encoding: 'utf8',
    env,
    timeout: 30_000,
  })
  assert.equal(run.status, 1, run.stderr)
  const results = [...run.stdout.matchAll(/^ *((?:not )?ok) \d+ - (.*)$/gm)]
  assert.deepEqual(
    results.map(([, result, name]) => `${name}: ${result}`),
    [
      'within: ok',
      'a suite: ok',
      'outside: ok',
      'timer: not ok',
      'rejection: not ok',
      'microtask: not ok',
      'request: not ok',
      'sound: ok',
      'broken: not ok',
      'subtests: not ok',
      'last: ok',
    ],
  )
})
