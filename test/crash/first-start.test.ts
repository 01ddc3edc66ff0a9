// kill -9 during the very first start, while keys and tables are being made: the next start begins.

import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'

const KILLS = 8
const STEP_MS = 90

test('killed at any moment of its first start, the service starts on what is there', async (t) => {
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const stage = new Stage(t)
    const server = stage.spawn()
    await delay(kill * STEP_MS)
    await server.killed()
    const client = await stage.start()
    await client.ok('POST', '/v1/stores/default/write', { body: { content: 'The first memory' } })
    await stage.server.killed()
    await fsck(stage.options)
  }
})
