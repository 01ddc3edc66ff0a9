// A backup restored from before an erasure: what was erased stays gone, its certificate stays.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

const ERASED = 'Marta Kowalczyk was treated for asthma'
const ALSO_ERASED = 'Her insurance number is 84-1178-02'
const KEPT = 'The clinic opens at eight'

interface Story {
  readonly first: Scene
  readonly refs: readonly [number, number, number]
  readonly certificates: readonly Readonly<Record<string, unknown>>[]
}

/** Writes, backs up the named entries of the directory, erases two memories, puts them back. */
async function eraseThenRestore(
  entries: readonly string[],
  ledger_copy: string | null,
): Promise<Story> {
  const first = await openScene({ config: { ledger_copy } })
  const refs = [
    await first.write(ERASED),
    await first.write(ALSO_ERASED),
    await first.write(KEPT),
  ] as const
  await first.decide({
    query: `Is it so? ${ERASED}`,
    output: `${ALSO_ERASED}; noted`,
    retrieved_refs: refs,
    retrieved_contents: [ERASED, ALSO_ERASED, KEPT],
  })
  assert.equal((await first.api('POST', '/v1/gcrumbs/roll', {})).status, 200)
  await first.stop({ keep: true })
  const dir = first.service.data_dir
  const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
  for (const entry of entries) cpSync(join(dir, entry), join(backup, entry), { recursive: true })

  const second = await openScene({ data_dir: dir, config: { ledger_copy } }, first)
  const certificates = [(await second.issue(refs[0])).body, (await second.issue(refs[1])).body]
  const after = await second.write('Written after the backup, erased too')
  certificates.push((await second.issue(after)).body)
  await second.api('POST', '/v1/gcrumbs/roll', {})
  await second.stop({ keep: true })
  for (const entry of entries) {
    rmSync(join(dir, entry), { recursive: true, force: true })
    cpSync(join(backup, entry), join(dir, entry), { recursive: true })
  }
  for (const suffix of ['-wal', '-shm']) rmSync(join(dir, `custos.db${suffix}`), { force: true })
  rmSync(backup, { recursive: true })
  return { first, refs, certificates }
}

async function assertForgotten(scene: Scene, { refs, certificates }: Story): Promise<void> {
  const store = `/v1/stores/${scene.store_id}`
  for (const ref of refs.slice(0, 2))
    assert.equal((await scene.api('GET', `${store}/memories/${ref}`)).status, 404)
  assert.equal((await scene.api('GET', `${store}/memories/${refs[2]}`)).body.content, KEPT)
  const texts = [
    await scene.api('GET', '/v1/decisions/export'),
    await scene.api('GET', `${store}/export`),
    await scene.api('GET', `${store}/audit`),
  ].map(({ text }) => text)
  for (const text of texts) {
    assert.ok(!text.includes('Kowalczyk') && !text.includes('84-1178-02'), text)
    assert.ok(text.includes(KEPT), text)
  }
  for (const issued of certificates) {
    const { body } = await scene.api('GET', `/v1/erasure/${String(issued['certificate_id'])}`)
    for (const field of Object.keys(body)) assert.deepEqual(body[field], issued[field], field)
  }
  assert.equal((await scene.api('GET', '/v1/erasure')).body.count, certificates.length)
  assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
}

test('the data restored from before two erasures forgets both again before it serves', async () => {
  const story = await eraseThenRestore(['custos.db'], null)
  const { first } = story
  const restored = await openScene({ data_dir: first.service.data_dir }, first)
  await assertForgotten(restored, story)
  const { breadcrumbs } = (await restored.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')).body
  const types = breadcrumbs.map((crumb: { event_type: string }) => crumb.event_type)
  assert.equal(types.filter((type: string) => type === 'log.restored').length, 1)
  assert.equal(types.filter((type: string) => type === 'memory.erased').length, 3)
  const erasedAgain = (await restored.issue(story.refs[0])).body
  assert.equal(erasedAgain.deleted, false)
  assert.equal(erasedAgain.certificate_id, story.certificates[0]?.['certificate_id'])
  const size = breadcrumbs.length
  await restored.stop({ keep: true })

  const again = await openScene({ data_dir: first.service.data_dir }, first)
  const { body } = await again.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  assert.equal(body.count, size, 'the next start has nothing left to replay')
  await again.stop()
})

test('data and keyring restored together are recognised by the ledger copy', async () => {
  const copies = mkdtempSync(join(tmpdir(), 'custos-ledger-'))
  const ledger_copy = join(copies, 'ledger.ndjson')
  try {
    const story = await eraseThenRestore(['custos.db', 'keyring'], ledger_copy)
    const { first } = story
    const restored = await openScene(
      { data_dir: first.service.data_dir, config: { ledger_copy } },
      first,
    )
    await assertForgotten(restored, story)
    await restored.stop()
  } finally {
    rmSync(copies, { recursive: true, force: true })
  }
})
