// The queue and the registries page by page, while records are decided and others arrive.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawSql } from '../../testing/raw-sql.ts'
import { type ApprovingTenant, openApprovalScene } from './testing/approval-scene.ts'

const scene = openApprovalScene()

/** What a walk over the queue by cursor finds; `meet` gets each request before the next page. */
async function walk(
  tenant: ApprovingTenant,
  limit: number,
  meet: (request: { readonly record_id: string }) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const met: string[] = []
  let cursor = ''
  for (;;) {
    const page = await tenant.ok('GET', `/hitl/requests?limit=${limit}${cursor}`)
    for (const request of page.requests) {
      met.push(request.request_id)
      await meet(request)
    }
    if (page.next_cursor === null) return met
    cursor = `&cursor=${page.next_cursor}`
  }
}

async function registerSome(tenant: ApprovingTenant, count: number): Promise<string[]> {
  const made: string[] = []
  for (let i = 0; i < count; i += 1) made.push((await tenant.register(`models/${i}`)).request_id)
  return made.toReversed()
}

test('who decides each request of a page finds all others on the pages after it', async () => {
  const { tenant } = scene
  const made = await registerSome(tenant, 5)
  const met = await walk(tenant, 2, ({ record_id }) =>
    tenant.ok('POST', `/artifacts/${record_id}/reject`, { approver: 'ben' }),
  )
  assert.deepEqual(met, made)
  assert.equal((await tenant.ok('GET', '/hitl/requests')).count, 0)
})

test('a request that arrives during a walk doubles none', async () => {
  const { tenant } = scene
  const made = await registerSome(tenant, 3)
  assert.deepEqual(await walk(tenant, 1, () => tenant.register('models/late')), made)
})

test('requests of one moment are each on one page', async () => {
  const { tenant, service } = scene
  const made = await registerSome(tenant, 5)
  const alike = 'update approvals set issued_us = 1 where tenant_id = ?'
  await rawSql(service, alike, [tenant.tenant_id])
  for (const limit of [1, 2, 5]) assert.deepEqual(await walk(tenant, limit), made.toSorted())
})

test('a record that is registered between two pages of a registry doubles none', async () => {
  const { tenant } = scene
  await registerSome(tenant, 4)
  const all = (await tenant.ok('GET', '/artifacts')).artifacts
  const first = await tenant.ok('GET', '/artifacts?limit=2')
  await tenant.register('models/late')
  const next = await tenant.ok('GET', `/artifacts?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual([...first.artifacts, ...next.artifacts], all)
  assert.equal(next.offset, 2)
})
