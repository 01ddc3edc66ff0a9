// Idempotency-Key through the API: one effect a key, whatever is sent at the same time.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { deleteRecord, findRecord, insertRecord } from '../platform/db/idempotency.sql.ts'
import { IDEMPOTENCY_US, sweepIdempotency } from '../platform/kernel/idempotency.ts'
import { calendarMonth, loadUsage } from '../slices/tenants/index.ts'
import {
  makeStores,
  makeTenant,
  type Sent,
  send,
  startTestServer,
  type TestServer,
} from './testing/edge-server.ts'

let service: TestServer

before(async () => {
  service = await startTestServer()
})

after(() => service.stop())

const add = (key: string, idempotency: string, sent: Sent = {}) =>
  send(`${service.url}/probe/add`, 'POST', {
    key,
    body: { by: 2 },
    headers: { 'idempotency-key': idempotency },
    ...sent,
  })

async function added(tenant_id: string): Promise<number> {
  const { period } = calendarMonth(service.kernel.clock.now(), 0)
  const usage = await service.kernel.db.read(tenant_id, (db) => loadUsage(db, period))
  return usage.operations['probe.add'] ?? 0
}

test('a retry with the same key and body replays the first answer, changing nothing', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const first = await add(api_key, 'a')
  const again = await add(api_key, 'a')
  assert.equal(first.status, 201)
  assert.equal(first.headers.get('idempotency-replayed'), null)
  assert.deepEqual([again.status, again.body], [201, first.body])
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal(await added(tenant_id), 1)
})

test('the same key with another body is refused, another key or tenant is not', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const other = await makeTenant(service.url)
  await add(api_key, 'a')
  const reused = await add(api_key, 'a', { body: { by: 3 } })
  assert.equal(reused.status, 409)
  assert.equal(reused.body.error, 'idempotency_key_reused')
  const otherTarget = await send(`${service.url}/probe/add/`, 'POST', {
    key: api_key,
    body: { by: 2 },
    headers: { 'idempotency-key': 'a' },
  })
  assert.equal(otherTarget.headers.get('idempotency-replayed'), 'true')
  assert.equal((await add(api_key, 'b')).headers.get('idempotency-replayed'), null)
  assert.equal((await add(other.api_key, 'a')).headers.get('idempotency-replayed'), null)
  assert.equal(await added(tenant_id), 2)
})

test('a key limited otherwise meets no Idempotency-Key, one limited alike does', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  await makeStores(service.url, api_key, ['a', 'b'])
  const keyOf = async (limits: object): Promise<string> => {
    const body = { class: 'service', scopes: ['memory:write'], ...limits }
    return (await send(`${service.url}/v1/keys`, 'POST', { key: api_key, body })).body.api_key
  }
  const limits = [
    { class: 'tenant' },
    {},
    { allowed_stores: ['a', 'b'] },
    { allowed_stores: ['b'] },
    { namespace: 'x' },
    { namespace: tenant_id },
    { max_trust_tier: 'basic' },
  ]
  const keys = await Promise.all(limits.map(keyOf))
  const runs = new Set<number>()
  for (const key of keys) {
    const answer = await add(key, 'shared')
    assert.equal(answer.headers.get('idempotency-replayed'), null)
    runs.add(answer.body.run)
  }
  assert.equal(runs.size, limits.length)
  for (const [i, same] of limits.entries()) {
    const successor = await keyOf({ ...same, ...(i === 2 && { allowed_stores: ['b', 'a'] }) })
    const [own, retry] = [await add(keys[i] ?? '', 'shared'), await add(successor, 'shared')]
    assert.equal(retry.headers.get('idempotency-replayed'), 'true')
    assert.deepEqual(retry.body, own.body)
  }
})

test('simultaneous requests with one key have one effect and one answer', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const answers = await Promise.all(Array.from({ length: 20 }, () => add(api_key, 'race')))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal(await added(tenant_id), 1)
})

test('a refused request leaves its key free', async () => {
  const { api_key } = await makeTenant(service.url)
  assert.equal((await add(api_key, 'a', { body: { by: 13 } })).status, 422)
  assert.equal((await add(api_key, 'a', { body: { by: 14 } })).status, 201)
})

test('keys are 1 to 255 visible ASCII characters', async () => {
  const { api_key } = await makeTenant(service.url)
  for (const [key, status] of [
    ['k', 201],
    ['k'.repeat(254), 201],
    ['k'.repeat(255), 201],
    ['k'.repeat(256), 422],
    ['has space', 422],
    ['', 422],
    ['é', 422],
  ] as const) {
    const got = await add(api_key, key)
    assert.equal(got.status, status, key)
    if (status === 422) assert.deepEqual(got.body.detail[0].loc, ['header', 'idempotency-key'])
  }
})

test('records older than 48 hours are swept with the key of their day, and run anew', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const first = await add(api_key, 'old')
  const { kernel } = service
  assert.equal(await sweepIdempotency(kernel, kernel.clock.now()), 0)
  assert.ok((await sweepIdempotency(kernel, kernel.clock.now() + IDEMPOTENCY_US + 1e6)) >= 1)
  const again = await add(api_key, 'old')
  assert.equal(again.headers.get('idempotency-replayed'), null)
  assert.notDeepEqual(again.body, first.body)
  assert.equal(await added(tenant_id), 2)
})

test('a record whose day key is gone counts as absent', async () => {
  const { tenant_id, api_key } = await makeTenant(service.url)
  const { kernel } = service
  const first = await add(api_key, 'gone')
  const label = (await kernel.keyring.tenant(tenant_id)).label('idempotency-key\ngone')
  const key_label = Buffer.from(label, 'hex')
  await kernel.db.transact(tenant_id, async (tx) => {
    const row = await findRecord(tx, key_label)
    assert.ok(row)
    await deleteRecord(tx, key_label)
    await insertRecord(tx, { ...row, body_day: row.body_day - 3 })
  })
  await kernel.keyring.dropDayKeys(Math.floor(kernel.clock.now() / 86.4e9))
  const again = await add(api_key, 'gone')
  assert.equal(again.headers.get('idempotency-replayed'), null)
  assert.notDeepEqual(again.body, first.body)
})
