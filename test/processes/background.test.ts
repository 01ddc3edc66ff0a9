// Work behind requests is done once, by whichever process: deletions of stores, checkpoints.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { verifyEnvelope } from '@custos/proof'
import { type Client, createTenant } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import { at, clientsOf, shareFleet } from './testing/fleet.ts'

const FACTS = 300
const EPOCHS = 4

/** They sign checkpoints every second. */
const shared = shareFleet(2, { settings: { CUSTOS_EPOCH_SECONDS: '1' } })

async function writeMany(client: Client, store_id: string): Promise<number[]> {
  const items = Array.from({ length: FACTS }, (_, i) => ({ content: `Box ${i} is blue` }))
  const { refs } = await client.ok('POST', `/v1/stores/${store_id}/write_batch`, {
    body: { items },
  })
  return refs
}

/** Progress as each of the processes shows it, until the job has ended. */
async function followJob(clients: readonly Client[], job_id: string) {
  const seen: number[] = []
  for (let turn = 0; ; turn += 1) {
    const job = await at(clients, turn % clients.length).ok('GET', `/v1/jobs/${job_id}`)
    seen.push(job.progress.done)
    if (job.state === 'done' || job.state === 'failed') return { job, seen }
    await delay(20)
  }
}

test('a store deleted through one process is erased once, while another erases too', async () => {
  const { fleet, servers } = shared
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const [one, other] = [at(clients, 0), at(clients, 1)]
  const { store_id } = await one.ok('POST', '/v1/stores', { body: {} })
  const refs = await writeMany(one, store_id)
  const kept = await other.ok('POST', '/v1/stores', { body: {} })
  const { job_id } = await one.ok('DELETE', `/v1/stores/${store_id}`)
  // Asked again of the other process: the same job.
  assert.equal((await other.ok('DELETE', `/v1/stores/${store_id}`)).job_id, job_id)
  const following = followJob(clients, job_id)
  for (let i = 0; i < 5; i += 1) {
    const path = `/v1/stores/${kept.store_id}/write`
    const { ref } = await other.ok('POST', path, { body: { content: `crate ${i}` } })
    await other.ok('POST', '/v1/erasure/issue', { body: { fact_ref: ref } })
  }
  const { job, seen } = await following
  assert.equal(job.state, 'done', job.error)
  assert.equal(job.attempts, 1)
  assert.deepEqual(job.progress, { done: FACTS, total: FACTS })
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  )
  for (const client of clients) {
    const certificates = await client.all('/v1/erasure', 'certificates')
    const certified = certificates.map(({ fact_ref }) => fact_ref)
    assert.equal(new Set(certified).size, certified.length)
    for (const ref of refs) assert.ok(certified.includes(ref), `ref ${ref} has no certificate`)
    assert.equal((await client.ask('GET', `/v1/stores/${store_id}`)).status, 404)
  }
  const crumbs = await other.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  assert.equal(crumbs.filter(({ event_type }) => event_type === 'store.deleted').length, 1)
  await fsck(fleet.options)
})

test('checkpoints that two processes sign by the clock are one for each size', async () => {
  const { fleet, servers } = shared
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const one = at(clients, 0)
  const { store_id } = await one.ok('POST', '/v1/stores', { body: {} })
  const list = () => one.all('/v1/gcrumbs/epochs', 'epochs')
  for (let i = 0; (await list()).length < EPOCHS; i += 1) {
    const path = `/v1/stores/${store_id}/write`
    await at(clients, i % 2).ok('POST', path, { body: { content: `box ${i}` } })
    await delay(20)
  }
  const epochs = await list()
  const places = epochs.map(({ origin, tree_size }) => `${origin} ${tree_size}`)
  assert.equal(new Set(places).size, places.length)
  const { keys } = await one.ok('GET', '/v1/gcrumbs/public_key')
  for (const [i, to] of epochs.entries()) {
    assert.equal(to.epoch_number, i + 1)
    const from = epochs[i - 1]
    if (from === undefined) continue
    const { path } = to.consistency
    const verdict = await verifyEnvelope({ type: 'consistency', from, to, path }, { keys })
    assert.ok(verdict.valid, verdict.reason)
  }
  await fsck(fleet.options)
})
