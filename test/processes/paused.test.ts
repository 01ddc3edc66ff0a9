// A process that stands still in the middle of an erasure, or whose clock is wrong: the others
// take over, and what it does when it goes on harms nobody.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'
import { type Client, createTenant } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import type { ServerProcess } from '../crash/testing/server-process.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'

/** Instead of half a minute: a test waits for it. */
const LEASE_MS = 1_500
const MINUTE_MS = 60_000
const MARKER = '[REDACTED — GDPR Article 17]'
const ROUNDS = 3
const FACTS = 4

/** Memories, and a decision that used and repeats all of them. */
async function decideUpon(client: Client, contents: readonly string[]) {
  const { store_id } = await client.ok('POST', '/v1/stores', { body: {} })
  const refs: number[] = []
  for (const content of contents)
    refs.push((await client.ok('POST', `/v1/stores/${store_id}/write`, { body: { content } })).ref)
  const { decision_id } = await client.ok('POST', '/v1/decisions/log', {
    body: {
      store_id,
      model_id: 'm',
      query: contents.join('; '),
      output: 'o',
      retrieved_refs: refs,
      retrieved_contents: contents,
    },
  })
  return { refs, path: `/v1/decisions/${decision_id}` }
}

const erase = (client: Client, fact_ref: number) =>
  client.ask('POST', '/v1/erasure/issue', { body: { fact_ref } })

/** Until it is certified: a 503 says that it may be asked for again. */
async function eraseSurely(client: Client, fact_ref: number): Promise<void> {
  for (;;) {
    const { status, text } = await erase(client, fact_ref)
    if (status === 200) return
    assert.equal(status, 503, text)
  }
}

async function clientsFor(servers: readonly ServerProcess[]): Promise<Client[]> {
  const { api_key } = await createTenant(at(servers, 0))
  return clientsOf(servers, api_key)
}

const SKEWS = [
  ['a minute', MINUTE_MS],
  ['an hour', 60 * MINUTE_MS],
] as const

for (const [skew, behind_ms] of casesOf(SKEWS, 1))
  test(`clocks ${skew} apart: memories that one decision used are erased by both`, async (t) => {
    const fleet = await openFleet(t)
    // The one that is behind first: it makes the signing keys, which are good from then on.
    const behind = await fleet.spawnStepped({ ahead_ms: -behind_ms }).listening()
    const servers = [behind, await fleet.spawnStepped({}).listening()]
    const clients = await clientsFor(servers)
    for (let round = 0; round < ROUNDS; round += 1) {
      const contents = Array.from({ length: FACTS }, (_, i) => `Crate ${round} number ${i} is red`)
      const { refs, path } = await decideUpon(at(clients, round % 2), contents)
      await Promise.all(refs.map((ref, i) => eraseSurely(at(clients, i % 2), ref)))
      for (const client of clients) {
        const decision = await client.ok('GET', path)
        assert.equal(decision.query, contents.map(() => MARKER).join('; '))
      }
    }
    await fsck(fleet.options)
  })

const POINTS = [
  'erasure:marked',
  'erasure:planned',
  'erasure:ledger_recorded',
  'erasure:verified',
] as const

test('a process that stood still in an erasure harms nothing when it goes on', async (t) => {
  const fleet = await openFleet(t)
  const servers = await Promise.all(
    [0, 1].map(() => fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()),
  )
  for (const point of casesOf(POINTS, 2)) await standStill(servers, point)
  await at(servers, 1).stop()
  await fsck(fleet.options)
})

/** The first of the two stands still at the point, and the other takes over. */
async function standStill(servers: readonly ServerProcess[], point: string): Promise<void> {
  const paused = at(servers, 0)
  const clients = await clientsFor(servers)
  const contents = ['Nora Egli is on leave', 'Nora Egli has two sons', 'Nora Egli is 44']
  const { refs, path } = await decideUpon(at(clients, 0), contents)
  await paused.arm([{ name: point, how: 'stop' }])
  // Of the point before: messages arrive in order.
  paused.steps.splice(0)
  const late = erase(at(clients, 0), at(refs, 0))
  await paused.reached(point)
  for (const ref of [at(refs, 1), at(refs, 0)]) await eraseSurely(at(clients, 1), ref)
  paused.goOn()
  await paused.arm([])
  const { status, text } = await late
  assert.ok(status === 200 || status === 503, `${point}: ${text}`)
  await eraseSurely(at(clients, 0), at(refs, 2))
  for (const client of clients) {
    const decision = await client.ok('GET', path)
    assert.equal(decision.query, contents.map(() => MARKER).join('; '), point)
    const certificates = await client.all('/v1/erasure', 'certificates')
    assert.equal(certificates.length, contents.length, point)
  }
}
