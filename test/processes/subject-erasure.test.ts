// kill -9 of the process that erases a person: another one takes the job over and ends it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, createTenant } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import {
  askErasure,
  checkErased,
  newestRequest,
  untilDone,
  writePerson,
} from '../crash/testing/subject-erasures.ts'
import { openFleet } from './testing/fleet.ts'

/** Instead of half a minute: a test waits for it. */
const LEASE_MS = 1_500
const FACTS = 20
const POINTS = ['erasure:key_destroyed', 'subject:erased', 'subject:signed']

test("a person's erasure that a killed process was at is ended by another", async (t) => {
  const fleet = await openFleet(t)
  const survivor = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const tenant = await createTenant(survivor)
  const living = new Client(survivor.url, tenant.api_key)
  let killed = 0
  for (const [i, name] of POINTS.entries()) {
    const person = await writePerson(living, `Ravi${i}x`, FACTS)
    const doomed = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
    await doomed.arm([{ name, how: 'kill' }])
    const asked = await askErasure(new Client(doomed.url, tenant.api_key), person)
    const request_id = asked ?? (await newestRequest(living))
    await untilDone(living, request_id)
    // The other one may have been quicker to take the job up.
    if (doomed.signal === 'SIGKILL') killed += 1
    await checkErased(living, request_id, person)
    await doomed.killed()
  }
  assert.ok(killed > 0)
  t.diagnostic(`killed ${killed} times`)
  await fsck(fleet.options)
})
