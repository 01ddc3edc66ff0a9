// Kills the service within milliseconds of asking for erasures, wherever its writes then are.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { fsck } from './command-line.ts'
import { isInterrupted, type Outcome, type Subject, scenarios } from './erasures.ts'
import { type Random, seeded, seedOfRun } from './random.ts'
import { Stage } from './stage.ts'

const DELAY_MS_MAX = 30
/** Each check reads the whole directory, so a new one is used after this number of rounds. */
const ROUNDS_PER_STAGE = 10

interface Moments {
  readonly stage: Stage
  readonly random: Random
  readonly counts: Record<Outcome, number>
}

export async function killMoments(t: TestContext, rounds: number): Promise<void> {
  const random = seeded(seedOfRun())
  const counts: Record<Outcome, number> = { undone: 0, complete: 0 }
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  for (let done = 0; done < rounds; done += ROUNDS_PER_STAGE) {
    const stage = new Stage(t)
    await stage.start()
    for (let round = 0; round < Math.min(ROUNDS_PER_STAGE, rounds - done); round += 1)
      await killOnce({ stage, random, counts }, round)
    const verdict = await stage.client.ok('GET', '/v1/gcrumbs/verify?full=true')
    assert.equal(verdict.status, 'intact')
    await stage.server.stop()
    await fsck(stage.options)
  }
  t.diagnostic(`${counts.undone} undone, ${counts.complete} complete`)
  noteCounts({
    kills: rounds,
    'erasures undone': counts.undone,
    'erasures complete': counts.complete,
  })
}

async function killOnce({ stage, random, counts }: Moments, round: number): Promise<void> {
  const { client, server } = stage
  const subjects: Subject[] = []
  // Twice each: two memories are erased as one group.
  for (const [i, scenario] of [...scenarios, ...scenarios].entries())
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
