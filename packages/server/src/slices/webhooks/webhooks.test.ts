// Endpoints: who may make them, what is shown of them, and what goes with them.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { webhookTextSource } from './endpoint.ts'
import { bodyOf, poll, sceneOf, startReceiver, startScene, verifiedBy } from './testing/scene.ts'
import { deleteOldDeliveries } from './webhooks.sql.ts'

const URL = 'https://hooks.invalid/custos'
const EVENTS = ['webhook.disabled']

test("'webhooks.create' shows the secret once, 'webhooks.list' never", async (t) => {
  const { service, key, ok } = await startScene(t)
  const body = { url: URL, events: EVENTS, description: 'for the archive' }
  const headers = { 'idempotency-key': 'one' }
  const ask = () => service.request('POST', '/v1/webhooks', { key, body, headers })
  const [first, again] = [await ask(), await ask()]
  assert.deepEqual([first.status, again.status], [201, 201])
  assert.match(first.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  // What it has looked at by then is another matter.
  const moving = { cursor_seq: 0, lag: 0 }
  assert.deepEqual({ ...again.body, ...moving }, { ...first.body, ...moving, secret: null })
  const { webhooks, count } = await ok('GET', '/v1/webhooks')
  assert.deepEqual([count, webhooks[0].webhook_id], [1, first.body.webhook_id])
  assert.ok(!JSON.stringify(webhooks).includes('whsec_'))
  const { breadcrumbs } = await ok('GET', '/v1/gcrumbs/breadcrumbs')
  const changes = breadcrumbs.filter(
    ({ event_type }: { event_type: string }) => event_type === 'webhook.changed',
  )
  assert.equal(changes.length, 1)
})

test('a key subscribes to what it may read, and a key of some stores to nothing', async (t) => {
  const { service, ok } = await startScene(t)
  const as = async (rights: object, events: readonly string[]) => {
    const { api_key } = await ok('POST', '/v1/keys', { name: 'k', ...rights })
    const body = { url: URL, events }
    const { status, body: answer } = await service.request('POST', '/v1/webhooks', {
      key: api_key,
      body,
    })
    return status === 201 ? status : answer.error
  }
  const admin = { scopes: ['webhooks:admin'] }
  assert.equal(await as(admin, ['webhook.changed']), 201)
  assert.equal(await as(admin, ['memory.erased']), 'scope_missing')
  assert.equal(await as(admin, ['*']), 'scope_missing')
  const reader = { scopes: ['webhooks:admin', 'memory:read'] }
  assert.equal(await as(reader, ['memory.erased', 'store.created']), 201)
  assert.equal(await as(reader, ['memory.erased', 'governance.denied']), 'scope_missing')
  assert.equal(await as({ scopes: ['webhooks:admin', 'gcrumbs:read'] }, ['*']), 201)
  const { store_id } = await ok('POST', '/v1/stores', {})
  const limited = { scopes: ['*'], allowed_stores: [store_id] }
  assert.equal(await as(limited, ['memory.erased']), 'scope_missing')
})

test("'webhooks.create' refuses inner URLs, unknown events and none", async (t) => {
  const { ask } = await startScene(t, { config: { egress: { allow: [], proxy: null } } })
  const create = (more: object) =>
    ask('POST', '/v1/webhooks', { url: URL, events: EVENTS, ...more })
  for (const url of ['http://hooks.invalid/', 'https://127.0.0.1:8443/', 'https://a.localhost./']) {
    const { status, body } = await create({ url })
    assert.deepEqual([status, body.error], [422, 'url_refused'], url)
  }
  const unknown = await create({ events: ['memory.erased', 'memory.ereased'] })
  assert.deepEqual([unknown.status, unknown.body.error], [422, 'rejected'])
  assert.match(unknown.text, /events\[1\].*memory\.erased/)
  assert.ok(!unknown.text.includes('ereased'))
  for (const events of [[], Array(101).fill('memory.erased'), ['no spaces']])
    assert.equal((await create({ events })).body.error, 'validation')
  const both = await create({ signature: 'v1a', compatibility: true })
  assert.deepEqual([both.status, both.body.error], [422, 'rejected'])
  const beyond = await create({ from_seq: 1_000_000 })
  assert.deepEqual([beyond.status, beyond.body.error], [422, 'rejected'])
})

test('in local mode an endpoint may be http on loopback, and nowhere else', async (t) => {
  const { request } = (await startScene(t, { config: { auth: 'local' } })).service
  const create = async (url: string) =>
    (await request('POST', '/v1/webhooks', { body: { url, events: EVENTS } })).status
  assert.equal(await create('http://127.0.0.1:9999/hook'), 201)
  assert.equal(await create('http://10.0.0.1:9999/hook'), 422)
})

test("'webhooks.update' changes what it names; null and absent stay as they are", async (t) => {
  const { ok, ask } = await startScene(t)
  const body = { url: URL, events: EVENTS, description: 'first' }
  const { webhook_id } = await ok('POST', '/v1/webhooks', body)
  const path = `/v1/webhooks/${webhook_id}`
  const shown = async () => {
    const { url, events, description, enabled, disabled_reason } = await ok('GET', path)
    return { url, events, description, enabled, disabled_reason }
  }
  const before = { ...body, enabled: true, disabled_reason: null }
  await ok('PUT', path, {})
  await ok('PUT', path, { url: null, events: null, description: null, enabled: null })
  assert.deepEqual(await shown(), before, 'webhooks.get')
  await ok('PUT', path, { description: 'second', events: ['memory.erased', 'memory.erased'] })
  const after = { ...before, description: 'second', events: ['memory.erased'] }
  assert.deepEqual(await shown(), after)
  await ok('PUT', path, { url: `${URL}/2`, enabled: false })
  const off = { ...after, url: `${URL}/2`, enabled: false, disabled_reason: 'requested' }
  assert.deepEqual(await shown(), off)
  assert.equal((await ask('PUT', path, { url: 'https://10.0.0.1/' })).body.error, 'url_refused')
  assert.deepEqual(await shown(), off)
})

test("'webhooks.delete' takes deliveries and the secret along", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  await scene.append()
  await receiver.until(1)
  const path = `/v1/webhooks/${webhook_id}`
  const { keyring } = scene.service.kernel
  const held = async () => [...(await keyring.secrets(scene.tenant_id, 'decision', [1, 2, 3]))]
  const before = (await held()).filter(([, secret]) => secret !== null).length
  assert.deepEqual(await scene.ok('DELETE', path), { deleted: true, webhook_id })
  assert.equal((await held()).filter(([, secret]) => secret !== null).length, before - 1)
  for (const [method, more] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/deliveries'],
  ] as const)
    assert.equal((await scene.ask(method, path + more)).body.error, 'webhook_not_found')
  await scene.append()
  await scene.service.kernel.jobs.idle()
  assert.equal(receiver.received.length, 1)
})

test('a webhook that is deleted takes none off the pages after it', async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const made: string[] = []
  for (let i = 0; i < 3; i += 1) made.push((await scene.create(receiver)).webhook_id)
  const met: string[] = []
  let cursor = ''
  for (const _ of made) {
    const { webhooks, next_cursor } = await scene.ok('GET', `/v1/webhooks?limit=1${cursor}`)
    for (const { webhook_id } of webhooks) {
      met.push(webhook_id)
      await scene.ok('DELETE', `/v1/webhooks/${webhook_id}`)
    }
    cursor = `&cursor=${next_cursor}`
  }
  assert.deepEqual(met, made)
})

test("'webhooks.deliveries' finds by state and event, in pages", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  receiver.answer = (one) => (bodyOf(one).type === 'webhook.changed' ? 500 : 204)
  const { webhook_id } = await scene.create(receiver)
  for (let i = 0; i < 3; i += 1) await scene.append()
  const path = `/v1/webhooks/${webhook_id}/deliveries`
  const count = async (query: string) => (await scene.ok('GET', `${path}?${query}`)).count
  await poll(async () => (await count('status=delivered')) === 3)
  await poll(async () => (await count('status=retrying')) === 1)
  assert.equal(await count('event=store.created'), 3)
  assert.equal(await count('event=memory.erased'), 0)
  const first = await scene.ok('GET', `${path}?limit=3`)
  const rest = await scene.ok('GET', `${path}?limit=3&cursor=${first.next_cursor}`)
  const seqs = [...first.deliveries, ...rest.deliveries].map(({ seq }: { seq: number }) => seq)
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => b - a),
  )
  assert.equal(new Set(seqs).size, 4)
})

test('of every endpoint deliveries that ended long ago are deleted, open ones never', async (t) => {
  const scene = await startScene(t)
  const [receiver, failing] = [await startReceiver(t), await startReceiver(t)]
  failing.answer = () => 500
  const made: string[] = []
  for (const one of [receiver, failing, receiver])
    made.push((await scene.create(one, { events: ['store.created'] })).webhook_id)
  for (let i = 0; i < 3; i += 1) await scene.append()
  const count = async (webhook_id: string | undefined, status: string) =>
    (await scene.ok('GET', `/v1/webhooks/${webhook_id}/deliveries?status=${status}`)).count
  for (const webhook_id of [made[0], made[2]])
    await poll(async () => (await count(webhook_id, 'delivered')) === 3)
  await poll(async () => (await count(made[1], 'retrying')) === 3)
  const { db, clock } = scene.service.kernel
  const deleteBefore = (us: number) =>
    db.transact(scene.tenant_id, (tx) => deleteOldDeliveries(tx, us, 4))
  assert.equal(await deleteBefore(1), 0)
  // As many at once as were asked for, and then the rest.
  for (const deleted of [4, 2, 0]) assert.equal(await deleteBefore(clock.now()), deleted)
  assert.equal(await count(made[1], 'retrying'), 3)
})

test("'webhooks.test' tells what the receiver answered, one test at a time", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id, secret } = await scene.create(receiver, { events: EVENTS })
  const path = `/v1/webhooks/${webhook_id}/test`
  const { test: sent, delivery } = await scene.ok('POST', path)
  assert.deepEqual(
    [sent, delivery.status, delivery.response_code, delivery.event_type, delivery.seq],
    [true, 'delivered', 204, 'test', null],
  )
  const [received] = receiver.received
  assert.ok(received)
  assert.equal(verifiedBy(secret, received), 1)
  assert.equal(bodyOf(received).data.webhook_id, webhook_id)
  receiver.answer = () => 302
  const redirected = await scene.ok('POST', path)
  assert.deepEqual([redirected.delivery.status, redirected.delivery.error], ['failed', 'redirect'])
  let slow = false
  receiver.answer = () => (slow ? undefined : 500)
  assert.equal((await scene.ok('POST', path)).delivery.error, 'status_500')
  slow = true
  const waiting = scene.ask('POST', path)
  await receiver.until(4)
  const second = await scene.ask('POST', path)
  assert.deepEqual([second.status, second.body.error], [409, 'wrong_state'])
  assert.equal((await waiting).body.delivery.status, 'pending')
  // A test says nothing about the endpoint.
  const { state, failing_since } = await scene.ok('GET', `/v1/webhooks/${webhook_id}`)
  assert.deepEqual([state, failing_since], ['active', null])
})

test("'webhooks.event_types' lists every name, to any key of the tenant", async (t) => {
  const { service, ok } = await startScene(t)
  const { api_key } = await ok('POST', '/v1/keys', { name: 'k', scopes: ['memory:read'] })
  const { body } = await service.request('GET', '/v1/webhooks/events/types', { key: api_key })
  const names: string[] = body.event_types
  assert.deepEqual(names, names.toSorted())
  for (const name of ['memory.erased', 'governance.denied', 'erasure.issued', 'log.restored'])
    assert.ok(names.includes(name), name)
  // Nothing of this service ends a workflow: the name is not offered.
  assert.ok(!names.includes('workflow.completed'))
})

test("a person's erasure takes URL and description, and disables the endpoint", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, {
    events: ['store.created'],
    description: 'on behalf of Jana Nováková',
  })
  const find = { text: 'Jana Nováková' }
  const shown = await scene.ask('POST', '/v1/erasure/subject/access?format=json', { find })
  assert.match(shown.text, /on behalf of Jana/)
  const { digest } = await scene.ok('POST', '/v1/erasure/subject', { find, preview: true })
  await scene.ok('POST', '/v1/erasure/subject', { find, expect_digest: digest })
  await scene.service.kernel.jobs.idle()
  const { url, description, state, disabled_reason } = await scene.ok(
    'GET',
    `/v1/webhooks/${webhook_id}`,
  )
  assert.deepEqual([state, disabled_reason], ['disabled', 'redacted'])
  assert.ok(!`${url}${description}`.includes('Jana') && !url.includes('127.0.0.1'))
  const rotated = await scene.ask('POST', `/v1/webhooks/${webhook_id}/rotate-secret`, {})
  assert.deepEqual([rotated.status, rotated.body.error], [409, 'wrong_state'])
  assert.equal((await scene.ok('GET', `/v1/webhooks/${webhook_id}`)).url, url)
  await scene.append()
  await scene.service.kernel.jobs.idle()
  assert.equal(receiver.received.length, 0)
})

test('an endpoint that is redacted while it is being changed stays disabled', async (t) => {
  const { service, tenant_id, ok, ask } = await startScene(t)
  const made = { url: 'https://127.0.0.1/hooks', events: EVENTS, description: 'Jana' }
  const { webhook_id } = await ok('POST', '/v1/webhooks', made)
  const { kernel } = service
  const path = `/v1/webhooks/${webhook_id}`
  await ok('PUT', path, { enabled: false })
  const columns = await webhookTextSource.prepare(kernel, tenant_id, webhook_id)
  assert.ok(columns)
  const transact = kernel.db.transact.bind(kernel.db)
  const redactFirst: typeof transact = async (tenant, unit) => {
    if (tenant !== tenant_id) return transact(tenant, unit)
    changing.mock.restore()
    await transact(tenant, (tx) => webhookTextSource.apply(tx, webhook_id, columns, kernel))
    return transact(tenant, unit)
  }
  const changing = mock.method(kernel.db, 'transact', redactFirst)
  const refused = await ask('PUT', path, { enabled: true })
  assert.deepEqual([refused.status, refused.body.error], [409, 'wrong_state'])
  assert.equal((await ok('GET', path)).state, 'disabled')
})

test('off-boarding ends the deliveries of a tenant, and of no other', async (t) => {
  const scene = await startScene(t)
  const other = await sceneOf(scene.service)
  const [gone, kept] = [await startReceiver(t), await startReceiver(t)]
  await scene.create(gone, { events: ['store.created'] })
  await other.create(kept, { events: ['store.created'] })
  await scene.append()
  await gone.until(1)
  const { tenant_id, service } = scene
  const destroyed = await service.request('POST', `/v1/admin/tenants/${tenant_id}/destroy-key`, {
    key: service.operator_key,
    body: { confirm: `destroy ${tenant_id}` },
  })
  assert.equal(destroyed.status, 200, destroyed.text)
  await service.kernel.jobs.idle()
  await other.append()
  await kept.until(1)
  assert.equal(gone.received.length, 1)
})
