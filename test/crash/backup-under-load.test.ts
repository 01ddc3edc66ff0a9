// A backup taken while writing and erasing goes on, put back after a crash: once, and once more.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noteCounts } from '../../packages/server/src/testing/sweep.ts'
import type { Client } from './testing/client.ts'
import { custos, fsck } from './testing/command-line.ts'
import { runLoad } from './testing/load.ts'
import { type KnownFact, Promises, TOKEN } from './testing/promises.ts'
import { seeded, seedOfRun } from './testing/random.ts'
import { readEverything } from './testing/read-everything.ts'
import { Stage } from './testing/stage.ts'

const LOAD_MS = 1_500
const WORKERS = 4

interface BackedUp {
  readonly promises: Promises
  /** Acknowledged before the backup began. */
  readonly saved: readonly KnownFact[]
  readonly dir: string
}

/** Backs up in the middle of the load, then kills the service. */
async function backUpUnderLoad(t: TestContext, stage: Stage): Promise<BackedUp> {
  const client = await stage.start()
  const { store_id } = await client.ok('POST', '/v1/stores', { body: {} })
  const promises = new Promises()
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const load = runLoad({ client, store_id, promises, random, round: 0 }, WORKERS)
  await delay(LOAD_MS)
  const saved = [...promises.facts.values()]
  const dir = join(stage.dir, 'backups')
  await custos(stage.options, ['backup', dir])
  await delay(LOAD_MS)
  await stage.server.killed()
  await load
  return { promises, saved, dir }
}

async function restore({ options }: Stage, dir: string): Promise<void> {
  const names = readdirSync(dir)
  const file = (suffix: string) => {
    const name = names.find((known) => known.endsWith(suffix))
    assert.ok(name, `${names}`)
    return join(dir, name)
  }
  const files = ['--data', file('.data'), '--keyring', file('.keyring')]
  await custos(options, ['restore', ...files, '--force'])
}

async function assertRestored(client: Client, { promises, saved }: BackedUp): Promise<void> {
  const certificates = await client.all('/v1/erasure', 'certificates')
  const erased = new Set(certificates.map(({ fact_ref }) => fact_ref))
  const known = new Set(certificates.map(({ certificate_id }) => certificate_id))
  for (const [ref, certificate_id] of promises.erased)
    assert.ok(known.has(certificate_id), `the certificate of ref ${ref} is lost`)
  const shown = new Set((await readEverything(client, 'blue boxes')).match(TOKEN))
  for (const { ref, content, store_id } of saved) {
    const gone = erased.has(ref) || promises.deletedStores.has(store_id)
    if (gone || promises.doubtfulStores.has(store_id)) continue
    for (const token of content.match(TOKEN) ?? []) assert.ok(shown.has(token), `${ref} is lost`)
  }
  for (const ref of erased)
    for (const token of promises.facts.get(ref)?.content.match(TOKEN) ?? [])
      assert.ok(!shown.has(token), `the erased ref ${ref} is back`)
}

async function assertOneTreeEach(client: Client, promises: Promises): Promise<void> {
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  for (const epoch of await client.all('/v1/gcrumbs/epochs', 'epochs')) promises.checkpoint(epoch)
  const verdict = await client.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact', JSON.stringify(verdict))
}

test('a live backup put back twice revives nothing and forks no log', async (t) => {
  const stage = new Stage(t)
  const backedUp = await backUpUnderLoad(t, stage)
  const { promises, saved, dir } = backedUp
  t.diagnostic(`${saved.length} of ${promises.facts.size} memories, ${promises.erased.size} erased`)
  for (let round = 0; round < 2; round += 1) {
    await restore(stage, dir)
    const client = await stage.start()
    await assertRestored(client, backedUp)
    await assertOneTreeEach(client, promises)
    const [{ store_id }] = await client.all('/v1/stores', 'stores')
    // Other entries at the same sizes: a generation used twice would sign two trees for one.
    const body = { content: `Written after restore ${round}` }
    for (let i = 0; i <= round; i += 1)
      await client.ok('POST', `/v1/stores/${store_id}/write`, { body })
    await assertOneTreeEach(client, promises)
    await stage.server.killed()
    await fsck(stage.options)
    noteCounts({ 'restored copies checked': 1 })
  }
})
