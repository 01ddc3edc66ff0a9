// Rounds of load, SIGKILL and restart on the same data.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { checkPromises } from './check.ts'
import { Client, createTenant, type TenantKey } from './client.ts'
import { fsck } from './command-line.ts'
import { runLoad } from './load.ts'
import { countsOf, Promises } from './promises.ts'
import { type Random, seeded, seedOfRun } from './random.ts'
import { type ServerOptions, ServerProcess } from './server-process.ts'
import { tempDirectory } from './temp-directory.ts'

const WORKERS = 6
const LOAD_MS_MAX = 900
const START_MS_MAX = 700

/** Where the data are, and how a process of the service on them is started. */
export interface KillTarget {
  readonly options: ServerOptions
  spawn(): ServerProcess
  /** Waits for what the next process does with what a killed one was at; absent: it starts so. */
  recovered?(client: Client, promises: Promises): Promise<void>
}

interface Rounds {
  readonly target: KillTarget
  readonly promises: Promises
  readonly random: Random
  tenant: TenantKey | null
  store_id: string
}

/** On one data directory. */
export async function killEmbedded(t: TestContext, rounds: number): Promise<void> {
  const dir = tempDirectory(t)
  const options = { data_dir: join(dir, 'data'), ledger_copy: join(dir, 'ledger.ndjson') }
  await killRounds(t, rounds, { options, spawn: () => ServerProcess.serve(options) })
  assert.ok(existsSync(options.ledger_copy))
}

export async function killRounds(
  t: TestContext,
  rounds: number,
  target: KillTarget,
): Promise<void> {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const promises = new Promises()
  const state: Rounds = { target, promises, random, tenant: null, store_id: '' }
  for (let round = 0; round < rounds; round += 1) {
    await killWhileStarting(t, state)
    await killUnderLoad(t, state, round)
  }
  const server = await start(t, state)
  await check(state, clientOf(state, server))
  await fsck(target.options)
  await server.stop()
  await fsck(target.options)
  report(t, promises)
}

async function check({ target, promises }: Rounds, client: Client): Promise<void> {
  await target.recovered?.(client, promises)
  await checkPromises(client, promises)
}

async function start(t: TestContext, { target }: Rounds): Promise<ServerProcess> {
  const server = target.spawn()
  t.after(() => server.kill())
  return server.listening()
}

/** Every fourth start is killed too: recovery itself may be cut off. */
async function killWhileStarting(t: TestContext, { target, random, tenant }: Rounds) {
  if (tenant === null || random.int(4) > 0) return
  const server = target.spawn()
  t.after(() => server.kill())
  await delay(random.int(START_MS_MAX))
  await server.killed()
  noteCounts({ 'kills during a start': 1 })
}

async function killUnderLoad(t: TestContext, state: Rounds, round: number): Promise<void> {
  const server = await start(t, state)
  if (state.tenant === null) await enter(state, server)
  const client = clientOf(state, server)
  const { promises, random, store_id } = state
  await check(state, client)
  const load = runLoad({ client, store_id, promises, random, round }, WORKERS)
  await Promise.race([load, delay(50 + random.int(LOAD_MS_MAX))])
  await server.killed()
  await load
  assert.equal(server.signal, 'SIGKILL', server.output.slice(-2_000))
  noteCounts({ 'kills under load': 1 })
}

async function enter(state: Rounds, server: ServerProcess): Promise<void> {
  state.tenant = await createTenant(server)
  const { store_id } = await clientOf(state, server).ok('POST', '/v1/stores', { body: {} })
  state.store_id = store_id
}

function clientOf({ tenant }: Rounds, { url }: ServerProcess): Client {
  assert.ok(tenant)
  return new Client(url, tenant.api_key)
}

function report(t: TestContext, promises: Promises): void {
  const counts = countsOf(promises)
  t.diagnostic(JSON.stringify(counts))
  noteCounts(counts)
}
