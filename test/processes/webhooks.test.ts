// Webhooks of several processes: each entry reaches each endpoint, whichever process dies.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  startReceiver,
  writeTestCertificate,
} from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'
import { clientsOf, openFleet } from './testing/fleet.ts'
import { openTenant } from './testing/mixed-load.ts'
import { deliverFromProcesses, spawnDelivering } from './testing/webhook-load.ts'

test('endpoints of two processes get every entry, also when one of them is killed', (t) =>
  deliverFromProcesses(t, {
    processes: 2,
    tenants: 3,
    endpoints_each: 2,
    events_per_s: 40,
    seconds: 4,
    late_ms: 15_000,
    kills: 1,
  }))

/** After this time the others know of an endpoint. */
const NOTICED_MS = 4_000
/** Half of the time after which every process looks for all endpoints. */
const FOLLOWED_MS = 15_000

test('an endpoint is followed although the process that made it dies soon after', async (t) => {
  const fleet = await openFleet(t)
  const certificate = writeTestCertificate(join(tempDirectory(t), 'receiver.pem'))
  const maker = await spawnDelivering(fleet, certificate)
  const { tenant } = await openTenant(maker)
  const receiver = await startReceiver(t)
  // Just started: it looks for all endpoints in half a minute.
  const left = await spawnDelivering(fleet, certificate)
  const [one, other] = clientsOf([maker, left], tenant.api_key)
  const body = { url: receiver.url, events: ['store.created'] }
  await one?.ok('POST', '/v1/webhooks', { body })
  // Its job sleeps by then, so that only an entry of the log wakes it.
  await delay(NOTICED_MS)
  await maker.killed()
  await other?.ok('POST', '/v1/stores', { body: {} })
  const began = performance.now()
  while (receiver.received.length === 0 && performance.now() - began < FOLLOWED_MS) await delay(50)
  assert.equal(receiver.received.length, 1)
  t.diagnostic(`sent after ${Math.round(performance.now() - began)} ms`)
})
