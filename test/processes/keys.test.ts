// Keys of callers and of the service: a change made at one process holds at the others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { verifyEnvelope } from '@custos/proof'
import { Client, createTenant } from '../crash/testing/client.ts'
import { custos, fsck } from '../crash/testing/command-line.ts'
import { seeded, seedOfRun } from '../crash/testing/random.ts'
import { at, clientsOf, openFleet, operatorOf } from './testing/fleet.ts'
import { checkEverywhere, startLoad, stopLoads } from './testing/mixed-load.ts'

const PURPOSES = 4

test('a key made at one process opens the other at once; revoked, it does not', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const { tenant_id, api_key } = await createTenant(at(servers, 0))
  const owners = clientsOf(servers, api_key)
  for (let round = 0; round < 10; round += 1) {
    const [here, there] = [at(owners, round % 2), at(servers, (round + 1) % 2)]
    const made = await here.ok('POST', '/v1/keys', { body: { name: 'agent' } })
    const agent = new Client(there.url, made.api_key)
    const use = async () => (await agent.ask('GET', '/v1/usage/current')).status
    assert.equal(await use(), 200)
    // Whatever it remembers of the key is no reason to let it in.
    assert.deepEqual(await Promise.all([use(), use(), use()]), [200, 200, 200])
    await here.ok('DELETE', `/v1/keys/${made.key_id}`)
    assert.equal(await use(), 401)
  }
  const rotated = await operatorOf(at(servers, 0)).ok(
    'POST',
    `/v1/cloud/tenants/${tenant_id}/rotate-key`,
    { body: {} },
  )
  const other = at(owners, 1)
  assert.equal((await other.ask('GET', '/v1/usage/current')).status, 401)
  const anew = new Client(other.url, rotated.api_key)
  assert.equal((await anew.ask('GET', '/v1/usage/current')).status, 200)
})

test('signing keys rotated beside running processes: each follows, all verifies', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const load = await startLoad(servers, { workers: 6, random })
  const clients = clientsOf(servers, load.tenant.api_key)
  for (let turn = 1; turn <= 2; turn += 1) {
    await delay(500)
    await custos(fleet.options, ['key', 'rotate', 'all'])
    for (const client of clients) await untilPublished(client, PURPOSES * (turn + 1))
  }
  await delay(500)
  await stopLoads([load])
  await checkEverywhere(servers, load)
  await checkDecisions(at(clients, 1))
  await fsck(fleet.options)
})

/** Until the process publishes so many keys; a test that waits in vain is ended by the runner. */
async function untilPublished(client: Client, count: number): Promise<void> {
  for (;;) {
    const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
    if (keys.length === count) return
    await delay(20)
  }
}

async function checkDecisions(client: Client): Promise<void> {
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  const decisions = await client.all('/v1/decisions', 'decisions')
  assert.ok(decisions.length > 0)
  for (const { decision_id } of decisions) {
    const decision = await client.ok('GET', `/v1/decisions/${decision_id}`)
    const verdict = await verifyEnvelope({ type: 'decision', decision }, { keys })
    assert.ok(verdict.valid, verdict.reason)
  }
}
