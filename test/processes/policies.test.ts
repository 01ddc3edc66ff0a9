// Policies at several processes: a change made at one holds at the others, limits hold together.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTenant } from '../crash/testing/client.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'

const WRITE = '/v1/stores/default/write'
const POLICIES = '/v1/governance/policies'

test('a policy made, changed or deleted at one process holds at the other at once', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const { api_key } = await createTenant(at(servers, 0))
  const owners = clientsOf(servers, api_key)
  for (let round = 0; round < 6; round += 1) {
    const [here, there] = [at(owners, round % 2), at(owners, (round + 1) % 2)]
    const write = async (content: string) =>
      (await there.ask('POST', WRITE, { body: { content } })).status
    assert.equal(await write('forbidden'), 200)
    const config = { patterns: ['forbidden'], check_fields: ['content'] }
    const body = { name: 'words', policy_type: 'content_filter', config }
    const { policy_id } = await here.ok('POST', POLICIES, { body })
    assert.deepEqual(await Promise.all([write('forbidden'), write('fine')]), [403, 200])
    const other = { config: { ...config, patterns: ['fine'] } }
    await here.ok('PUT', `${POLICIES}/${policy_id}`, { body: other })
    assert.deepEqual(await Promise.all([write('forbidden'), write('fine')]), [200, 403])
    await here.ok('DELETE', `${POLICIES}/${policy_id}`)
    assert.equal(await write('fine'), 200)
  }
})

test('a rate limit lets no more through at two processes than at one', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const { api_key } = await createTenant(at(servers, 0))
  const owners = clientsOf(servers, api_key)
  const config = { max_requests: 15, window_seconds: 3_600 }
  const body = { name: 'rate', policy_type: 'rate_limit', config }
  await at(owners, 0).ok('POST', POLICIES, { body })
  const evaluate = async (i: number): Promise<boolean> =>
    (
      await at(owners, i % 2).ok('POST', '/v1/governance/evaluate', {
        body: { operation: 'inference', context: {} },
      })
    ).allowed
  const together = await Promise.all(Array.from({ length: 20 }, (_, i) => evaluate(i)))
  assert.equal(together.filter(Boolean).length, 15)
  assert.equal(await evaluate(0), false)
  // The other process may take a second to write what it allowed.
  for (let waits = 0; waits < 100; waits += 1) {
    const { count } = await at(owners, 0).ok('GET', '/v1/governance/logs?result=allowed')
    if (count === 15) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { evaluations_total, denials_total } = await at(owners, 0).ok('GET', '/v1/governance/stats')
  assert.deepEqual([evaluations_total, denials_total], [21, 6])
})
