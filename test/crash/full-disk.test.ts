// What callers and probes are told while the disk of an embedded service is full.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { spawnCustos } from '../../packages/cli/src/testing/run.ts'
import { openScene } from '../../packages/server/src/testing/erasure-scene.ts'

const disk = mkdtempSync(join(tmpdir(), 'custos-disk-'))
const mounted =
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk], { stdio: 'ignore' })
    .status === 0

after(() => {
  if (mounted) spawnSync('umount', ['-l', disk], { stdio: 'ignore' })
  rmSync(disk, { recursive: true, force: true })
})

/** Only where the tests may mount a small file system. */
const fullDiskTest: (name: string, run: () => Promise<void>) => void = mounted ? test : () => {}

/** Takes all the space there is, and returns what gives it back. */
function fillDisk(): () => void {
  const file = join(disk, 'filler')
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=4096'], { stdio: 'ignore' })
  return () => rmSync(file)
}

fullDiskTest('on a full disk every write, erasure included, is 503 storage_full', async () => {
  const scene = await openScene({ data_dir: join(disk, 'data') })
  const { service, store_id } = scene
  try {
    const refs = [await scene.write('kept before'), await scene.write('to be erased')]
    const decision = { query: 'q', output: 'o', retrieved_refs: refs }
    await scene.decide(decision)
    const free = fillDisk()
    const store = `/v1/stores/${store_id}`
    const [first = 0, second = 0] = refs
    const tries: [string, string, unknown][] = [
      ['POST', `${store}/write`, { content: 'x'.repeat(50_000) }],
      ['POST', `${store}/write`, { content: 'small' }],
      ['POST', '/v1/erasure/issue', { fact_ref: second }],
      ['POST', `${store}/delete`, { ref: second }],
      ['DELETE', `/v1/decisions/scrub/${first}`, undefined],
      ['POST', '/v1/decisions/log', { store_id, model_id: 'm', ...decision }],
      ['POST', '/v1/stores', {}],
      ['DELETE', store, undefined],
    ]
    for (let round = 0; round < 3; round += 1)
      for (const [method, path, body] of tries) {
        const answer = await scene.api(method, path, body)
        const told = [answer.status, answer.body?.error, path]
        assert.deepEqual(told, [503, 'storage_full', path])
        assert.ok(Number(answer.headers.get('retry-after')) > 0)
      }
    const ready = await service.request('GET', '/readyz')
    assert.deepEqual([ready.status, ready.body.error], [503, 'storage_full'])
    assert.equal(ready.body.checks.storage, 'full')
    assert.equal((await scene.api('GET', `${store}/memories/${first}`)).status, 200)

    free()
    assert.equal((await scene.issue(second)).body.deleted, true)
    assert.equal((await scene.api('GET', `${store}/memories/${second}`)).status, 404)
    await scene.write('after')
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    assert.equal((await service.request('GET', '/readyz')).status, 200)
  } finally {
    await scene.stop()
  }
})

fullDiskTest(
  'an erasure whose ledger copy has no space is 503 storage_full, then ends',
  async () => {
    const scene = await openScene({ config: { ledger_copy: join(disk, 'ledger.ndjson') } })
    try {
      const ref = await scene.write('to be erased')
      const free = fillDisk()
      for (let round = 0; round < 3; round += 1) {
        const { status, body } = await scene.issue(ref)
        assert.deepEqual([status, body.error], [503, 'storage_full'])
      }
      free()
      assert.equal((await scene.issue(ref)).body.deleted, true)
    } finally {
      await scene.stop()
    }
  },
)

fullDiskTest('a start on a full disk ends with one line that says so', async () => {
  const small = join(disk, 'small')
  mkdirSync(small)
  // The keyring has room; the database runs out of it at one of its steps.
  for (const size of ['64k', '512k', '1600k']) {
    assert.equal(
      spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', small]).status,
      0,
    )
    try {
      const dir = join(small, 'data')
      const { status, stderr } = await spawnCustos(['serve', '--port', '0', '--data-dir', dir])
      const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
      assert.deepEqual([status, told.length], [1, 1], stderr)
      assert.match(told[0] ?? '', /^custos serve: .*the disk is full/)
    } finally {
      spawnSync('umount', ['-l', small])
    }
  }
})
