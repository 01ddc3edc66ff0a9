// A database that is not there at the start, comes later, or goes away under load.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from '../../../packages/server/src/testing/postgres-cluster.ts'
import { noteCounts, roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { Client, createTenant, Interrupted } from '../../crash/testing/client.ts'
import { fsck } from '../../crash/testing/command-line.ts'
import { countsOf } from '../../crash/testing/promises.ts'
import { seeded, seedOfRun } from '../../crash/testing/random.ts'
import { ServerProcess } from '../../crash/testing/server-process.ts'
import { openFleet, optionsOf } from '../testing/fleet.ts'
import { buildGate } from '../testing/gate.ts'
import { checkEverywhere } from '../testing/mixed-load.ts'
import { startOutageLoad } from '../testing/outage-load.ts'

const CUTS = roundsOf(2, 3)
/** Instead of half a minute: a job that was cut off is taken up again after it. */
const LEASE_MS = 3_000
/** For both: the database itself is waited for half a minute. */
const HANG_ANSWER_MS = 20_000
/** Answers before and after each cut. */
const ENOUGH = roundsOf(20, 40)

test('without its database the service says so in one line and ends', async () => {
  const url = `postgres://custos:secret@127.0.0.1:${await findFreePort()}/custos`
  const server = ServerProcess.serve(optionsOf(url))
  await server.ended()
  assert.equal(server.exitCode, 1)
  assert.match(
    server.output,
    /^custos serve: the database of CUSTOS_DATABASE_URL: [^\n]*ECONNREFUSED[^\n]*\n$/,
  )
  assert.ok(!server.output.includes('secret'))
})

test('told to wait, it is alive and not ready until the database comes', async (t) => {
  const fleet = await openFleet(t)
  const gate = await buildGate(t, fleet.database_url)
  const port = await findFreePort()
  const server = fleet.spawn({
    CUSTOS_DATABASE_URL: gate.url,
    CUSTOS_DATABASE_WAIT: '60',
    CUSTOS_PORT: String(port),
  })
  const waiting = new Client(`http://127.0.0.1:${port}`, 'none')
  const ask = async (path: string) => {
    for (;;) {
      try {
        return await waiting.ask('GET', path)
      } catch (error) {
        // It does not listen yet.
        if (!(error instanceof Interrupted)) throw error
        await delay(50)
      }
    }
  }
  const alive = await ask('/healthz')
  assert.deepEqual([alive.status, alive.body.status], [200, 'ok'])
  for (const path of ['/readyz', '/v1/stores']) {
    const { status, body, retry_after } = await ask(path)
    assert.deepEqual([status, body.error], [503, 'unavailable'])
    assert.match(String(retry_after), /^[1-9]\d*$/)
  }
  await gate.open()
  await server.listening()
  assert.equal((await ask('/readyz')).status, 200)
  const { api_key } = await createTenant(server)
  await new Client(server.url, api_key).ok('POST', '/v1/stores', { body: {} })
  await server.stop()
})

test('behind a database that hangs, probes and scrapes are answered in seconds', async (t) => {
  const fleet = await openFleet(t)
  const gate = await buildGate(t, fleet.database_url)
  await gate.open()
  const env = { CUSTOS_DATABASE_URL: gate.url, CUSTOS_METRICS_PUBLIC: '1' }
  const server = await fleet.spawn(env).listening()
  const outsider = new Client(server.url, 'none')
  assert.equal((await outsider.ask('GET', '/readyz')).status, 200)
  gate.silence()
  const asked = performance.now()
  const ready = await outsider.ask('GET', '/readyz')
  // The last state of the storage is known for a second.
  const scraped = await (await fetch(`${server.url}/metrics`)).text()
  assert.ok(performance.now() - asked < HANG_ANSWER_MS)
  assert.deepEqual([ready.status, ready.body.checks?.database], [503, 'failing'])
  assert.deepEqual(scraped.match(/^custos_(storage_ok|log_size) .*$/gm), ['custos_storage_ok 0'])
  await gate.shut()
  await gate.open()
  while ((await outsider.ask('GET', '/readyz')).status !== 200) await delay(50)
  await server.stop()
})

test('cut off from its database it answers 503, recovers, and has lost nothing', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = await openFleet(t)
  const gate = await buildGate(t, fleet.database_url)
  await gate.open()
  const env = { CUSTOS_DATABASE_URL: gate.url }
  const servers = await Promise.all(
    [1, 2].map(() => fleet.spawnStepped({ env, lease_ms: LEASE_MS }).listening()),
  )
  const load = await startOutageLoad(t, servers, random)
  const { tenant, promises, client } = load
  for (let cut = 0; cut < CUTS; cut += 1) {
    await load.answered(ENOUGH)
    await gate.shut()
    await load.refused()
    await gate.open()
  }
  await load.answered(ENOUGH)
  await load.stop()
  t.diagnostic(`${promises.facts.size} memories, ${client.refused} requests refused`)
  // A start finishes or undoes what the cuts have left; so would the timer, in its time.
  const [fresh] = await fleet.start(1)
  assert.ok(fresh)
  await checkEverywhere([fresh, ...servers], { tenant, promises })
  await fsck(fleet.options)
  noteCounts({ cuts: CUTS, 'requests refused with 503': client.refused, ...countsOf(promises) })
})
