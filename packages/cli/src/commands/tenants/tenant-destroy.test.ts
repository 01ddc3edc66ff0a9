// custos tenant destroy: confirmed, certified, verified offline, without findings of fsck.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCustos, tempDirectory } from '../../testing/run.ts'
import { OPERATOR_KEY, serveLocally } from '../../testing/serve-locally.ts'

test('a destroyed tenant leaves a certificate that verifies, and fsck finds nothing', async (t) => {
  const env = { CUSTOS_AUTH: 'required' }
  const { url, call, data_dir } = await serveLocally(t, { env })
  const run = (...args: string[]) =>
    runCustos(['tenant', ...args], { env: { CUSTOS_URL: url, CUSTOS_OPERATOR_KEY: OPERATOR_KEY } })
  const made = await run('create', 'Leaving')
  const [, id = '', key = ''] = /^tenant (\S+) [\s\S]*api key (cst_\S+)/.exec(made.stdout) ?? []
  await call('POST', '/v1/stores/default/write', { content: 'to be gone' }, key)

  const unsure = await run('destroy', id)
  assert.equal(unsure.status, 2)
  assert.match(unsure.stderr, /cannot be undone/)
  assert.ok(await call('GET', '/v1/stores', undefined, key))

  const done = await run('destroy', id, '--confirm', `destroy ${id}`, '--requested-by', 'ops')
  assert.equal(done.status, 0, done.stderr)
  await assert.rejects(call('GET', '/v1/stores', undefined, key), /401/)
  const shown = await run('destruction', id)
  assert.equal(shown.stdout, done.stdout)
  assert.match((await run('list')).stdout, new RegExp(`${id} .* destroyed`))

  const folder = tempDirectory()
  const file = join(folder, 'certificate.json')
  writeFileSync(file, done.stdout)
  const keys = join(folder, 'keys.json')
  writeFileSync(keys, JSON.stringify(await call('GET', '/v1/gcrumbs/public_key')))
  const verified = await runCustos(['verify', file, '--keys', keys])
  assert.equal(verified.status, 0, verified.stdout + verified.stderr)
  const changed = done.stdout.replace('"facts":1', '"facts":2')
  assert.notEqual(changed, done.stdout)
  writeFileSync(file, changed)
  assert.equal((await runCustos(['verify', file, '--keys', keys])).status, 1)

  const fsck = await runCustos(['fsck', '--data-dir', data_dir])
  assert.equal(fsck.status, 0, fsck.stdout + fsck.stderr)
})
