// Keys of callers and of the service: a change made at one process holds at the others.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { verifyEnvelope } from '@custos/proof'
import { SIGNING_PURPOSES } from '../../packages/server/src/platform/keys/keyring.ts'
import { Client, createTenant } from '../crash/testing/client.ts'
import { custos, fsck } from '../crash/testing/command-line.ts'
import { seeded, seedOfRun } from '../crash/testing/random.ts'
import { at, clientsOf, openFleet, operatorOf, shareFleet } from './testing/fleet.ts'
import { checkEverywhere, openTenant, startLoad, stopLoads } from './testing/mixed-load.ts'

/** Each test has a tenant of its own. */
const shared = shareFleet(2)

test('a key made at one process opens the other at once; revoked, it does not', async () => {
  const { servers } = shared
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

test('a token acts at every process, until its maker is revoked at any of them', async () => {
  const { servers } = shared
  const { api_key } = await createTenant(at(servers, 0))
  const [owner, other] = clientsOf(servers, api_key)
  assert.ok(owner && other)
  const maker = await owner.ok('POST', '/v1/keys', { body: { scopes: ['memory:read'] } })
  const body = { store_id: 'default', namespace: 'one', scopes: ['memory:read'] }
  const made = await new Client(owner.url, maker.api_key).ok('POST', '/v1/keys/tokens', { body })
  const [first, second] = clientsOf(servers, made.token)
  assert.ok(first && second)
  const path = '/v1/stores/default/memories'
  const namespaced = { body: { content: 'elsewhere', namespace: 'two' } }
  await owner.ok('POST', '/v1/stores/default/write', namespaced)
  for (const client of [first, second]) assert.equal((await client.ok('GET', path)).count, 0)
  await other.ok('DELETE', `/v1/keys/${maker.key_id}`)
  for (const client of [first, second]) assert.equal((await client.ask('GET', path)).status, 401)
})

test('signing keys rotated beside running processes: each follows, all verifies', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const { fleet, servers } = shared
  const load = await startLoad(servers, { workers: 6, random })
  const clients = clientsOf(servers, load.tenant.api_key)
  const { keys: before } = await at(clients, 0).ok('GET', '/v1/gcrumbs/public_key')
  for (let turn = 1; turn <= 2; turn += 1) {
    await delay(500)
    await custos(fleet.options, ['key', 'rotate', 'all'])
    for (const client of clients)
      await untilPublished(client, before.length + SIGNING_PURPOSES.length * turn)
  }
  await delay(500)
  await stopLoads([load])
  await checkEverywhere(servers, load)
  await checkDecisions(at(clients, 1))
  await fsck(fleet.options)
})

test('every secret rewritten under load, twice: nothing is lost, nothing comes back', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const { fleet, servers } = shared
  const load = await startLoad(servers, { workers: 6, random })
  for (let turn = 0; turn < 2; turn += 1) {
    await delay(500)
    await custos(fleet.options, ['key', 'rewrite'])
  }
  await delay(500)
  await stopLoads([load])
  assert.ok(load.promises.erased.size > 0)
  await checkEverywhere(servers, load)
  await fsck(fleet.options)
})

/** Waits until the process publishes this many keys. */
async function untilPublished(client: Client, count: number): Promise<void> {
  for (let look = 0; look < 9_000; look += 1) {
    const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
    if (keys.length === count) return
    await delay(20)
  }
  assert.fail(`${count} keys are never published`)
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

test('the master key is rotated under load beside processes that have both', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = await openFleet(t)
  const env = { CUSTOS_NEXT_MASTER_KEY: NEW_KEY }
  const servers = await fleet.start(2, env)
  const load = await startLoad(servers, { workers: 6, random })
  await delay(500)
  await custos(fleet.options, ['key', 'rotate-master', '--new-key-file', newKeyFile(t)])
  // What is made from now on opens under the new key alone.
  const late = await openTenant(at(servers, 1))
  const options = { ...fleet.options, env: { ...fleet.options.env, CUSTOS_MASTER_KEY: NEW_KEY } }
  await custos(options, ['key', 'rotate', 'all'])
  await delay(500)
  await stopLoads([load])
  await checkEverywhere(servers, load)
  for (const server of servers) await server.stop()
  const fresh = await fleet.start(2, { CUSTOS_MASTER_KEY: NEW_KEY })
  await checkEverywhere(fresh, load)
  const found = new Client(at(fresh, 0).url, late.tenant.api_key)
  await found.ok('POST', `/v1/stores/${late.store_id}/write`, { body: { content: 'late' } })
  await checkDecisions(new Client(at(fresh, 1).url, load.tenant.api_key))
  await fsck(options)
})

test('beside a new master key a process says it is unfit, and makes nothing amiss', async (t) => {
  const fleet = await openFleet(t)
  const [old] = await fleet.start(1)
  assert.ok(old)
  const { tenant, store_id } = await openTenant(old)
  const left = new Client(old.url, tenant.api_key)
  const write = (content: string) =>
    left.ask('POST', `/v1/stores/${store_id}/write`, { body: { content } })
  assert.equal((await write('memory 0')).status, 200)
  await custos(fleet.options, ['key', 'rotate-master', '--new-key-file', newKeyFile(t)])

  const outsider = new Client(old.url, 'none')
  const { status, body } = await outsider.ask('GET', '/readyz')
  assert.deepEqual([status, body.checks?.keyring], [503, 'failing'])
  const late = await operatorOf(old).ask('POST', '/v1/cloud/tenants', { body: { name: 'late' } })
  assert.deepEqual([late.status, late.body.error, late.retry_after], [503, 'unavailable', '5'])
  // What it has keys for in memory it may still do; the tenant's keys are the same.
  const kept: string[] = ['memory 0']
  for (let i = 1; i <= 20; i += 1) {
    const answer = await write(`memory ${i}`)
    if (answer.status === 200) kept.push(`memory ${i}`)
    else assert.deepEqual([answer.status, answer.body.error], [503, 'unavailable'])
  }
  await old.stop()

  const stale = fleet.spawn()
  await stale.ended()
  assert.equal(stale.exitCode, 1)
  assert.match(stale.output, /^custos serve: [^\n]*master key[^\n]*\n$/)
  const [fresh] = await fleet.start(1, { CUSTOS_MASTER_KEY: NEW_KEY })
  assert.ok(fresh)
  const found = await new Client(fresh.url, tenant.api_key).all(
    `/v1/stores/${store_id}/audit`,
    'memories',
  )
  assert.deepEqual(
    found.map(({ content }) => content),
    kept,
  )
  const env = { ...fleet.options.env, CUSTOS_MASTER_KEY: NEW_KEY }
  await fsck({ ...fleet.options, env })
})

const NEW_KEY = '7c'.repeat(32)

function newKeyFile(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'custos-key-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'new-key')
  writeFileSync(file, `${NEW_KEY}\n`, { mode: 0o600 })
  return file
}
