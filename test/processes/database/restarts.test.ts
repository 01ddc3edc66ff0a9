// A database server that ends under load and is started again, or whose standby takes its place.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  type Cluster,
  type ServerEnd,
  startCluster,
} from '../../../packages/server/src/testing/postgres-cluster.ts'
import { noteCounts, roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { Client, createTenant } from '../../crash/testing/client.ts'
import { fsck } from '../../crash/testing/command-line.ts'
import { countsOf } from '../../crash/testing/promises.ts'
import { seeded, seedOfRun } from '../../crash/testing/random.ts'
import type { ServerProcess } from '../../crash/testing/server-process.ts'
import { type Fleet, fleetOn } from '../testing/fleet.ts'
import { buildGate } from '../testing/gate.ts'
import { checkEverywhere, waitForRecovery } from '../testing/mixed-load.ts'
import { type OutageLoad, startOutageLoad } from '../testing/outage-load.ts'
import { promote, startStandby } from '../testing/standby.ts'

/** Instead of half a minute: what was cut off is taken up again after it. */
const LEASE_MS = 1_500
/** Answers before and after each end. */
const ENOUGH = roundsOf(40, 150)
const ENDS: readonly ServerEnd[] = ['killed', 'immediate', 'fast']
const RESTARTS = roundsOf(3, 30)
const FAIL_OVERS = roundsOf(1, 5)

interface Stage {
  readonly fleet: Fleet
  /** The only process; nobody starts it again. */
  readonly server: ServerProcess
  readonly load: OutageLoad
}

async function openStage(t: TestContext, database_url: string): Promise<Stage> {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = fleetOn(t, database_url)
  const server = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const load = await startOutageLoad(t, [server], random)
  return { fleet, server, load }
}

/** All that was acknowledged is there, as the process that saw it all shows it. */
async function checkStage(t: TestContext, { fleet, server, load }: Stage): Promise<void> {
  const { tenant, promises, client } = load
  await load.stop()
  await waitForRecovery(new Client(server.url, tenant.api_key), promises)
  await checkEverywhere([server], { tenant, promises })
  await fsck(fleet.options)
  await server.stop()
  const counts = { 'requests refused with 503': client.refused, ...countsOf(promises) }
  t.diagnostic(JSON.stringify(counts))
  noteCounts(counts)
}

async function start(t: TestContext): Promise<Cluster> {
  const cluster = await startCluster({ durable: true })
  t.after(() => cluster.stop())
  return cluster
}

test('a database that is killed or stopped and started again has all acknowledged', async (t) => {
  const cluster = await start(t)
  const stage = await openStage(t, cluster.url)
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await stage.load.answered(ENOUGH)
    await cluster.end(ENDS[restart % ENDS.length] ?? 'killed')
    await stage.load.refused()
    await cluster.startAgain()
  }
  await stage.load.answered(ENOUGH)
  await checkStage(t, stage)
  noteCounts({ 'databases started again': RESTARTS })
})

test('a synchronous standby that is promoted under load has all acknowledged', async (t) => {
  let primary = await start(t)
  const gate = await buildGate(t, primary.url)
  await gate.open()
  const stage = await openStage(t, gate.url)
  for (let failOver = 0; failOver < FAIL_OVERS; failOver += 1) {
    const standby = await startStandby(primary, 'synchronous')
    t.after(() => standby.stop())
    await stage.load.answered(ENOUGH)
    await primary.end('killed')
    await stage.load.refused()
    await gate.shut()
    await promote(standby)
    await gate.open(standby.url)
    primary = standby
  }
  await stage.load.answered(ENOUGH)
  await checkStage(t, stage)
  noteCounts({ 'standbys promoted': FAIL_OVERS })
})

test('no checkpoint is signed over a standby that lacks entries of the one before', async (t) => {
  const [primary, keys] = await Promise.all([start(t), start(t)])
  const gate = await buildGate(t, primary.url)
  await gate.open()
  const fleet = fleetOn(t, gate.url, { CUSTOS_KEYRING_URL: keys.url })
  const server = await fleet.spawn().listening()
  const { api_key } = await createTenant(server)
  const client = new Client(server.url, api_key)
  const write = (content: string) =>
    client.ok('POST', '/v1/stores/default/write', { body: { content } })
  const roll = (to = client) => to.ask('POST', '/v1/gcrumbs/roll', { body: {} })
  await write('on both')
  const standby = await startStandby(primary, 'asynchronous')
  t.after(() => standby.stop())
  await standby.end('killed')
  await write('on the primary only')
  const signed = (await roll()).body
  await primary.end('killed')
  await gate.shut()
  await standby.startAgain()
  await promote(standby)
  await gate.open(standby.url)
  // The log becomes longer than the one that was signed.
  for (const content of ['after', 'the', 'fail-over']) await write(content)
  const refused = await roll()
  assert.deepEqual([refused.status, refused.body.error], [503, 'unavailable'])
  await server.stop()
  assert.match(server.output, /log\.lacks_signed_entries/)
  const [again] = await fleet.start(1)
  assert.ok(again)
  const fresh = new Client(again.url, api_key)
  const goesOn = (await roll(fresh)).body
  assert.deepEqual([goesOn.generation, signed.generation], [1, 0])
  assert.equal((await fresh.ok('GET', '/v1/gcrumbs/verify?full=true')).status, 'intact')
  await fsck(fleet.options)
})
