// A process that is killed while it writes a snapshot of an index leaves nothing that is used.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Stage } from './testing/stage.ts'

test('a process killed while it writes a snapshot starts without it, and answers', async (t) => {
  const stage = new Stage(t)
  const client = await stage.start()
  const { store_id } = await client.ok('POST', '/v1/stores', { body: {} })
  for (let i = 0; i < 5; i += 1)
    await client.ok('POST', `/v1/stores/${store_id}/write`, { body: { content: `walk ${i}` } })
  const retrieve = async () => {
    const body = { query: 'walk', budget_tokens: 1_000 }
    return (await stage.client.ok('POST', `/v1/stores/${store_id}/retrieve`, { body })).memories
  }
  const before = await retrieve()
  assert.equal(before.length, 5)
  const files = () => readdirSync(join(stage.options.data_dir, 'index'))
  await stage.server.arm([{ name: 'index:written', how: 'kill' }])
  await Promise.all([stage.server.terminated(), stage.died()])
  assert.equal(files().length, 1, 'a draft')

  await stage.start()
  assert.deepEqual(await retrieve(), before)
  for (let waits = 0; files().length > 0 && waits < 500; waits += 1) await delay(20)
  assert.deepEqual(files(), [])

  await stage.server.stop()
  assert.equal(files().length, 1)
  await stage.start()
  assert.deepEqual(await retrieve(), before)
})
