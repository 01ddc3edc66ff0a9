// A clock that jumps, while the service runs and between its processes.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noteCounts, roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { checkPromises } from './testing/check.ts'
import { Client, createTenant } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { buildLibrary } from './testing/disk.ts'
import { countsOf, Promises } from './testing/promises.ts'
import { seeded, seedOfRun } from './testing/random.ts'
import { ServerProcess } from './testing/server-process.ts'
import { repeatLoad, SpreadClient } from './testing/spread-client.ts'
import { tempDirectory } from './testing/temp-directory.ts'

const SECOND = 1_000
const DAY = 86_400 * SECOND
/** How far ahead the clock is, one jump after another; below zero it is behind. */
const JUMPS = [400 * DAY, -400 * DAY, SECOND, -SECOND, -3_600 * SECOND, 3_600 * SECOND, DAY, 0]
/** The same, when a process starts. */
const BETWEEN = [0, 3_600 * SECOND, -3_600 * SECOND, -SECOND]
const STARTS = [-400 * DAY, ...BETWEEN.slice(0, roundsOf(0, BETWEEN.length)), 400 * DAY]
const WORKERS = 3
const LOAD_MS = 250

test('whatever the clock does, nothing acknowledged is lost and the log stays one', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const dir = tempDirectory(t)
  const library = buildLibrary(t, dir, 'clock.c')
  if (library === null) return
  const control = join(dir, 'clock')
  const setAhead = aheadIn(control)
  const env = { LD_PRELOAD: library, CLOCK_CONTROL: control }
  const options = { data_dir: join(dir, 'data'), ledger_copy: join(dir, 'ledger.ndjson'), env }
  const promises = new Promises()
  let tenant: { api_key: string; store_id: string } | undefined
  for (const [round, ahead_ms] of STARTS.entries()) {
    setAhead(ahead_ms)
    const server = await ServerProcess.serve(options).listening()
    t.after(() => server.kill())
    tenant ??= await enter(server)
    const { api_key: key, store_id } = tenant
    if (round > 0) await checkPromises(new Client(server.url, key), promises)
    const client = new SpreadClient({ urls: [server.url], key, random })
    const load = Promise.all(
      Array.from({ length: WORKERS }, (_, first) =>
        repeatLoad({
          client,
          store_id,
          promises,
          random,
          first: (round + 1) * 1_000 + first,
          workers: WORKERS,
        }),
      ),
    )
    for (const ahead of JUMPS) {
      setAhead(ahead)
      noteCounts({ 'jumps while it ran': 1 })
      await Promise.race([delay(LOAD_MS), load])
    }
    client.stop()
    await load
    await checkPromises(new Client(server.url, key), promises)
    await server.killed()
    noteCounts({ 'restarts at another time': 1 })
  }
  setAhead(0)
  const last = await ServerProcess.serve(options).listening()
  t.after(() => last.kill())
  const client = new Client(last.url, tenant?.api_key ?? '')
  await checkPromises(client, promises)
  const [first] = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  assert.ok(Date.parse(first.created_at) < Date.now() - 399 * DAY, 'the clock was never set')
  await last.stop()
  // Entries ahead of the clock are a finding, and none when the clock has caught up.
  await assert.rejects(fsck(options), {
    stdout: /log clock: the newest entry is \d+ s ahead/,
  })
  setAhead(401 * DAY)
  await fsck(options)
  assert.ok(promises.facts.size > 0)
  noteCounts(countsOf(promises))
})

/** Sets how far the clock is ahead, in the file that the library reads. */
function aheadIn(control: string): (ms: number) => void {
  writeFileSync(control, Buffer.alloc(8))
  return (ms) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(ms) * 1_000n)
    writeFileSync(control, bytes, { flag: 'r+' })
  }
}

async function enter(server: ServerProcess): Promise<{ api_key: string; store_id: string }> {
  const { api_key } = await createTenant(server)
  const { store_id } = await new Client(server.url, api_key).ok('POST', '/v1/stores', { body: {} })
  return { api_key, store_id }
}
