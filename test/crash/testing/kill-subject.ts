// Kills the service at random moments while it erases a person, until the erasure is done.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Interrupted } from './client.ts'
import { fsck } from './command-line.ts'
import { seeded, seedOfRun } from './random.ts'
import { Stage } from './stage.ts'
import {
  askErasure,
  checkErased,
  newestRequest,
  untilDone,
  writePerson,
} from './subject-erasures.ts'

interface Killing {
  readonly facts: number
  readonly kills: number
  /** The longest that it is left to itself. */
  readonly delay_ms: number
}

export async function killSubject(t: TestContext, { facts, kills, delay_ms }: Killing) {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const stage = new Stage(t)
  const client = await stage.start()
  const person = await writePerson(client, 'Ravi', facts)
  const request_id = (await askErasure(client, person)) ?? assert.fail('cut off by nobody')
  let killed = 0
  let open = true
  for (; open && killed < kills; killed += 1) {
    await delay(random.int(delay_ms))
    await stage.server.killed()
    const again = await stage.start()
    const { completed_at } = await again.ok('GET', `/v1/erasure/subject/${request_id}`)
    open = completed_at === null
  }
  t.diagnostic(`killed ${killed} times${open ? '' : ', done before the last'}`)
  await untilDone(stage.client, request_id)
  await checkErased(stage.client, request_id, person)
  const verdict = await stage.client.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact')
  await stage.server.stop()
  await fsck(stage.options)
}

/** Killed at one named step, once, then left to itself. */
export async function killAtStep(stage: Stage, step: string, name: string): Promise<void> {
  const person = await writePerson(stage.client, name, 3)
  await stage.server.arm([{ name: step, how: 'kill' }])
  const asked = await askErasure(stage.client, person)
  await stage.died()
  const client = await stage.start()
  const request_id = asked ?? (await newestRequest(client))
  await untilDone(client, request_id)
  await checkErased(client, request_id, person)
}

/** The steps that an erasure passes, each once, in order. */
export async function stepsOf(stage: Stage): Promise<string[]> {
  const person = await writePerson(stage.client, 'Dry', 3)
  const before = stage.server.steps.length
  const request_id = await askErasure(stage.client, person)
  if (request_id === null) throw new Interrupted('nobody killed it')
  await untilDone(stage.client, request_id)
  await checkErased(stage.client, request_id, person)
  return [...new Set(stage.server.steps.slice(before))]
}
