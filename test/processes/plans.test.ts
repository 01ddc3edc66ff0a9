// Limits of plans over several processes: exact, also where one of them is killed.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTenant } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'

const LIMIT = 300
const WRITES = 200

function plansFile(t: TestContext, starter: object): { CUSTOS_PLANS: string } {
  const file = join(tempDirectory(t), 'plans.json')
  writeFileSync(file, JSON.stringify({ starter }))
  return { CUSTOS_PLANS: file }
}

test('of 200 writes at 4 processes exactly the 100 that fit are taken, with a kill', async (t) => {
  const fleet = await openFleet(t, plansFile(t, { memories: LIMIT }))
  const servers = await fleet.start(4)
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const items = Array.from({ length: LIMIT - 100 }, (_, n) => ({ content: `before ${n}` }))
  await at(clients, 0).ok('POST', '/v1/stores/default/write_batch', { body: { items } })
  const write = (n: number) =>
    at(clients, n % 4).ask('POST', '/v1/stores/default/write', { body: { content: `one ${n}` } })

  const answers = await Promise.all(Array.from({ length: WRITES }, (_, n) => write(n)))
  const statuses = Map.groupBy(answers, ({ status }) => status)
  assert.equal(statuses.get(200)?.length, 100)
  assert.equal(statuses.get(402)?.length, WRITES - 100)
  const { limits } = await at(clients, 1).ok('GET', '/v1/usage/current')
  assert.deepEqual(limits[0], { quota: 'memories', limit: LIMIT, used: LIMIT })

  // What a killed process had acknowledged counts, and what it had not may or may not.
  const body = { requested_by: 'dpo', legal_basis: 'Art. 17' }
  for (const fact_ref of [1, 2, 3])
    await at(clients, 0).ok('POST', '/v1/erasure/issue', { body: { ...body, fact_ref } })
  const racing = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => write(n).catch(() => null))
  await at(servers, 3).killed()
  const taken = (await Promise.all(racing)).filter((answer) => answer?.status === 200)
  const left = clientsOf(servers.slice(0, 3), api_key)
  for (let n = 0; n < 6; n += 1)
    await at(left, n % 3).ask('POST', '/v1/stores/default/write', { body: { content: `end ${n}` } })
  const { limits: full } = await at(left, 0).ok('GET', '/v1/usage/current')
  assert.equal(full[0].used, LIMIT)
  assert.ok(taken.length <= 3)
  await fsck(fleet.options)
})

test('the rate of a plan holds over 4 processes, and a refusal says when to retry', async (t) => {
  const fleet = await openFleet(t, plansFile(t, { requests_per_minute: 40 }))
  const servers = await fleet.start(4)
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => at(clients, n % 4).ask('GET', '/v1/stores')),
  )
  const passed = answers.filter(({ status }) => status === 200).length
  // A process may hold back a hundredth of the maximum, at least one request.
  assert.ok(passed <= 40 && passed >= 36, `${passed} passed`)
  for (const { status, body, retry_after } of answers) {
    if (status !== 429) continue
    assert.equal(body.quota, 'requests')
    assert.match(retry_after ?? '', /^[1-9]\d?$/)
  }
})
