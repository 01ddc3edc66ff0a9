// kill -9 of one of several processes: the others go on, and finish what it was at.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { casesOf, roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { Client } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import { isInterrupted, scenarios } from '../crash/testing/erasures.ts'
import { killRounds } from '../crash/testing/kill-rounds.ts'
import { runLoad } from '../crash/testing/load.ts'
import { Promises } from '../crash/testing/promises.ts'
import { seeded, seedOfRun } from '../crash/testing/random.ts'
import { SpreadClient } from '../crash/testing/spread-client.ts'
import { at, openFleet } from './testing/fleet.ts'
import { checkEverywhere, onPostgres, openTenant, waitForRecovery } from './testing/mixed-load.ts'

const WORKERS = 4
/** Instead of half a minute: a test waits for it. */
const LEASE_MS = 1_500
/** Times that the only process is killed. */
const ROUNDS = roundsOf(2, 5)
/** Answers the survivor gives before it is believed to go on. */
const GOES_ON = roundsOf(40, 100)

test('a process killed under load loses nothing acknowledged, and the other goes on', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = await openFleet(t)
  const doomed = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const survivor = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const { tenant, store_id } = await openTenant(doomed)
  const promises = new Promises()
  const [dying, living] = [doomed, survivor].map(
    ({ url }) => new SpreadClient({ urls: [url], key: tenant.api_key, random }),
  )
  assert.ok(dying && living)
  const parts = { store_id, promises, random }
  const loads = [
    runLoad({ ...parts, client: dying, round: 1 }, WORKERS),
    runLoad({ ...parts, client: living, round: 2 }, WORKERS),
  ]
  const all = Promise.all(loads)
  while (dying.answered < GOES_ON) await Promise.race([delay(10), all])
  await doomed.killed()
  const before = living.answered
  while (living.answered < before + GOES_ON) await Promise.race([delay(10), all])
  living.stop()
  await all
  const { facts, erased } = promises
  t.diagnostic(`${facts.size} memories, ${erased.size} erased, ${promises.retries.length} in doubt`)
  await waitForRecovery(new Client(survivor.url, tenant.api_key), promises)
  const [late] = await fleet.start(1)
  assert.ok(late)
  await checkEverywhere([survivor, late], { tenant, promises })
  await fsck(fleet.options)
})

test('killed and started again, the only process keeps all it acknowledged', async (t) =>
  killRounds(t, ROUNDS, await onPostgres(t, LEASE_MS)))

const MOMENTS = [
  { point: 'erasure:planned', expected: 'undone' },
  { point: 'erasure:key_destroyed', expected: 'complete' },
  { point: 'erasure:verified', expected: 'complete' },
] as const

test('an erasure a killed process was at is finished or undone by another, unasked', async (t) => {
  const fleet = await openFleet(t)
  const survivor = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  for (const [i, { point, expected }] of casesOf(MOMENTS, 2).entries()) {
    const doomed = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
    const { tenant } = await openTenant(doomed)
    const client = new Client(doomed.url, tenant.api_key)
    const subject = await at(scenarios, 0).prepare(client, `k${i}`)
    await doomed.arm([{ name: point, how: 'kill' }])
    assert.ok(await isInterrupted(() => subject.erase(client)))
    await doomed.ended()
    const other = new Client(survivor.url, tenant.api_key)
    assert.equal(await settled(() => subject.outcome(other)), expected)
    await subject.again(other)
  }
  await fsck(fleet.options)
})

// Before it is finished or undone it is neither, which the scenario calls a failure.
async function settled(look: () => Promise<string>): Promise<string> {
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error
      await delay(50)
    }
  }
}
