// A backup from the middle of a person's erasure, restored after its end: the erasure ends again.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { SUBJECT, sceneOf, subjectScene } from './testing/scene.ts'

const FILES = ['custos.db', 'custos.db-wal', 'custos.db-shm']
const FACTS = 450

function copyData(from: string, to: string): void {
  for (const file of FILES) {
    rmSync(join(to, file), { force: true })
    if (existsSync(join(from, file))) cpSync(join(from, file), join(to, file))
  }
}

test('what was erased after the backup stays gone, and the request comes to its end', async () => {
  const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
  let service: TestService | undefined
  let batches = 0
  const first = await startTestService({
    step(name) {
      if (name !== 'subject:recorded') return
      batches += 1
      if (batches === 1 && service) copyData(service.data_dir, backup)
    },
  })
  service = first
  const scene = await subjectScene(first)
  const items = Array.from({ length: FACTS }, (_, n) => ({ content: `Jana Novak, note ${n}` }))
  const { refs } = await scene.ok('POST', `/v1/stores/${scene.store_id}/write_batch`, { items })
  const { request_id } = await scene.erase({ text: 'Jana Novak' })
  const { certificates_root } = await scene.manifestOf(request_id)
  assert.ok(batches >= 3)
  await first.kernel.jobs.idle()
  await first.stop({ keep: true })
  copyData(backup, first.data_dir)
  rmSync(backup, { recursive: true })

  const again = await startTestService({ data_dir: first.data_dir })
  const restored = sceneOf(again, scene)
  const done = await restored.settled(request_id)
  assert.equal(done.status, 'done')
  const bundle = await restored.bundleOf(request_id)
  const verdict = await restored.verify(bundle)
  assert.ok(verdict.valid, verdict.reason)
  const manifest = await restored.manifestOf(request_id)
  // The certificates are those of before: the ledger has kept them.
  assert.equal(manifest.certificates_root, certificates_root)
  assert.equal(manifest.entries.length, FACTS)
  assert.equal(manifest.searched_again, false)
  assert.match(manifest.not_searched[0], /data from before its end were restored/)
  const { total } = await restored.ok('GET', '/v1/erasure/stats')
  assert.equal(total, FACTS)
  const shown = await restored.ask(
    'GET',
    `/v1/stores/${scene.store_id}/memories/${refs[FACTS - 1]}`,
  )
  assert.equal(shown.status, 404)
  assert.equal((await restored.ok('GET', SUBJECT)).count, 1)
  await again.stop()
})
