// kill -9 between two files that a command exchanges: what opens the directory next completes it.

import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'
import type { Client } from './testing/client.ts'
import { custos, fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'

const PRELOAD = fileURLToPath(new URL('./testing/kill-before-move.ts', import.meta.url))
const ERASED = 'Ines zk1x1q Carvalho was treated for asthma'
const KEPT = 'The clinic opens at eight'

/** Runs a command that is killed before it moves a file to this path of the data directory. */
async function killedBefore(stage: Stage, path: string, args: readonly string[]): Promise<void> {
  const { options } = stage
  const env = {
    NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${PRELOAD}`,
    CUSTOS_TEST_KILL_BEFORE: `${join(options.data_dir, path)}$`,
  }
  await assert.rejects(custos({ ...options, env }, args), { signal: 'SIGKILL' })
}

interface Story {
  readonly stage: Stage
  readonly restore: readonly string[]
  /** Erased after the backup, and kept in it. */
  readonly refs: readonly number[]
  readonly certificate_id: string
}

/** No ledger copy: only the keyring in the directory knows of the erasure. */
async function eraseAfterBackup(stage: Stage): Promise<Story> {
  const client = await stage.start()
  const items = [{ content: ERASED }, { content: KEPT }]
  const { refs } = await client.ok('POST', '/v1/stores/default/write_batch', { body: { items } })
  const to = join(stage.dir, 'backup')
  await custos(stage.options, ['backup', to])
  const { certificate_id } = await client.ok('POST', '/v1/erasure/issue', {
    body: { fact_ref: refs[0] },
  })
  // What the write-ahead log has then is nowhere else.
  await stage.server.killed()
  const file = (end: string) => join(to, readdirSync(to).find((name) => name.endsWith(end)) ?? '')
  const restore = ['restore', '--force', '--data', file('.data')]
  return { stage, restore: [...restore, '--keyring', file('.keyring')], refs, certificate_id }
}

async function assertRestored(client: Client, { refs, certificate_id }: Story): Promise<void> {
  const [erased, kept] = refs
  const path = '/v1/stores/default/memories'
  assert.equal((await client.ask('GET', `${path}/${erased}`)).status, 404)
  assert.equal((await client.ok('GET', `${path}/${kept}`)).content, KEPT)
  const shown = await client.ok('GET', `/v1/erasure/${certificate_id}`)
  assert.equal(shown.fact_ref, erased)
}

const RESTORES = ['[^/]+/replaced', 'keyring', 'custos.db'].flatMap((path) =>
  ['start', 'restore'].map((next) => ({ path, next })),
)

test('killed while it exchanges files, a restore forgets no erasure and no write', async (t) => {
  for (const { path, next } of casesOf(RESTORES, 2)) {
    const stage = new Stage(t, { ledger_copy: false })
    const story = await eraseAfterBackup(stage)
    await killedBefore(stage, path, story.restore)
    // Data and keyring may be of two restores until then.
    const reading = custos(stage.options, ['fsck', '--data-dir', stage.options.data_dir])
    await assert.rejects(reading, /a restore into \S+ was cut off/)
    if (next === 'restore') await custos(stage.options, story.restore)
    await assertRestored(await stage.start(), story)
    await stage.server.stop()
    await fsck(stage.options)
    const left = readdirSync(stage.options.data_dir)
    assert.deepEqual(
      left.filter((name) => /^restore/.test(name)),
      [],
    )
  }
})

for (const path of ['master.key.rotation-old', 'master.key'])
  test(`after a change of the master key killed before ${path}, the service starts`, async (t) => {
    const stage = new Stage(t)
    await (await stage.start()).ok('POST', '/v1/stores/default/write', { body: { content: KEPT } })
    await stage.server.stop()
    await killedBefore(stage, path, ['key', 'rotate-master'])
    const client = await stage.start()
    assert.equal((await client.ok('GET', '/v1/stores/default/memories/1')).content, KEPT)
    await stage.server.stop()
    for (const name of ['master.key.rotation-next', 'master.key.rotation-old'])
      assert.ok(!existsSync(join(stage.options.data_dir, name)), name)
  })

test('files of other names beside the data are left alone', async (t) => {
  const stage = new Stage(t)
  await stage.start()
  await stage.server.stop()
  const copy = join(stage.options.data_dir, 'restored')
  cpSync(join(stage.options.data_dir, 'keyring'), join(copy, 'keyring'), { recursive: true })
  for (const name of ['master.key.old', 'master.key.next', 'restore-0123456789ab.ready'])
    writeFileSync(join(stage.options.data_dir, name), '00'.repeat(32))
  await stage.start()
  const left = readdirSync(stage.options.data_dir)
  for (const name of [
    'master.key.old',
    'master.key.next',
    'restored',
    'restore-0123456789ab.ready',
  ])
    assert.ok(left.includes(name), name)
})

test('a rotation that was cut off is not passed over by a master key that is given', async (t) => {
  const stage = new Stage(t)
  await stage.start()
  await stage.server.stop()
  const key = readFileSync(join(stage.options.data_dir, 'master.key'), 'utf8').trim()
  await killedBefore(stage, 'master.key.rotation-old', ['key', 'rotate-master'])
  const env = { CUSTOS_MASTER_KEY: key }
  await assert.rejects(
    custos({ ...stage.options, env }, ['key', 'rotate', 'checkpoint']),
    /was cut off/,
  )
  await stage.start()
})

test('a next master key that was not written to its end stops nothing', async (t) => {
  const stage = new Stage(t)
  await stage.start()
  await stage.server.stop()
  writeFileSync(join(stage.options.data_dir, 'master.key.rotation-next'), '')
  await custos(stage.options, ['key', 'rotate-master'])
  await stage.start()
})
