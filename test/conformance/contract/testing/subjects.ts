// Erasures of data subjects in a tenant's world: one at its end, one that has not come to it.

import { setTimeout as delay } from 'node:timers/promises'
import { runSql } from './rows.ts'
import type { Tenant } from './tenant.ts'

const WAITS_MAX = 500

export async function eraseSubjects(tenant: Tenant, word: string) {
  const { store_id } = await tenant.ok('memory.create_store', { body: { name: `${word} people` } })
  const params = { store_id }
  await tenant.ok('memory.write', { params, body: { content: `${word} likes snow` } })
  const find = { text: `${word} likes snow` }
  const subject_id = await erased(tenant, find)
  const open_subject_id = await erased(tenant, find)
  // As if it were not done: the secret of a store stands in for the one that is destroyed.
  await runSql(
    tenant.service,
    `UPDATE subject_requests SET completed_us = NULL, status = 'running', manifest = NULL,
      secret_no = (SELECT max(secret_no) FROM stores WHERE tenant_id = ?)
      WHERE tenant_id = ? AND seq =
        (SELECT max(seq) FROM subject_requests WHERE tenant_id = ?)`,
    ...[tenant.tenant_id, tenant.tenant_id, tenant.tenant_id],
  )
  return { subject_id, open_subject_id }
}

async function erased(tenant: Tenant, find: object): Promise<string> {
  const { request_id } = await tenant.ok('subjects.erase', { body: { find } })
  for (let waits = 0; waits < WAITS_MAX; waits += 1) {
    const { completed_at } = await tenant.ok('subjects.get', { params: { request_id } })
    if (completed_at !== null) return request_id
    await delay(10)
  }
  throw new Error('the erasure did not come to its end')
}
