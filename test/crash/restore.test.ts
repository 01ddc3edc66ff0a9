// Backups from before an erasure, put back: what was erased stays gone, its certificate stays, and
// no tree is signed twice.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { verifyBreadcrumbs, verifyEnvelope } from '@custos/proof'
import { casesOf, noteCounts } from '../../packages/server/src/testing/sweep.ts'
import type { Answer, Client } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { Promises } from './testing/promises.ts'
import { readEverything } from './testing/read-everything.ts'
import { Stage } from './testing/stage.ts'

const ERASED = 'Ines zk1x1q Carvalho was treated for asthma'
const LATER = 'Her brother zk1x2q lives in Faro'
const KEPT = 'The clinic opens at eight'

interface Story {
  readonly store_id: string
  readonly refs: readonly number[]
  /** Issued after the backup. */
  readonly certificates: readonly Answer['body'][]
  readonly promises: Promises
  readonly sizeAtBackup: number
}

async function noteEpochs(client: Client, promises: Promises): Promise<void> {
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  for (const epoch of await client.all('/v1/gcrumbs/epochs', 'epochs')) promises.checkpoint(epoch)
}

/** Writes, stops for a backup of `entries`, goes on and erases, and puts the backup back. */
async function eraseAndRestore(stage: Stage, entries: readonly string[]): Promise<Story> {
  const promises = new Promises()
  const first = await stage.start()
  const { store_id } = await first.ok('POST', '/v1/stores', { body: {} })
  const path = `/v1/stores/${store_id}/write_batch`
  const items = [{ content: ERASED }, { content: KEPT }]
  const { refs } = await first.ok('POST', path, { body: { items } })
  await first.ok('POST', '/v1/decisions/log', {
    body: {
      store_id,
      model_id: 'model-a',
      query: `Is it so? ${ERASED}`,
      output: 'noted',
      retrieved_refs: refs,
      retrieved_contents: [ERASED, KEPT],
    },
  })
  await noteEpochs(first, promises)
  const { total_breadcrumbs } = await first.ok('GET', '/v1/gcrumbs/stats')
  await stage.server.stop()
  copyEntries(stage, entries, 'out')

  const second = await stage.start()
  const certificates = [
    await second.ok('POST', '/v1/erasure/issue', { body: { fact_ref: refs[0] } }),
  ]
  const later = await second.ok('POST', `/v1/stores/${store_id}/write`, {
    body: { content: LATER },
  })
  certificates.push(await second.ok('POST', '/v1/erasure/issue', { body: { fact_ref: later.ref } }))
  await noteEpochs(second, promises)
  await stage.server.killed()
  copyEntries(stage, entries, 'back')
  return {
    store_id,
    refs: [...refs, later.ref],
    certificates,
    promises,
    sizeAtBackup: total_breadcrumbs,
  }
}

function copyEntries(
  { dir, options }: Stage,
  entries: readonly string[],
  way: 'out' | 'back',
): void {
  const backup = join(dir, 'backup')
  mkdirSync(backup, { recursive: true })
  const [from, to] = way === 'out' ? [options.data_dir, backup] : [backup, options.data_dir]
  for (const entry of entries) {
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(to, `${entry}${suffix}`), { recursive: true, force: true })
    cpSync(join(from, entry), join(to, entry), { recursive: true })
  }
}

async function assertForgotten(client: Client, story: Story): Promise<void> {
  const { store_id, refs, certificates } = story
  const store = `/v1/stores/${store_id}`
  const [erased, kept, later] = refs
  for (const ref of [erased, later])
    assert.equal((await client.ask('GET', `${store}/memories/${ref}`)).status, 404)
  assert.equal((await client.ok('GET', `${store}/memories/${kept}`)).content, KEPT)
  const texts = await readEverything(client, `${ERASED} ${LATER}`)
  assert.ok(!/zk1x[12]q/.test(texts) && texts.includes(KEPT))
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  for (const issued of certificates) {
    const shown = await client.ok('GET', `/v1/erasure/${issued.certificate_id}`)
    for (const name of Object.keys(shown)) assert.deepEqual(shown[name], issued[name], name)
    const verdict = await verifyEnvelope({ type: 'certificate', certificate: shown }, { keys })
    assert.ok(verdict.valid, verdict.reason)
    const again = await client.ok('POST', '/v1/erasure/issue', {
      body: { fact_ref: issued.fact_ref },
    })
    assert.equal(again.deleted, false)
    assert.equal(again.certificate_id, issued.certificate_id)
  }
}

/** The log goes on under one later generation, which begins by saying so; which one it is. */
async function assertContinued(client: Client, story: Story): Promise<number> {
  const crumbs = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  assert.deepEqual(verifyBreadcrumbs(crumbs), { ok: true, count: crumbs.length })
  const first = crumbs[story.sizeAtBackup]
  assert.equal(first?.event_type, 'log.restored')
  const { generation } = first.payload
  const restored = crumbs.filter(({ event_type }) => event_type === 'log.restored')
  assert.equal(restored.length, 1)
  const stats = await client.ok('GET', '/v1/gcrumbs/stats')
  assert.equal(stats.generation, generation)
  assert.ok(stats.last_epoch.origin.endsWith(`/${generation}`), stats.last_epoch.origin)
  await noteEpochs(client, story.promises)
  const verdict = await client.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact', JSON.stringify(verdict))
  return generation
}

async function assertStable(stage: Stage): Promise<void> {
  const before = (await stage.client.ok('GET', '/v1/gcrumbs/stats')).total_breadcrumbs
  await stage.server.killed()
  const client = await stage.start()
  assert.equal((await client.ok('GET', '/v1/gcrumbs/stats')).total_breadcrumbs, before)
  await stage.server.stop()
  await fsck(stage.options)
  noteCounts({ 'restored copies checked': 1 })
}

test('old data beside the newer keyring are not served with what was erased', async (t) => {
  const stage = new Stage(t, { ledger_copy: false })
  const story = await eraseAndRestore(stage, ['custos.db'])
  const client = await stage.start()
  await assertForgotten(client, story)
  assert.equal(await assertContinued(client, story), 1)
  await assertStable(stage)
})

test('old data and an old keyring learn from the ledger copy what was erased', async (t) => {
  const stage = new Stage(t)
  const story = await eraseAndRestore(stage, ['custos.db', 'keyring'])
  const client = await stage.start()
  await assertForgotten(client, story)
  assert.equal(await assertContinued(client, story), 1)
  await assertStable(stage)
})

test('the same backup put back twice signs no second tree for a size', async (t) => {
  const stage = new Stage(t)
  const story = await eraseAndRestore(stage, ['custos.db'])
  await assertContinued(await stage.start(), story)
  await stage.server.killed()
  copyEntries(stage, ['custos.db'], 'back')
  const client = await stage.start()
  await assertForgotten(client, story)
  const { generation } = await client.ok('GET', '/v1/gcrumbs/stats')
  assert.equal(generation, 2)
  await noteEpochs(client, story.promises)
  await assertStable(stage)
})

test('killed while it catches up, a restored copy never serves what was erased', async (t) => {
  const stage = new Stage(t)
  const story = await eraseAndRestore(stage, ['custos.db', 'keyring'])
  for (const ms of casesOf([150, 250, 350, 450, 550], 2)) {
    const server = stage.spawn()
    await delay(ms)
    await server.killed()
  }
  const client = await stage.start()
  await assertForgotten(client, story)
  await noteEpochs(client, story.promises)
  await assertStable(stage)
})

test('an old keyring without a ledger copy revives, as certificates say', async (t) => {
  const stage = new Stage(t, { ledger_copy: false })
  const story = await eraseAndRestore(stage, ['custos.db', 'keyring'])
  const [issued] = story.certificates
  const limits: string[] = issued?.limits ?? []
  assert.ok(
    limits.some((limit) => /keyring/i.test(limit)),
    limits.join('\n'),
  )
  const client = await stage.start()
  const path = `/v1/stores/${story.store_id}/memories/${story.refs[0]}`
  assert.equal((await client.ok('GET', path)).content, ERASED)
  assert.equal((await client.ok('GET', '/v1/gcrumbs/verify?full=true')).status, 'intact')
})
