// A report one of several processes makes: cancelled through another, taken over from a dead one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, createTenant } from '../crash/testing/client.ts'
import { openFleet } from './testing/fleet.ts'

/** Instead of half a minute: a test waits for it. */
const LEASE_MS = 1_500

async function ended(client: Client, job_id: string) {
  for (;;) {
    const job = await client.ok('GET', `/v1/jobs/${job_id}`)
    if (job.state !== 'queued' && job.state !== 'running') return job
    await delay(20)
  }
}

const order = (client: Client) =>
  client.ok('POST', '/v1/reports/generate', { body: { title: 'Soon', background: true } })

async function namedOnLog(client: Client, report_id: string): Promise<number> {
  const crumbs = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  return crumbs.filter(({ subject }) => subject === report_id).length
}

test("'jobs.cancel' at one process ends the report that another is about to write", async (t) => {
  const fleet = await openFleet(t)
  const busy = await fleet.spawnStepped({}).listening()
  const { api_key } = await createTenant(busy)
  const client = new Client(busy.url, api_key)
  await busy.arm([{ name: 'report:gathered', how: 'stop' }])
  const { job_id, report_id } = await order(client)
  await busy.reached('report:gathered')
  const [server] = await fleet.start(1)
  assert.ok(server)
  const other = new Client(server.url, api_key)
  assert.equal((await other.ok('DELETE', `/v1/jobs/${job_id}`)).state, 'cancelled')
  busy.goOn()
  await busy.arm([])
  // Behind it in the queue of the busy process, or made by the other: it comes after.
  const next = await order(client)
  assert.equal((await ended(client, next.job_id)).state, 'done')
  assert.equal((await other.ok('GET', `/v1/jobs/${job_id}`)).state, 'cancelled')
  assert.equal((await other.ask('GET', `/v1/reports/${report_id}`)).status, 404)
  assert.equal(await namedOnLog(other, report_id), 0)
})

test('a report that a killed process was at is made by another, once', async (t) => {
  const fleet = await openFleet(t)
  const doomed = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const { api_key } = await createTenant(doomed)
  await doomed.arm([{ name: 'report:gathered', how: 'kill' }])
  const { job_id, report_id } = await order(new Client(doomed.url, api_key))
  await doomed.ended()
  const survivor = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const client = new Client(survivor.url, api_key)
  const job = await ended(client, job_id)
  assert.deepEqual([job.state, job.result, job.attempts], ['done', { report_id }, 2])
  assert.equal((await client.ok('GET', `/v1/reports/${report_id}`)).title, 'Soon')
  assert.equal(await namedOnLog(client, report_id), 1)
})
