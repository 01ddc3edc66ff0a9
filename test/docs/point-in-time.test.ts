// Point-in-time recovery of docs/operating/backup.md, with the settings written there.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import {
  type Cluster,
  give,
  startCluster,
  unprivileged,
} from '../../packages/server/src/testing/postgres-cluster.ts'
import { noteCounts } from '../../packages/server/src/testing/sweep.ts'
import { Client, createTenant } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import { Promises } from '../crash/testing/promises.ts'
import { type ServerOptions, ServerProcess } from '../crash/testing/server-process.ts'
import { optionsOf } from '../processes/testing/fleet.ts'
import { backUpFiles } from '../processes/testing/standby.ts'
import { blocksOf, readPage, sectionOf } from './testing/page.ts'

const SECTION = sectionOf(readPage('docs/operating/backup.md'), '### Point-in-time recovery')
const [ARCHIVING = '', RECOVERING = ''] = blocksOf(SECTION)
  .filter(({ language }) => language === 'ini')
  .map(({ text }) => text)

/** The settings of a block, with the archive of this test in place of the page's. */
function settingsIn(block: string, archive: string): Record<string, string> {
  const lines = [...block.matchAll(/^(\w+) = '?(.*?)'?$/gm)]
  assert.ok(lines.length > 0)
  return Object.fromEntries(
    lines.map(([, name = '', value = '']) => [name, value.replaceAll('/archive/data', archive)]),
  )
}

interface Place {
  readonly data: Cluster
  readonly keys: Cluster
  readonly archive: string
  readonly base: string
}

async function openPlace(t: TestContext): Promise<Place> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-point-in-time-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const archive = join(dir, 'archive')
  mkdirSync(archive)
  for (const path of [dir, archive]) give(path, unprivileged())
  const data = await startCluster({ settings: settingsIn(ARCHIVING, archive) })
  t.after(() => data.stop())
  const keys = await startCluster()
  t.after(() => keys.stop())
  return { data, keys, archive, base: join(dir, 'base') }
}

/** The first column of the only row, on a connection of its own: statistics stay as first seen. */
const ask = ({ data }: Place, sql: string): Promise<unknown> =>
  withPostgres(data.url, async (connection) => {
    const { rows } = await connection.query({ sql: `select (${sql}) as value` }, [])
    return rows[0].value
  })

/** Ends the present segment and waits until the archive has it. */
async function archiveAll(place: Place): Promise<void> {
  const segment = await ask(place, 'pg_walfile_name(pg_switch_wal())')
  for (let look = 0; look < 600; look += 1) {
    if (existsSync(join(place.archive, String(segment)))) return
    await delay(100)
  }
  assert.fail(`${segment} is never archived`)
}

async function serve(t: TestContext, options: ServerOptions): Promise<ServerProcess> {
  const server = ServerProcess.serve(options)
  t.after(() => server.killed())
  return server.listening()
}

async function noteEpochs(client: Client, promises: Promises): Promise<void> {
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  for (const epoch of await client.all('/v1/gcrumbs/epochs', 'epochs')) promises.checkpoint(epoch)
}

test('data recovered to a moment: erasures since hold, and the log goes on unforked', async (t) => {
  const place = await openPlace(t)
  const keyring = { CUSTOS_KEYRING_URL: place.keys.url }
  const options = optionsOf(place.data.url, keyring)
  const first = await serve(t, options)
  const { api_key } = await createTenant(first)
  const client = new Client(first.url, api_key)
  const write = async (content: string): Promise<number> =>
    (await client.ok('POST', '/v1/stores/default/write', { body: { content } })).ref
  const before = await write('written before the base backup')
  await backUpFiles(place.data, place.base)
  const erased = await write('Ines Carvalho was treated for asthma')
  const kept = await write('written before the moment')
  await delay(20)
  const moment = String(await ask(place, 'now()::text'))
  await delay(20)
  const lost = await write('written after the moment')
  const { certificate_id } = await client.ok('POST', '/v1/erasure/issue', {
    body: { fact_ref: erased },
  })
  const promises = new Promises()
  await noteEpochs(client, promises)
  await first.stop()
  await archiveAll(place)

  const settings = settingsIn(RECOVERING, place.archive)
  assert.ok(settings['recovery_target_time'])
  const recovered = await startCluster({
    settings: { ...settings, recovery_target_time: moment },
    recovered: { base: place.base, url: place.data.url },
  })
  t.after(() => recovered.stop())
  const again = optionsOf(recovered.url, keyring)
  const second = await serve(t, again)
  const reader = new Client(second.url, api_key)
  const statusOf = async (ref: number) =>
    (await reader.ask('GET', `/v1/stores/default/memories/${ref}`)).status
  assert.deepEqual(
    await Promise.all([before, kept, lost, erased].map(statusOf)),
    [200, 200, 404, 404],
  )
  const shown = await reader.ok('GET', `/v1/erasure/fact/${erased}`)
  assert.deepEqual([shown.certificate_id, shown.verified], [certificate_id, true])
  const stats = await reader.ok('GET', '/v1/gcrumbs/stats')
  assert.equal(stats.generation, 1)
  await reader.ok('POST', '/v1/stores/default/write', { body: { content: 'goes on' } })
  await noteEpochs(reader, promises)
  const { status } = await reader.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(status, 'intact')
  await second.stop()
  await fsck(again)
  noteCounts({ 'databases recovered to a moment': 1 })
})
