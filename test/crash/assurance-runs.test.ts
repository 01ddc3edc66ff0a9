// kill -9 in a run of checks: the next start shows it as failed, and leaves nothing of it behind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { isInterrupted } from './testing/erasures.ts'
import { Stage } from './testing/stage.ts'

const runs = async (client: Client) => (await client.ok('GET', '/v1/assurance/runs')).runs

test('a run killed at any step is interrupted, and the next one finds nothing amiss', async (t) => {
  const stage = new Stage(t)
  let client = await stage.start()
  for (const step of ['assurance:begun', 'assurance:looked']) {
    await stage.server.arm([{ name: step, how: 'kill' }])
    const asked = () => client.ok('POST', '/v1/assurance/run', { body: {} })
    assert.ok(await isInterrupted(asked), step)
    await stage.died()
    client = await stage.start()
    const [{ status, error, completed_at }] = await runs(client)
    assert.deepEqual([status, error], ['fail', 'interrupted'], step)
    assert.notEqual(completed_at, null)
    assert.equal((await client.ok('POST', '/v1/assurance/run', { body: {} })).status, 'pass', step)
  }
  await stage.server.stop()
  await fsck(stage.options)
})

test('a schedule outlives a service that was killed', async (t) => {
  const stage = new Stage(t)
  const body = { interval_min: 5, checks: ['clock'] }
  const before = await stage.start()
  const { schedule_id } = await before.ok('POST', '/v1/assurance/schedules', { body })
  stage.server.kill()
  await stage.server.ended()
  const client = await stage.start()
  const { schedules } = await client.ok('GET', '/v1/assurance/schedules')
  assert.deepEqual(
    schedules.map((one: Record<string, unknown>) => [one['schedule_id'], one['interval_min']]),
    [[schedule_id, 5]],
  )
})

test('an audit killed among its own stores leaves no store and no credential', async (t) => {
  const stage = new Stage(t)
  let client = await stage.start()
  await stage.server.arm([{ name: 'erasure:key_destroyed', how: 'kill' }])
  const body = { checks: ['conformance'], background: true }
  await client.ok('POST', '/v1/assurance/run', { body })
  await stage.died()

  client = await stage.start()
  const [{ error }] = await runs(client)
  assert.equal(error, 'interrupted')
  for (let waits = 0; waits < 300; waits += 1) {
    if ((await client.ok('GET', '/v1/stores')).stores.length === 1) break
    await delay(50)
  }
  const { stores } = await client.ok('GET', '/v1/stores')
  assert.deepEqual(
    stores.map(({ store_id }: { store_id: string }) => store_id),
    ['default'],
  )
  assert.equal((await client.ok('GET', '/v1/keys')).keys.length, 1)
  await stage.server.stop()
  await fsck(stage.options)
})
