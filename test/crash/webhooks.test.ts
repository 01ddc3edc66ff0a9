// kill -9 around a delivery, and a backup put back: no entry is lost, and what comes twice has the
// same id.

import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  bodyOf,
  poll,
  type Receiver,
  startReceiver,
  writeTestCertificate,
} from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import type { Client } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'
import { tempDirectory } from './testing/temp-directory.ts'

/** Its receivers are on loopback, with a certificate that it trusts. */
function stageWith(t: TestContext): Stage {
  const certificate = writeTestCertificate(join(tempDirectory(t), 'receiver.pem'))
  return new Stage(t, {
    env: { CUSTOS_EGRESS_ALLOW: '127.0.0.1', NODE_EXTRA_CA_CERTS: certificate },
  })
}

const append = (client: Client) => client.ok('POST', '/v1/stores', { body: {} })

const idsOf = ({ received }: Receiver): string[] =>
  received.map(({ headers }) => headers['webhook-id'] ?? '')

/** Until every delivery has ended well. */
const untilDelivered = (client: Client, webhook_id: string) =>
  poll(async () => {
    const path = `/v1/webhooks/${webhook_id}`
    const { lag } = await client.ok('GET', path)
    const { deliveries } = await client.ok('GET', `${path}/deliveries?limit=100`)
    const ended = deliveries.every(({ status }: { status: string }) => status === 'delivered')
    return lag === 0 && ended && deliveries.length > 0
  }, 30_000)

test('killed between answer and outcome, a delivery comes again under its id', async (t) => {
  const stage = stageWith(t)
  const receiver = await startReceiver(t)
  const client = await stage.start()
  const body = { url: receiver.url, events: ['store.created'] }
  const { webhook_id } = await client.ok('POST', '/v1/webhooks', { body })
  for (let round = 1; round <= 3; round += 1) {
    await stage.server.arm([{ name: 'webhook.sent', how: 'kill' }])
    await append(stage.client).catch(() => {})
    await stage.died()
    await untilDelivered(await stage.start(), webhook_id)
    const ids = idsOf(receiver)
    // One entry a round, each sent at most once more than there were kills.
    assert.equal(new Set(ids).size, round)
    assert.ok(ids.length >= round && ids.length <= 2 * round, `${ids.length} in round ${round}`)
  }
  await stage.server.stop()
  await fsck(stage.options)
})

test('after a backup was put back the receiver learns of it and misses nothing', async (t) => {
  const stage = stageWith(t)
  const receiver = await startReceiver(t)
  let client = await stage.start()
  const body = { url: receiver.url, events: ['*'] }
  const { webhook_id } = await client.ok('POST', '/v1/webhooks', { body })
  await append(client)
  await untilDelivered(client, webhook_id)
  await stage.server.stop()
  const [data, backup] = [join(stage.options.data_dir, 'custos.db'), join(stage.dir, 'backup.db')]
  cpSync(data, backup)
  client = await stage.start()
  for (let i = 0; i < 3; i += 1) await append(client)
  await untilDelivered(client, webhook_id)
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  await stage.server.stop()
  for (const suffix of ['-wal', '-shm']) rmSync(`${data}${suffix}`, { force: true })
  cpSync(backup, data)

  const before = receiver.received.length
  client = await stage.start()
  await append(client)
  await untilDelivered(client, webhook_id)
  const later = receiver.received.slice(before).map(bodyOf)
  const restored = later.find(({ type }) => type === 'log.restored')
  assert.equal(restored?.data.generation, 1)
  const { breadcrumbs } = await client.ok('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const created = breadcrumbs.findIndex(
    ({ event_type }: { event_type: string }) => event_type === 'webhook.changed',
  )
  const seen = new Map(receiver.received.map((one) => [bodyOf(one).breadcrumb_id, bodyOf(one)]))
  for (const { seq, breadcrumb_id } of breadcrumbs.slice(created)) {
    const delivered = seen.get(breadcrumb_id)
    assert.ok(delivered, `entry ${seq} was not sent`)
    assert.equal(delivered.id, `evt_${breadcrumb_id.slice(0, 32)}`)
    assert.equal(delivered.generation, seq >= restored.seq ? 1 : 0)
  }
  // The entries that were lost have ids of their own, beside those that took their places.
  assert.equal(new Set(idsOf(receiver)).size, seen.size)
})
