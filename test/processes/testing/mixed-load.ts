// Mixed use of several processes by several tenants, and what must hold afterwards at each.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { checkPromises } from '../../crash/testing/check.ts'
import { Client, createTenant, Interrupted, type TenantKey } from '../../crash/testing/client.ts'
import { fsck } from '../../crash/testing/command-line.ts'
import type { KillTarget } from '../../crash/testing/kill-rounds.ts'
import { runLoad } from '../../crash/testing/load.ts'
import { countsOf, Promises, TOKEN } from '../../crash/testing/promises.ts'
import { type Random, seeded, seedOfRun } from '../../crash/testing/random.ts'
import type { ServerProcess } from '../../crash/testing/server-process.ts'
import { SpreadClient } from '../../crash/testing/spread-client.ts'
import { at, openFleet } from './fleet.ts'

const REDACTED = /^\[REDACTED/

/** One tenant that everybody uses, and two beside it. */
const WORKERS = [6, 1, 1]

/** A tenant under load. */
export interface Loaded {
  readonly tenant: TenantKey
  readonly store_id: string
  readonly promises: Promises
  readonly client: SpreadClient
  /** Resolves when its workers and its reader have noticed that the client is stopped. */
  readonly done: Promise<unknown>
}

export async function openTenant(server: ServerProcess) {
  const tenant = await createTenant(server)
  const client = new Client(server.url, tenant.api_key)
  const { store_id } = await client.ok('POST', '/v1/stores', { body: {} })
  return { tenant, store_id: String(store_id) }
}

export async function startLoad(
  servers: readonly ServerProcess[],
  { workers, random }: { workers: number; random: Random },
): Promise<Loaded> {
  const { tenant, store_id } = await openTenant(at(servers, 0))
  const urls = servers.map(({ url }) => url)
  const promises = new Promises()
  const client = new SpreadClient({ urls, key: tenant.api_key, random })
  const load = runLoad({ client, store_id, promises, random, round: 1 }, workers)
  const done = Promise.all([load, watch({ client, store_id, promises, random })])
  done.catch(() => client.stop())
  return { tenant, store_id, promises, client, done }
}

const tokensOf = (text: string): readonly string[] => text.match(TOKEN) ?? []

/** Reads on: no answer may show what any process had erased when it was asked for. */
async function watch(parts: {
  readonly client: Client
  readonly store_id: string
  readonly promises: Promises
  readonly random: Random
}): Promise<void> {
  const { client, store_id, promises, random } = parts
  try {
    for (;;) {
      const fact = random.pick([...promises.facts.values()])
      const erased = new Set(
        [...promises.erased.keys()].flatMap((ref) => tokensOf(contentOf(promises, ref))),
      )
      const words = random.int(2) === 0 ? 'shelf blue boxes' : (fact?.content ?? 'shelf')
      const body = { query: words, budget_tokens: 5_000 }
      const answer = await client.ok('POST', `/v1/stores/${store_id}/retrieve`, { body })
      for (const token of tokensOf(JSON.stringify(answer.memories)))
        assert.ok(!erased.has(token), `${token} was served after it had been erased`)
      await delay(5)
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
  }
}

const contentOf = ({ facts }: Promises, ref: number): string => facts.get(ref)?.content ?? ''

export async function stopLoads(loads: readonly Loaded[]): Promise<void> {
  for (const { client } of loads) client.stop()
  await Promise.all(loads.map(({ done }) => done))
}

/** What was acknowledged is shown by each process alike, and each finds its log intact. */
export async function checkEverywhere(
  servers: readonly ServerProcess[],
  { tenant, promises }: Pick<Loaded, 'tenant' | 'promises'>,
): Promise<void> {
  for (const { url } of servers) await checkPromises(new Client(url, tenant.api_key), promises)
}

export interface Loading {
  readonly processes: number
  readonly load_ms: number
  /** Settings for the database of this URL. */
  readonly settings?: (database_url: string) => Promise<Readonly<Record<string, string>>>
}

/** Loads `processes` for so long, then holds them to all they have answered. */
export async function loadAndCheck(
  t: TestContext,
  { processes, load_ms, settings }: Loading,
): Promise<void> {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = await openFleet(t)
  // All at once, on a database without tables.
  const servers = await fleet.start(processes, await settings?.(fleet.database_url))
  const loads = await Promise.all(WORKERS.map((workers) => startLoad(servers, { workers, random })))
  await Promise.race([delay(load_ms), ...loads.map(({ done }) => done)])
  await stopLoads(loads)
  for (const load of loads) await checkEverywhere(servers, load)
  await fsck(fleet.options)
  for (const server of servers) await server.stop()
  for (const load of loads) report(t, load)
  noteCounts({ processes })
}

function report(t: TestContext, { promises, client }: Loaded): void {
  const counts = { answers: client.answered, ...countsOf(promises) }
  t.diagnostic(JSON.stringify(counts))
  noteCounts(counts)
}

/** For rounds of kill -9 on one database. */
export async function onPostgres(t: TestContext, lease_ms: number): Promise<KillTarget> {
  const fleet = await openFleet(t)
  return {
    options: fleet.options,
    spawn: () => fleet.spawnStepped({ lease_ms }),
    recovered: waitForRecovery,
  }
}

/** Until what a killed process was erasing is finished or undone by one that lives. */
export async function waitForRecovery(client: Client, promises: Promises): Promise<void> {
  for (const ref of promises.doubtfulErasures) {
    const { store_id } = promises.facts.get(ref) ?? { store_id: '' }
    for (;;) {
      const shown = await client.ask('GET', `/v1/stores/${store_id}/memories/${ref}`)
      const certified = await client.ask('GET', `/v1/erasure/fact/${ref}`)
      if ((shown.status === 200) !== (certified.status === 200)) break
      await delay(50)
    }
  }
  for (const decision_id of promises.doubtfulRedactions)
    for (;;) {
      const { output } = await client.ok('GET', `/v1/decisions/${decision_id}`)
      const certificates = await client.all('/v1/erasure', 'certificates')
      const certified = certificates.some((one) => one.decision_id === decision_id)
      if (certified === REDACTED.test(output)) break
      await delay(50)
    }
}
