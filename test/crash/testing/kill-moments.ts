// Kills the service within milliseconds of asking for erasures, wherever its writes then are.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fsck } from './command-line.ts'
import { isInterrupted, type Outcome, scenarios } from './erasures.ts'
import { seeded, seedOfRun } from './random.ts'
import { Stage } from './stage.ts'

const DELAY_MS_MAX = 30

export async function killMoments(t: TestContext, rounds: number): Promise<void> {
  const stage = new Stage(t)
  const random = seeded(seedOfRun())
  const counts: Record<Outcome, number> = { undone: 0, complete: 0 }
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  await stage.start()
  for (let round = 0; round < rounds; round += 1) {
    const { client, server } = stage
    const subjects = []
    for (const [i, scenario] of scenarios.entries())
      subjects.push(await scenario.prepare(client, `m${round}x${i}`))
    const asked = subjects.map((subject) => isInterrupted(() => subject.erase(client)))
    await delay(random.int(DELAY_MS_MAX))
    await server.killed()
    const interrupted = await Promise.all(asked)
    await stage.start()
    for (const [i, subject] of subjects.entries()) {
      const outcome = await subject.outcome(stage.client)
      assert.ok(outcome === 'complete' || interrupted[i], 'answered, and yet undone')
      counts[outcome] += 1
      await subject.again(stage.client)
    }
  }
  const verdict = await stage.client.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact')
  await stage.server.stop()
  await fsck(stage.options)
  t.diagnostic(`${counts.undone} undone, ${counts.complete} complete`)
}
