// kill -9 at the steps of an erasure (short form: some of them): a start undoes or completes it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { casesOf, noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { fsck } from '../testing/command-line.ts'
import { isInterrupted, type Scenario, scenarios } from '../testing/erasures.ts'
import { Stage } from '../testing/stage.ts'

/** Before the plan is durable the content can still be read: from there back, nothing happened. */
const UNDONE = new Set(['erasure:marked', 'scrub:planned', 'erasure:planned'])

/** The steps one erasure passes, in order, each once. */
async function stepsOf(stage: Stage, scenario: Scenario): Promise<string[]> {
  const subject = await scenario.prepare(stage.client, 'dry')
  const before = stage.server.steps.length
  await subject.erase(stage.client)
  assert.equal(await subject.outcome(stage.client), 'complete')
  return [...new Set(stage.server.steps.slice(before))]
}

for (const scenario of scenarios) {
  test(`killed at any step, the erasure of ${scenario.name} is undone or completed`, async (t) => {
    const stage = new Stage(t)
    await stage.start()
    const steps = await stepsOf(stage, scenario)
    t.diagnostic(steps.join(' '))
    assert.ok(
      steps.length >= 8 && steps[0] === 'erasure:marked' && steps.at(-1) === 'erasure:completed',
    )
    for (const [i, step] of casesOf(steps, 2).entries()) {
      const subject = await scenario.prepare(stage.client, `s${i}`)
      await stage.server.arm([{ name: step, how: 'kill' }])
      assert.ok(await isInterrupted(() => subject.erase(stage.client)), step)
      await stage.died()
      noteCounts({ 'kills at a named step': 1 })
      const client = await stage.start()
      const undone = UNDONE.has(step) && scenario.name !== 'a store'
      assert.equal(await subject.outcome(client), undone ? 'undone' : 'complete', step)
      await subject.again(client)
    }
    const verdict = await stage.client.ok('GET', '/v1/gcrumbs/verify?full=true')
    assert.equal(verdict.status, 'intact')
    await stage.server.stop()
    await fsck(stage.options)
  })
}
