// custos tenant clusters and tenant move: what they take, refuse and print.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  fillLittle,
  ORIGIN,
  openTwoClusters,
  type TwoClusters,
} from '../../../../server/src/app/move-tenant/testing/two-clusters.ts'
import type { TestService } from '../../../../server/src/testing/harness.ts'
import { runCustos, tempDirectory } from '../../testing/run.ts'

const TENANT = '9f0c'
const dir = tempDirectory()

function save(name: string, value: unknown): string {
  const path = join(dir, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

const tableOf = (one: string, other: string) => ({
  clusters: [
    { name: 'eu-1', url: one },
    { name: 'eu-2', url: other },
  ],
  tenants: { [TENANT]: 'eu-2' },
  default: 'eu-1',
})
const path = save('clusters.json', tableOf('https://eu-1.example', 'https://eu-2.example'))
const clustersCommand = (...args: string[]) => runCustos(['tenant', 'clusters', ...args])

test('clusters shows the table, by flag or setting, and the address of a tenant', async () => {
  const whole = await clustersCommand('--clusters', path)
  assert.equal(whole.status, 0, whole.stderr)
  assert.match(whole.stdout, /^eu-1 +https:\/\/eu-1\.example +0 +every other tenant$/m)
  assert.match(whole.stdout, /^eu-2 +https:\/\/eu-2\.example +1 *$/m)
  assert.match(whole.stdout, /^9f0c +eu-2$/m)
  const env = { CUSTOS_CLUSTERS: path }
  assert.deepEqual(await runCustos(['tenant', 'clusters'], { env }), whole)
  const own = await clustersCommand(TENANT, '--clusters', path)
  assert.equal(own.stdout, 'https://eu-2.example\n')
  const other = await clustersCommand('another', '--clusters', path)
  assert.equal(other.stdout, 'https://eu-1.example\n')
})

test('clusters refuses what is no table, and a tenant that it does not name', async () => {
  const none = await clustersCommand()
  assert.equal(none.status, 2)
  assert.match(none.stderr, /--clusters FILE or CUSTOS_CLUSTERS/)
  assert.equal((await clustersCommand('one', 'two', '--clusters', path)).status, 2)
  const { default: _, ...table } = tableOf('https://eu-1.example', 'https://eu-2.example')
  for (const [name, value, why] of [
    ['absent.json', null, /must name a file that can be read/],
    ['text.json', 'clusters', /must be a file with JSON/],
    ['more.json', { ...table, more: 1 }, /unknown member/],
    ['no-default.json', table, /names no cluster for tenant another/],
  ] as const) {
    const file = value === null ? join(dir, name) : save(name, value)
    const { status, stdout, stderr } = await clustersCommand('another', '--clusters', file)
    assert.deepEqual([status, stdout], [1, ''], name)
    assert.match(stderr, why)
    assert.equal(stderr.trim().split('\n').length, 1, stderr)
  }
})

let clusters: TwoClusters
let a: TestService
let b: TestService

before(async () => {
  clusters = await openTwoClusters()
  a = await clusters.a.start()
  b = await clusters.b.start()
})

after(async () => {
  await a?.stop()
  await b?.stop()
  await clusters?.stop()
})

const settings = () => ({
  CUSTOS_ORIGIN: ORIGIN,
  CUSTOS_DATABASE_URL: clusters.a.url,
  CUSTOS_MASTER_KEY: '5a'.repeat(32),
  CUSTOS_TO_DATABASE_URL: clusters.b.url,
  CUSTOS_TO_MASTER_KEY: '7b'.repeat(32),
})

test('move prints a proof that custos verify accepts, and updates the table', async () => {
  const agent = await fillLittle(a, 'moved')
  const { tenant_id } = agent
  const table = save('moving.json', { ...tableOf(a.url, b.url), tenants: {} })
  const args = ['tenant', 'move', tenant_id, '--to', 'eu-2', '--clusters', table]
  const moved = await runCustos(args, { env: settings() })
  assert.equal(moved.status, 0, moved.stderr)
  assert.match(moved.stderr, new RegExp(`tenant ${tenant_id} is served at ${b.url}; writes paused`))
  const proof = JSON.parse(moved.stdout)
  assert.equal(proof.tenant_id, tenant_id)
  assert.equal(proof.address, b.url)
  assert.deepEqual(JSON.parse(readFileSync(table, 'utf8')).tenants, { [tenant_id]: 'eu-2' })

  const file = save('proof.json', moved.stdout)
  // Of the source, and of the destination, which publishes the keys of the source too.
  for (const [name, { url }] of [
    ['keys-a.json', a],
    ['keys-b.json', b],
  ] as const) {
    const fetchKeys = async () =>
      save(name, await (await fetch(`${url}/v1/gcrumbs/public_key`)).text())
    let keys = await fetchKeys()
    let good = await runCustos(['verify', file, '--keys', keys])
    // A running service hears of keys that a command has added within seconds.
    for (let waits = 0; waits < 100 && good.status !== 0; waits += 1) {
      await delay(100)
      keys = await fetchKeys()
      good = await runCustos(['verify', file, '--keys', keys])
    }
    assert.equal(good.status, 0, good.stdout)
    assert.match(good.stdout, /: tenant_move\n/)
    assert.match(good.stdout, /not checked: that the destination goes on from there/)
    const forged = save('forged.json', { ...proof, paused_ms: proof.paused_ms + 1 })
    assert.equal((await runCustos(['verify', forged, '--keys', keys])).status, 1)
  }

  // Run again it ends nothing more and prints the same proof; it cannot be taken back.
  const again = await runCustos(args, { env: settings() })
  assert.deepEqual([again.status, again.stdout], [0, moved.stdout])
  const back = await runCustos([...args, '--abort'], { env: settings() })
  assert.equal(back.status, 1)
  assert.match(back.stderr, /the tenant has left for/)

  // To a cluster that it has left, with the table as it is: nothing changes.
  const swapped = {
    ...settings(),
    CUSTOS_DATABASE_URL: clusters.b.url,
    CUSTOS_MASTER_KEY: '7b'.repeat(32),
    CUSTOS_TO_DATABASE_URL: clusters.a.url,
    CUSTOS_TO_MASTER_KEY: '5a'.repeat(32),
  }
  const home = ['tenant', 'move', tenant_id, '--to', 'eu-1', '--clusters', table]
  const returned = await runCustos(home, { env: swapped })
  assert.deepEqual([returned.status, returned.stdout], [1, ''])
  assert.match(returned.stderr, /was served there before and its keys were destroyed/)
  assert.deepEqual(JSON.parse(readFileSync(table, 'utf8')).tenants, { [tenant_id]: 'eu-2' })
  const answer = await b.request('GET', '/v1/stores', { key: agent.api_key })
  assert.equal(answer.status, 200)
})

test('move refuses arguments and settings that it cannot use, and changes nothing', async () => {
  const { tenant_id } = await fillLittle(a, 'kept')
  const table = save('kept.json', { ...tableOf(a.url, b.url), tenants: {} })
  const before = readFileSync(table, 'utf8')
  const { CUSTOS_TO_DATABASE_URL: _, ...noDestination } = settings()
  const { CUSTOS_DATABASE_URL: __, ...embedded } = settings()
  const to = ['--to', 'eu-2', '--clusters', table]
  const refusals: readonly (readonly [string[], Record<string, string>, number, RegExp])[] = [
    [to, settings(), 2, /ID/],
    [[tenant_id, '--clusters', table], settings(), 2, /--to NAME/],
    [[tenant_id, '--to', 'eu-2'], settings(), 2, /--clusters FILE or CUSTOS_CLUSTERS/],
    [[tenant_id, ...to], noDestination, 2, /set CUSTOS_TO_DATABASE_URL/],
    [[tenant_id, '--to', 'eu-9', '--clusters', table], settings(), 1, /has no cluster eu-9/],
    [[tenant_id, '--to', 'eu-1', '--clusters', table], settings(), 1, /is served at .* already/],
    [['nobody', ...to], settings(), 1, /not served by the cluster of CUSTOS_DATABASE_URL/],
    [[tenant_id, '--abort', ...to], settings(), 1, /no move of the tenant was begun/],
    // A data directory is neither the one side nor the other.
    [[tenant_id, ...to], embedded, 1, /custos migrate-engine moves a data directory/],
    [
      [tenant_id, ...to],
      { ...settings(), CUSTOS_TO_DATABASE_URL: 'file:///data' },
      1,
      /begins with postgres:/,
    ],
  ]
  for (const [args, env, status, why] of refusals) {
    const result = await runCustos(['tenant', 'move', ...args], { env })
    assert.match(result.stderr, why)
    assert.deepEqual([result.status, result.stdout], [status, ''], args.join(' '))
    assert.equal(readFileSync(table, 'utf8'), before)
  }
  assert.equal(await a.kernel.keyring.hasTenant(tenant_id), true)
})
