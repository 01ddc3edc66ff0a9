// Runs the simulation: compares the service with the model after each step, fully at intervals.

import type { TestContext } from 'node:test'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { seeded, seedOfRun } from '../../crash/testing/random.ts'
import { act } from './actions.ts'
import { compareAll, compareCurrent } from './compare.ts'
import { World } from './world.ts'

const WHOLE_EVERY = 50

export async function simulate(t: TestContext, steps: number): Promise<void> {
  const random = seeded(seedOfRun())
  const world = await World.open(random)
  const done: string[] = []
  try {
    for (let step = 1; step <= steps; step += 1) {
      done.push(await act(world))
      await compareCurrent(world)
      if (step % WHOLE_EVERY === 0 || step === steps) await compareAll(world)
    }
    noteCounts({ 'operations compared': done.length })
  } finally {
    t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}, ${done.length} steps`)
    t.diagnostic(`last: ${done.slice(-10).join(' ')}`)
    await world.close()
  }
}
