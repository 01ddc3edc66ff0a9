// What a receiver gets: every entry it subscribed to, signed, and again until it says 2xx.

import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { scrape } from '../monitoring/testing/scrape.ts'
import {
  bodyOf,
  poll,
  type Receiver,
  sequenceOf,
  startReceiver,
  startScene,
  verifiedBy,
  type WebhookScene,
} from './testing/scene.ts'
import { findWebhook } from './webhooks.sql.ts'

const SECOND_US = 1_000_000
const HOUR_US = 3_600 * SECOND_US

const stateOf = (scene: WebhookScene, webhook_id: string) =>
  scene.ok('GET', `/v1/webhooks/${webhook_id}`)

const deliveriesOf = async (scene: WebhookScene, webhook_id: string) =>
  (await scene.ok('GET', `/v1/webhooks/${webhook_id}/deliveries?limit=100`)).deliveries

/** Of all that was sent the outcome is noted. */
async function isNoted(scene: WebhookScene, webhook_id: string, { received }: Receiver) {
  const deliveries: { attempts: number }[] = await deliveriesOf(scene, webhook_id)
  return deliveries.reduce((sum, { attempts }) => sum + attempts, 0) === received.length
}

/** … and everything was sent at least once. */
async function isAllNoted(scene: WebhookScene, webhook_id: string, receiver: Receiver) {
  const deliveries: { attempts: number }[] = await deliveriesOf(scene, webhook_id)
  const sent = deliveries.every(({ attempts }) => attempts > 0)
  return sent && (await isNoted(scene, webhook_id, receiver))
}

/** The rows as they were 200 ms ago. */
const late = async <R>(rows: Promise<R>): Promise<R> => {
  const found = await rows
  await delay(200)
  return found
}

const bound = (db: TenantDb): TenantDb => ({
  tenant_id: db.tenant_id,
  all: (query) => db.all(query),
  first: (query) => db.first(query),
  allOf: (statement, params) => db.allOf(statement, params),
  firstOf: (statement, params) => db.firstOf(statement, params),
})

test('a receiver gets each entry once, signed, as it is on the log', async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id, secret } = await scene.create(receiver)
  for (let i = 0; i < 3; i += 1) await scene.append()
  await receiver.until(4)
  const bodies = receiver.received.map(bodyOf).toSorted((a, b) => a.seq - b.seq)
  const created = 'store.created'
  assert.deepEqual(
    bodies.map(({ type }) => type),
    ['webhook.changed', created, created, created],
  )
  assert.deepEqual(
    bodies.map(({ previous_seq }) => previous_seq),
    [null, ...sequenceOf(receiver).slice(0, 3)],
  )
  const { breadcrumbs } = await scene.ok('GET', '/v1/gcrumbs/breadcrumbs')
  for (const delivery of receiver.received) {
    assert.equal(verifiedBy(secret, delivery), 1)
    const { id, entry, breadcrumb_id, seq, data, generation, timestamp } = bodyOf(delivery)
    assert.equal(delivery.headers['webhook-id'], id)
    assert.equal(createHash('sha256').update(`\0${entry}`).digest('hex'), breadcrumb_id)
    const logged = breadcrumbs[seq]
    assert.deepEqual({ breadcrumb_id, ...JSON.parse(entry) }, logged)
    assert.deepEqual([data, timestamp, generation], [logged.payload, logged.created_at, 0])
    assert.match(delivery.headers['user-agent'] ?? '', /^Custos-Webhooks\//)
    assert.equal(delivery.headers['x-grafomem-event'], undefined)
  }
  await poll(async () => (await stateOf(scene, webhook_id)).last_success_at !== null)
  await poll(async () =>
    (await deliveriesOf(scene, webhook_id)).every(
      ({ status }: { status: string }) => status === 'delivered',
    ),
  )
  assert.equal((await stateOf(scene, webhook_id)).lag, 0)
  const { sampleOf } = await scrape(scene.service)
  assert.equal(sampleOf('custos_webhook_deliveries_total', { result: 'delivered' }), 4)
})

test('an endpoint gets its events only, under the names it subscribed to', async (t) => {
  const scene = await startScene(t)
  const [some, early] = [await startReceiver(t), await startReceiver(t)]
  await scene.create(some, { events: ['erasure.issued', 'memory.written'] })
  const { store_id } = await scene.ok('POST', '/v1/stores', {})
  const path = `/v1/stores/${store_id}`
  const { ref } = await scene.ok('POST', `${path}/write`, { content: 'Ana lives in Porto' })
  await scene.ok('POST', '/v1/erasure/issue', { fact_ref: ref })
  await some.until(2)
  const bodies = some.received.map(bodyOf).toSorted((a, b) => a.seq - b.seq)
  assert.deepEqual(
    bodies.map(({ type, event }) => [type, event]),
    [
      ['memory.written', 'memory.written'],
      ['erasure.issued', 'erasure.issued'],
    ],
  )
  assert.equal(bodies[1].previous_seq, bodies[0].seq)
  assert.equal(JSON.parse(bodies[1].entry).event_type, 'erasure.certified')
  assert.ok(!some.received.some(({ body }) => body.includes('Porto')))
  // From the beginning of the log on, where that is asked for.
  await scene.create(early, { events: ['tenant.created', 'store.created'], from_seq: 0 })
  await early.until(2)
  assert.equal(sequenceOf(early)[0], 0)
})

test('what ends while an endpoint looks for what is due is not sent again', async (t) => {
  const step = (name: string) => (name === 'webhook.sent' ? delay(150) : undefined)
  const scene = await startScene(t, { step })
  const { db } = scene.service.kernel
  const read = db.read.bind(db)
  // As over a network: what was read comes after another connection has committed.
  db.read = (tenant_id, query) =>
    read(tenant_id, (on) => query({ ...bound(on), all: (rows) => late(on.all(rows)) }))
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  for (let i = 0; i < 3; i += 1) {
    await scene.append()
    await receiver.until(i + 1)
    await poll(async () => (await deliveriesOf(scene, webhook_id))[0].status === 'delivered')
  }
  // The endpoint looks once more before it pauses.
  await delay(500)
  assert.equal(sequenceOf(receiver).length, 3)
})

test('a receiver that fails three times gets it a fourth time, with the same id', async (t) => {
  const clock = movedClock()
  const scene = await startScene(t, { clock })
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  receiver.answer = () => (receiver.received.length <= 3 ? 500 : 200)
  await scene.append()
  for (const wait_us of [5, 300, 1_800].map((s) => s * SECOND_US)) {
    const before = receiver.received.length
    await poll(async () => {
      const [one] = await deliveriesOf(scene, webhook_id)
      return one?.status === 'retrying' && one.attempts === Math.max(1, before)
    })
    // A fifth earlier than planned nothing is sent yet; a fifth later it is.
    clock.forward(Math.round(wait_us * 1.25))
    await receiver.until(Math.max(before, 1) + 1)
  }
  await poll(async () => (await deliveriesOf(scene, webhook_id))[0].status === 'delivered')
  const [delivery] = await deliveriesOf(scene, webhook_id)
  assert.deepEqual([delivery.attempts, delivery.response_code, delivery.error], [4, 200, null])
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual([ids.length, new Set(ids).size], [4, 1])
  const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
  assert.ok(times.every((time, i) => i === 0 || time > (times[i - 1] ?? 0)))
})

test('deliveries that fail side by side are noted, each as often as it was sent', async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  receiver.answer = () => 500
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'], from_seq: 0 })
  await scene.ok('PUT', `/v1/webhooks/${webhook_id}`, { enabled: false })
  const { cursor_seq } = await stateOf(scene, webhook_id)
  for (let i = 0; i < 8; i += 1) await scene.append()
  await scene.ok('PUT', `/v1/webhooks/${webhook_id}`, { enabled: true })
  await scene.ok('POST', `/v1/webhooks/${webhook_id}/replay`, { from_seq: cursor_seq })
  await poll(async () => (await stateOf(scene, webhook_id)).state === 'failing')
  await poll(() => isAllNoted(scene, webhook_id, receiver), 10_000)
  assert.equal((await deliveriesOf(scene, webhook_id)).length, 8)
  const query = 'select error from jobs where kind = ?'
  const [job] = await rawSql(scene.service, query, ['webhook.deliver'])
  assert.equal(job?.['error'], null)
})

test('a receiver that was down for a day gets all it missed', async (t) => {
  const clock = movedClock()
  const scene = await startScene(t, { clock })
  const receiver = await startReceiver(t)
  receiver.answer = () => 503
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  for (let i = 0; i < 8; i += 1) await scene.append()
  await poll(async () => (await stateOf(scene, webhook_id)).state === 'failing')
  const first = receiver.received.length
  for (let hour = 0; hour < 24; hour += 1) {
    clock.forward(HOUR_US)
    await scene.append()
  }
  await poll(() => receiver.received.length > first)
  // An outcome that is noted after the clock moved would plan the next attempt after it.
  await poll(() => isNoted(scene, webhook_id, receiver))
  const before = receiver.received.length
  assert.ok(before < 30, `${before} attempts`)
  const { failing_since, lag } = await stateOf(scene, webhook_id)
  assert.ok(failing_since !== null && lag > 0)
  receiver.answer = () => 200
  receiver.received.length = 0
  clock.forward(24 * HOUR_US)
  await receiver.until(32)
  assert.equal(sequenceOf(receiver).length, 32)
  await poll(async () => (await stateOf(scene, webhook_id)).lag === 0)
  const { state, failing_since: since } = await stateOf(scene, webhook_id)
  assert.deepEqual([state, since], ['active', null])
})

test('410 and five days without a success disable an endpoint, and the log says so', async (t) => {
  const clock = movedClock()
  const scene = await startScene(t, { clock })
  const [gone, dead, watching] = [
    await startReceiver(t),
    await startReceiver(t),
    await startReceiver(t),
  ]
  gone.answer = () => 410
  dead.answer = () => 500
  const first = await scene.create(gone, { events: ['store.created'] })
  const second = await scene.create(dead, { events: ['store.created'] })
  await scene.create(watching, { events: ['webhook.disabled'] })
  for (let i = 0; i < 6; i += 1) await scene.append()
  await poll(async () => (await stateOf(scene, first.webhook_id)).state === 'disabled')
  await poll(async () => (await stateOf(scene, second.webhook_id)).state === 'failing')
  for (let day = 0; day < 6; day += 1) {
    // An outcome that is noted after the clock moved would plan the next attempt after it.
    await poll(() => isAllNoted(scene, second.webhook_id, dead))
    const before = dead.received.length
    clock.forward(25 * HOUR_US)
    await poll(
      async () =>
        dead.received.length > before ||
        (await stateOf(scene, second.webhook_id)).state === 'disabled',
    )
  }
  await watching.until(2)
  const reasons = watching.received.map((one) => {
    const { subject, payload } = JSON.parse(bodyOf(one).entry)
    return [subject, payload.reason]
  })
  assert.deepEqual(
    reasons.toSorted(),
    [
      [first.webhook_id, 'gone'],
      [second.webhook_id, 'failing'],
    ].toSorted(),
  )
  for (const { webhook_id } of [first, second]) {
    const { enabled, state } = await stateOf(scene, webhook_id)
    assert.deepEqual([enabled, state], [false, 'disabled'])
    const open = (await deliveriesOf(scene, webhook_id)).filter(
      ({ completed_at }: { completed_at: string | null }) => completed_at === null,
    )
    assert.deepEqual(open, [])
  }
})

test("'webhooks.replay' and 'webhooks.retry' send again what was missed", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  const path = `/v1/webhooks/${webhook_id}`
  await scene.append()
  await receiver.until(1)
  await scene.ok('PUT', path, { enabled: false })
  for (let i = 0; i < 5; i += 1) await scene.append()
  const refused = await scene.ask('POST', `${path}/replay`, { from_seq: 0 })
  assert.deepEqual([refused.status, refused.body.error], [409, 'wrong_state'])
  await scene.ok('PUT', path, { enabled: true })
  await scene.append()
  await receiver.until(2)
  const twice = { from_seq: 0, since: '2026-01-01T00:00:00Z' }
  assert.equal((await scene.ask('POST', `${path}/replay`, twice)).status, 422)
  // Enabled again it begins at the head; the replay fills the hole.
  const { job_id, from_seq } = await scene.ok('POST', `${path}/replay`, { from_seq: 0 })
  assert.equal(from_seq, 0)
  await receiver.until(2 + 7)
  await poll(async () => (await scene.ok('GET', `/v1/jobs/${job_id}`)).state === 'done')
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual([ids.length, new Set(ids).size], [9, 7])
  const replayed = receiver.received.slice(2).map(bodyOf)
  const seqs = replayed.map(({ seq }) => seq).toSorted((a, b) => a - b)
  for (const { seq, previous_seq } of replayed)
    assert.equal(previous_seq, seqs[seqs.indexOf(seq) - 1] ?? null)

  await poll(async () => (await deliveriesOf(scene, webhook_id))[0].status === 'delivered')
  const [last] = await deliveriesOf(scene, webhook_id)
  const again = await scene.ask('POST', `${path}/deliveries/${last.delivery_id}/retry`)
  assert.equal(again.status, 202)
  assert.notEqual(again.body.delivery.delivery_id, last.delivery_id)
  await receiver.until(10)
  const { id, seq } = bodyOf(receiver.received.at(-1) ?? { headers: {}, body: '{}' })
  assert.deepEqual([seq, ids.includes(id)], [last.seq, true])
})

test("'webhooks.retry' of an entry is refused while one of it is open", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  await scene.append()
  await receiver.until(1)
  await poll(async () => (await deliveriesOf(scene, webhook_id))[0].status === 'delivered')
  const [{ delivery_id }] = await deliveriesOf(scene, webhook_id)
  receiver.answer = () => undefined
  const retry = () =>
    scene.ask('POST', `/v1/webhooks/${webhook_id}/deliveries/${delivery_id}/retry`)
  assert.equal((await retry()).status, 202)
  const { status, body } = await retry()
  assert.deepEqual([status, body.error], [409, 'wrong_state'])
  assert.equal((await deliveriesOf(scene, webhook_id)).length, 2)
})

test("'webhooks.retry' of a delivery that is being sent or due to be is refused", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  receiver.answer = () => undefined
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  await scene.append()
  await receiver.until(1)
  const [{ delivery_id }] = await deliveriesOf(scene, webhook_id)
  const path = `/v1/webhooks/${webhook_id}/deliveries/${delivery_id}/retry`
  const { status, body } = await scene.ask('POST', path)
  assert.deepEqual([status, body.error], [409, 'wrong_state'])
  assert.equal(body.detail, 'it is being sent, or is due to be sent')
  assert.equal((await deliveriesOf(scene, webhook_id)).length, 1)
})

test('an endpoint whose secret is gone is disabled, and the log says so', async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id } = await scene.create(receiver, { events: ['store.created'] })
  const { kernel } = scene.service
  const row = await kernel.db.read(scene.tenant_id, (db) => findWebhook(db, webhook_id))
  assert.ok(row)
  await kernel.keyring.destroySecrets(scene.tenant_id, 'decision', [row.secret_no])
  await scene.append()
  const shown = () => scene.ok('GET', `/v1/webhooks/${webhook_id}`)
  await poll(async () => (await shown()).state === 'disabled')
  const { breadcrumbs } = await scene.ok('GET', '/v1/gcrumbs/breadcrumbs?limit=100')
  const logged = breadcrumbs.filter(
    ({ event_type }: { event_type: string }) => event_type === 'webhook.disabled',
  )
  assert.deepEqual(
    logged.map(({ payload }: { payload: object }) => payload),
    [{ reason: 'unreadable', failing_since: null }],
  )
})

test("'webhooks.rotate_secret' both secrets sign until the overlap ends", async (t) => {
  const clock = movedClock()
  const scene = await startScene(t, { clock })
  const receiver = await startReceiver(t)
  const { webhook_id, secret } = await scene.create(receiver, {
    events: ['store.created'],
    compatibility: true,
  })
  const path = `/v1/webhooks/${webhook_id}/rotate-secret`
  const { secret: second } = await scene.ok('POST', path, { overlap_hours: 1 })
  const verifying = async () => {
    const before = receiver.received.length
    await scene.append()
    await receiver.until(before + 1)
    const delivery = receiver.received.at(-1)
    assert.ok(delivery)
    return [secret, second, third].map((one) => verifiedBy(one, delivery))
  }
  let third = ''
  assert.deepEqual(await verifying(), [1, 1, 0])
  clock.forward(HOUR_US + SECOND_US)
  assert.deepEqual(await verifying(), [0, 1, 0])
  third = (await scene.ok('POST', path, { overlap_hours: 0 })).secret
  assert.deepEqual(await verifying(), [0, 0, 1])
  const headers = receiver.received.at(-1)?.headers ?? {}
  assert.equal(headers['x-grafomem-event'], 'store.created')
  assert.match(headers['x-grafomem-signature'] ?? '', /^t=\d+,v1=[0-9a-f]{64}$/)
  const stored = JSON.stringify(await deliveriesOf(scene, webhook_id))
  assert.ok(!stored.includes('words of the receiver'))
})

test("'webhooks.rotate_secret' keeps five secrets, the newest", async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { webhook_id, secret } = await scene.create(receiver, { events: ['store.created'] })
  const secrets = [secret]
  for (let i = 0; i < 5; i += 1)
    secrets.push((await scene.ok('POST', `/v1/webhooks/${webhook_id}/rotate-secret`)).secret)
  await scene.append()
  await receiver.until(1)
  const [delivery] = receiver.received
  assert.ok(delivery)
  assert.deepEqual(
    secrets.map((one) => verifiedBy(one, delivery)),
    [0, 1, 1, 1, 1, 1],
  )
})

test('v1a deliveries verify by the published key of the service', async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const created = await scene.create(receiver, { signature: 'v1a', events: ['store.created'] })
  assert.equal(created.secret, null)
  const { keys } = await scene.ok('GET', '/v1/gcrumbs/public_key?purpose=webhook')
  assert.equal(keys.length, 1)
  assert.equal(
    `whpk_${Buffer.from(keys[0].public_key, 'hex').toString('base64')}`,
    created.public_key,
  )
  await scene.append()
  await receiver.until(1)
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
  const spki = Buffer.from(`302a300506032b6570032100${keys[0].public_key}`, 'hex')
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
  const message = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  const [version, signature = ''] = (headers['webhook-signature'] ?? '').split(',')
  assert.equal(version, 'v1a')
  assert.ok(verify(null, message, key, Buffer.from(signature, 'base64')))
  const { webhook_id } = created
  const rotated = await scene.ask('POST', `/v1/webhooks/${webhook_id}/rotate-secret`)
  assert.deepEqual([rotated.status, rotated.body.error], [409, 'wrong_state'])
})

test('one endpoint that never answers keeps no other waiting', async (t) => {
  const scene = await startScene(t)
  const [silent, other] = [await startReceiver(t), await startReceiver(t)]
  silent.answer = () => undefined
  await scene.create(silent, { events: ['store.created'] })
  await scene.create(other, { events: ['store.created'] })
  for (let i = 0; i < 10; i += 1) await scene.append()
  await silent.until(8)
  const began = performance.now()
  await scene.append()
  await other.until(11)
  assert.ok(performance.now() - began < 2_000)
  assert.equal(sequenceOf(other).length, 11)
})
