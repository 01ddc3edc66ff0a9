// Load that goes on while the database goes away and comes back, by clients that expect a 503.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, type TenantKey } from '../../crash/testing/client.ts'
import { Promises } from '../../crash/testing/promises.ts'
import type { Random } from '../../crash/testing/random.ts'
import type { ServerProcess } from '../../crash/testing/server-process.ts'
import { repeatLoad, SpreadClient } from '../../crash/testing/spread-client.ts'
import { at } from './fleet.ts'
import { openTenant } from './mixed-load.ts'

const WORKERS = 6
const PAUSE_MS = 200
const LOOK_MS = 10
/** Two minutes: a busy machine is no fault of the service. */
const LOOKS_MAX = 12_000

export interface OutageLoad {
  readonly tenant: TenantKey
  readonly promises: Promises
  readonly client: SpreadClient
  /** Resolves after `more` further answers that are no 503. */
  answered(more: number): Promise<void>
  /** Resolves when each worker was refused; each process is then alive and not ready. */
  refused(): Promise<void>
  /** Resolves when every worker has ended. */
  stop(): Promise<void>
}

export async function startOutageLoad(
  t: TestContext,
  servers: readonly ServerProcess[],
  random: Random,
): Promise<OutageLoad> {
  const { tenant, store_id } = await openTenant(at(servers, 0))
  // Every process follows the log of a tenant that has one.
  const webhook = { url: 'https://hooks.example.com/', events: ['store.deleted'] }
  await new Client(at(servers, 0).url, tenant.api_key).ok('POST', '/v1/webhooks', { body: webhook })
  const promises = new Promises()
  const urls = servers.map(({ url }) => url)
  const client = new SpreadClient({ urls, key: tenant.api_key, random, refusals: true })
  t.after(() => client.stop())
  const all = Promise.all(
    Array.from({ length: WORKERS }, (_, first) =>
      repeatLoad({
        client,
        store_id,
        promises,
        random,
        first,
        workers: WORKERS,
        pause_ms: PAUSE_MS,
      }),
    ),
  )
  all.catch(() => client.stop())
  const until = async (isSo: () => boolean, what: string): Promise<void> => {
    for (let looks = 0; !isSo(); looks += 1) {
      assert.ok(looks < LOOKS_MAX, `${what} never comes`)
      await Promise.race([delay(LOOK_MS), all])
    }
  }
  const answered = (more: number) => {
    const kept = () => client.answered - client.refused
    const wanted = kept() + more
    return until(() => kept() >= wanted, 'an answer other than 503')
  }
  const refused = async () => {
    const wanted = client.refused + WORKERS
    await until(() => client.refused >= wanted, 'a 503')
    for (const server of servers) await checkAway(server)
  }
  const stop = async () => {
    client.stop()
    await all
  }
  return { tenant, promises, client, answered, refused, stop }
}

/** Alive, not ready, and every request is told when to ask again. */
async function checkAway({ url }: ServerProcess): Promise<void> {
  const outsider = new Client(url, 'none')
  assert.equal((await outsider.ask('GET', '/healthz')).status, 200)
  const { status, retry_after } = await outsider.ask('GET', '/readyz')
  assert.equal(status, 503)
  assert.match(String(retry_after), /^[1-9]\d*$/)
}
