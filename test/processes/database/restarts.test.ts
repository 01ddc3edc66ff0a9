// A database server that ends under load and is started again, or whose standby takes its place.

import { type TestContext, test } from 'node:test'
import {
  type Cluster,
  type ServerEnd,
  startCluster,
} from '../../../packages/server/src/testing/postgres-cluster.ts'
import { noteCounts, roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { Client } from '../../crash/testing/client.ts'
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
    const standby = await startStandby(primary)
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
