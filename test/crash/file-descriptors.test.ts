// A service that ran out of file descriptors works again once there are some.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const harness = new URL('../../packages/server/src/testing/erasure-scene.ts', import.meta.url)

// Takes every file descriptor before the first write, asks over the connection that is open
// already, gives them back and asks again. Prints what each request was told.
const child = `
  const { closeSync, openSync } = await import('node:fs')
  const { openScene } = await import(${JSON.stringify(harness.href)})
  const scene = await openScene()
  const store = '/v1/stores/' + scene.store_id
  const ask = async () => {
    const told = []
    const tries = [
      ['POST', store + '/write', { content: 'Elsa keeps bees' }],
      ['POST', store + '/retrieve', { query: 'bees', budget_tokens: 50 }],
      ['POST', '/v1/governance/policies', POLICY],
      ['GET', '/readyz'],
    ]
    for (const [method, path, body] of tries)
      told.push((await scene.api(method, path, body)).status)
    return told
  }
  const POLICY = {
    name: 'no passwords',
    policy_type: 'content_filter',
    config: { patterns: ['password'] },
  }
  const taken = []
  await scene.service.request('GET', '/health')
  try {
    for (;;) taken.push(openSync('/dev/null'))
  } catch {}
  const without = await ask()
  for (const fd of taken) closeSync(fd)
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const again = await ask()
  console.log(JSON.stringify({ without, again, taken: taken.length }))
  await scene.stop()`

test('running out of file descriptors before the first write does not stop later writes', () => {
  const { stdout, stderr } = spawnSync(
    'bash',
    ['-c', 'ulimit -n 256; exec "$0" --input-type=module -e "$1"', process.execPath, child],
    { encoding: 'utf8', timeout: 60_000, env: { ...process.env, CUSTOS_TEST_ENGINE: 'sqlite' } },
  )
  assert.notEqual(stdout, '', stderr)
  const { without, again, taken } = JSON.parse(stdout)
  assert.ok(taken > 0)
  assert.ok(without.includes(503), stdout)
  for (const status of without) assert.ok(status < 500 || status === 503, stdout)
  assert.deepEqual(again, [200, 200, 200, 200], stdout)
})
