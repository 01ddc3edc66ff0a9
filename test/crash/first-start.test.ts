// kill -9 during the very first start, while keys and tables are being made: the next start begins.

import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'

const MOMENTS_MS = [90, 180, 270, 360, 450, 540, 630, 720]

test('killed at any moment of its first start, the service starts on what is there', async (t) => {
  for (const moment_ms of casesOf(MOMENTS_MS, 3)) {
    const stage = new Stage(t)
    const server = stage.spawn()
    await delay(moment_ms)
    await server.killed()
    const client = await stage.start()
    await client.ok('POST', '/v1/stores/default/write', { body: { content: 'The first memory' } })
    await stage.server.killed()
    await fsck(stage.options)
  }
})
