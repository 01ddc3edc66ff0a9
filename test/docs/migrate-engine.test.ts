// The command of docs/operating/migrate-engine.md, run as it is written, and what serve says then.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { createDatabase } from '../../packages/server/src/testing/postgres.ts'
import { childEnvironment } from '../crash/testing/server-process.ts'
import { blocksOf, ROOT, readPage } from './testing/page.ts'

const CLI = join(ROOT, 'packages', 'cli', 'bin', 'custos.js')

/** Exit status and everything it printed. */
async function run(script: string): Promise<{ status: unknown; output: string }> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const output = await Promise.all([text(child.stdout), text(child.stderr)])
  const [status] = await ended
  return { status, output: output.join('') }
}

/** A stopped directory with one memory, one decision and one erasure. */
async function fillDirectory() {
  const data_dir = mkdtempSync(join(tmpdir(), 'custos-embedded-'))
  const config = { postgres: null, master_key: null }
  const service = await startTestService({ data_dir, config })
  const { api_key, tenant_id } = await service.createTenant()
  const ask = async (path: string, body: object) =>
    (await service.request('POST', path, { key: api_key, body })).body
  const { store_id } = await ask('/v1/stores', {})
  const { ref } = await ask(`/v1/stores/${store_id}/write`, { content: 'The ferry leaves at six' })
  await ask('/v1/decisions/log', { store_id, model_id: 'm', query: 'When?', output: 'At six' })
  await ask('/v1/erasure/issue', { fact_ref: ref })
  await ask(`/v1/stores/${store_id}/write`, { content: 'The ferry leaves at seven' })
  await ask('/v1/gcrumbs/roll', {})
  await service.stop({ keep: true })
  return { data_dir, tenant_id }
}

test('the command of the page moves a directory, with proof, and serve refuses it', async () => {
  const [block] = blocksOf(readPage('docs/operating/migrate-engine.md'))
  const filled = await fillDirectory()
  const [data, keys] = [await createDatabase(), await createDatabase()]
  try {
    const command = (block?.text ?? '')
      .replace(/(?<=CUSTOS_DATABASE_URL=)\S+/, `'${data.url}'`)
      .replace(/(?<=CUSTOS_KEYRING_URL=)\S+/, `'${keys.url}'`)
      .replace(/(?<=CUSTOS_MASTER_KEY=)\S+/, '6b'.repeat(32))
      .replace('./custos-data', `'${filled.data_dir}'`)
      .replace('npx custos', `'${process.execPath}' '${CLI}'`)
    const moved = await run(command)
    assert.equal(moved.status, 0, moved.output)
    assert.match(moved.output, /\nfacts +1 {2}[0-9a-f]{64}\n/)
    const proof = new RegExp(`\n${filled.tenant_id} +(\\d+) +\\1 +1 +1 +1 {2}[0-9a-f]{64}\n`)
    assert.match(moved.output, proof)
    assert.match(
      moved.output,
      /keyring: \d+ secrets, \d+ destroyed secrets, 8 signing keys and 1 ent/,
    )
    assert.match(moved.output, /fsck of the copy: nothing found\n\ndone\. /)
    assert.doesNotMatch(moved.output, /ferry/)

    const again = await run(command)
    assert.deepEqual([again.status, again.output.split('\n').length], [1, 2], again.output)
    assert.match(again.output, /^custos migrate-engine: .* is not empty \(rows in instance\)/)
    const old = await run(`'${process.execPath}' '${CLI}' serve --data-dir '${filled.data_dir}'`)
    assert.deepEqual([old.status, old.output.split('\n').length], [1, 2], old.output)
    assert.match(
      old.output,
      /^custos serve: the data of .* was moved to PostgreSQL: set CUSTOS_DATA/,
    )
  } finally {
    await data.drop()
    await keys.drop()
    rmSync(filled.data_dir, { recursive: true, force: true })
  }
})
