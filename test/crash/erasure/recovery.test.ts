// kill -9 while an erasure is being finished or undone: a later start finishes or undoes it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { casesOf } from '../../../packages/server/src/testing/sweep.ts'
import { fsck } from '../testing/command-line.ts'
import { isInterrupted, scenarios } from '../testing/erasures.ts'
import { Stage } from '../testing/stage.ts'

const RECOVERED = [
  'erasure:applied',
  'erasure:caches_dropped',
  'erasure:verified',
  'erasure:certified',
  'erasure:completed',
]

test('killed again while recovering, an erasure is completed by a later start', async (t) => {
  const stage = new Stage(t)
  await stage.start()
  for (const [i, scenario] of casesOf(scenarios, 2).entries()) {
    const subject = await scenario.prepare(stage.client, `r${i}`)
    await stage.server.arm([{ name: 'erasure:ledger_recorded', how: 'kill' }])
    assert.ok(await isInterrupted(() => subject.erase(stage.client)))
    await stage.died()
    for (const fatal of RECOVERED) {
      stage.spawn(fatal)
      await stage.died()
    }
    const client = await stage.start()
    assert.equal(await subject.outcome(client), 'complete')
    await subject.again(client)
  }
  await stage.server.stop()
  await fsck(stage.options)
})

test('killed while a failed erasure is being undone, the memory is as it was', async (t) => {
  const stage = new Stage(t)
  const [scenario] = scenarios
  assert.ok(scenario)
  await stage.start()
  const subject = await scenario.prepare(stage.client, 'undo')
  await stage.server.arm([
    { name: 'erasure:planned', how: 'fail' },
    { name: 'erasure:undo', how: 'kill' },
  ])
  assert.ok(await isInterrupted(() => subject.erase(stage.client)))
  await stage.died()
  const client = await stage.start()
  assert.equal(await subject.outcome(client), 'undone')
  await subject.again(client)
})
