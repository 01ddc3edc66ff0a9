// 'memory.reembed' at one process: the others go by the new embedder at once, and rank alike.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createTenant } from '../crash/testing/client.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'

const FACTS = 400
const WORDS = ['ferry', 'harbour', 'lantern', 'orchard', 'violin', 'winter', 'bridge', 'saffron']

async function fill(client: Client, store_id: string): Promise<void> {
  const items = Array.from({ length: FACTS }, (_, i) => ({
    content: `${WORDS[i % 8]} and ${WORDS[(i >> 3) % 8]}, note ${i}`,
    metadata: { session_id: `s${i % 9}` },
  }))
  await client.ok('POST', `/v1/stores/${store_id}/write_batch`, { body: { items } })
}

async function ranked(client: Client, store_id: string): Promise<unknown[]> {
  const body = { query: 'a light by the sea in the cold season', budget_tokens: 4_096 }
  const answer = await client.ok('POST', `/v1/stores/${store_id}/retrieve`, { body })
  assert.equal(answer.ranking, 'fused')
  return answer.memories.map(({ ref, score, score_parts }: Record<string, unknown>) => [
    ref,
    score,
    score_parts,
  ])
}

async function jobDone(client: Client, job_id: string): Promise<void> {
  for (let look = 0; look < 600; look += 1) {
    const { state } = await client.ok('GET', `/v1/jobs/${job_id}`)
    if (state === 'done') return
    assert.notEqual(state, 'failed')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('the job does not end')
}

test('a store embedded again at one process is ranked alike at all, bit for bit', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const [one, other] = [at(clients, 0), at(clients, 1)]
  const { store_id } = await one.ok('POST', '/v1/stores', { body: { embedder: 'static' } })
  await fill(one, store_id)
  // Both have an index of the space that is left, and know the store's settings.
  assert.deepEqual(await ranked(other, store_id), await ranked(one, store_id))
  await other.ok('POST', `/v1/stores/${store_id}/write`, { body: { content: 'before' } })

  const body = { embedder: 'static' }
  const { job_id } = await one.ok('POST', `/v1/stores/${store_id}/reembed`, { body })
  // Knows the store by its old embedder, and prepares again by the new one.
  await other.ok('POST', `/v1/stores/${store_id}/write`, { body: { content: 'a lamp at sea' } })
  await ranked(other, store_id)
  await jobDone(one, job_id)
  const { vectors } = await other.ok('GET', `/v1/stores/${store_id}/stats`)
  assert.deepEqual(vectors, { space: 'custos-static/1/256', embedded: FACTS + 2, missing: 0 })
  const expected = await ranked(one, store_id)
  assert.deepEqual(await ranked(other, store_id), expected)
  // One that starts now builds its index from the rows.
  const [third] = clientsOf(await fleet.start(1), api_key)
  assert.ok(third)
  assert.deepEqual(await ranked(third, store_id), expected)
})
