// SIGTERM while the database is gone: the process ends, and says why.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, Interrupted } from '../crash/testing/client.ts'
import { openFleet } from './testing/fleet.ts'
import { buildGate, type Gate } from './testing/gate.ts'
import { openTenant } from './testing/mixed-load.ts'

const READERS = 4

/** A process under load whose way to the database is taken from it, and which is to stop then. */
async function stopWithout(t: TestContext, take: (gate: Gate) => void | Promise<void>) {
  const fleet = await openFleet(t)
  const gate = await buildGate(t, fleet.database_url)
  await gate.open()
  const server = await fleet.spawn({ CUSTOS_DATABASE_URL: gate.url }).listening()
  const { tenant, store_id } = await openTenant(server)
  const client = new Client(server.url, tenant.api_key)
  let answered = 0
  const use = async () => {
    try {
      for (;;) {
        await client.ask('POST', `/v1/stores/${store_id}/write`, { body: { content: 'x' } })
        await client.ask('GET', '/v1/usage/current')
        answered += 1
      }
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
    }
  }
  const users = Promise.all(Array.from({ length: READERS }, use))
  while (answered < READERS) await Promise.race([delay(10), users])
  await take(gate)
  const began = performance.now()
  await server.terminated()
  await users
  t.diagnostic(`ended within ${Math.round(performance.now() - began)} ms`)
  assert.equal(server.exitCode, 1)
  assert.match(server.output, /^custos serve: the database does not answer: stopped without it$/m)
}

test('told to stop while its database is down, a process ends and says so', (t) =>
  stopWithout(t, (gate) => gate.shut()))

test('told to stop while no connection answers, a process ends and says so', (t) =>
  stopWithout(t, (gate) => gate.silence()))

test('told to stop under load, a process whose database answers ends cleanly', async (t) => {
  const fleet = await openFleet(t)
  const [server] = await fleet.start(1)
  assert.ok(server)
  const { tenant } = await openTenant(server)
  assert.equal((await new Client(server.url, tenant.api_key).ask('GET', '/v1/stores')).status, 200)
  await server.stop()
})
