// Backups from before an off-boarding, restored: the tenant is destroyed again before serving.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { OPERATOR_KEY } from '../../testing/harness.ts'
import { hasRowsLeft } from './remove-job.ts'

const operator = async (scene: Scene, method: string, verb: string, body?: unknown) =>
  scene.service.request(method, `/v1/admin/tenants/${scene.tenant_id}/${verb}`, {
    key: OPERATOR_KEY,
    ...(body === undefined ? {} : { body }),
  })

interface RestoreCase {
  readonly entries: readonly string[]
  readonly with_copy: boolean
}

/** Fills, keeps the entries of the directory aside, off-boards, and puts them back. */
async function destroyThenRestore({ entries, with_copy }: RestoreCase) {
  const folder = mkdtempSync(join(tmpdir(), 'custos-test-'))
  const config = { ledger_copy: with_copy ? join(folder, 'ledger.ndjson') : null }
  const first = await openScene({ config })
  const ref = await first.write('Marta Kowalczyk was treated for asthma')
  await first.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
  await first.api('POST', '/v1/gcrumbs/roll', {})
  await first.stop({ keep: true })
  const dir = first.service.data_dir
  for (const entry of entries) cpSync(join(dir, entry), join(folder, entry), { recursive: true })

  const second = await openScene({ data_dir: dir, config }, first)
  const confirm = `destroy ${first.tenant_id}`
  const { body } = await operator(second, 'POST', 'destroy-key', { confirm })
  await second.service.kernel.jobs.idle()
  await second.stop({ keep: true })
  for (const entry of entries) {
    rmSync(join(dir, entry), { recursive: true, force: true })
    cpSync(join(folder, entry), join(dir, entry), { recursive: true })
  }
  for (const suffix of ['-wal', '-shm']) rmSync(join(dir, `custos.db${suffix}`), { force: true })
  return { again: await openScene({ data_dir: dir, config }, first), folder, body }
}

const CASES: readonly [string, RestoreCase][] = [
  ['older data', { entries: ['custos.db'], with_copy: false }],
  ['older data and an older keyring', { entries: ['custos.db', 'keyring'], with_copy: true }],
  ['an older keyring', { entries: ['keyring'], with_copy: true }],
]

for (const [what, put] of CASES)
  test(`${what}: the tenant is destroyed again, with the certificate it had`, async () => {
    const { again, folder, body } = await destroyThenRestore(put)
    try {
      const { kernel } = again.service
      await assert.rejects(kernel.keyring.tenant(again.tenant_id), { code: 'tenant_destroyed' })
      assert.equal((await again.api('GET', '/v1/stores')).status, 401)
      const shown = (await operator(again, 'GET', 'destruction')).body
      assert.deepEqual(shown.certificate, body.certificate)
      await kernel.jobs.idle()
      assert.equal(await hasRowsLeft(kernel, again.tenant_id), null)
      assert.equal((await operator(again, 'GET', 'destruction')).body.removal.state, 'removed')
    } finally {
      await again.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
