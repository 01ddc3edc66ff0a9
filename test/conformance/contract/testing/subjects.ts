// Erasures of data subjects in a tenant's world: one at its end, one that has not come to it.

import { setTimeout as delay } from 'node:timers/promises'
import { rawSql } from '../../../../packages/server/src/testing/raw-sql.ts'
import type { Tenant } from './tenant.ts'

const WAITS_MAX = 500
/** Where no log of a test comes. */
const FAR_SEQ = 1_000_000_000
const COPIED = `kind, job_id, find_label, found_digest, facts, superseded_facts, decisions_using,
  decisions_naming, held, log_seq, searched_seq, rounds, items_done, items, received_us, due_us,
  created_us, started_us, made_by`

/** Nothing of any tenant matches. */
export const NOBODY = { text: 'nobody at all' }

export async function eraseSubjects(tenant: Tenant, word: string) {
  const { store_id } = await tenant.ok('memory.create_store', { body: { name: `${word} people` } })
  const params = { store_id }
  await tenant.ok('memory.write', { params, body: { content: `${word} likes snow` } })
  const find = { text: `${word} likes snow` }
  const subject_id = await erased(tenant, find)
  const open_subject_id = tenant.service.kernel.ids.hex(16)
  // A copy that is not done, as if just asked for: the secret of a store stands in for its own.
  await rawSql(
    tenant.service,
    `INSERT INTO subject_requests (tenant_id, seq, request_id, status, secret_no, ${COPIED})
      SELECT tenant_id, ${FAR_SEQ}, ?, 'running',
        (SELECT max(secret_no) FROM stores WHERE tenant_id = ?), ${COPIED}
      FROM subject_requests WHERE tenant_id = ?`,
    [Buffer.from(open_subject_id, 'hex'), tenant.tenant_id, tenant.tenant_id],
  )
  return { subject_id, open_subject_id, nobody_digest: await previewOf(tenant, NOBODY) }
}

async function previewOf(tenant: Tenant, find: object): Promise<string> {
  const { body } = await tenant.ask('subjects.erase', { body: { find, preview: true } })
  return body.digest
}

async function erased(tenant: Tenant, find: object): Promise<string> {
  const body = { find, expect_digest: await previewOf(tenant, find) }
  const { request_id } = await tenant.ok('subjects.erase', { body })
  for (let waits = 0; waits < WAITS_MAX; waits += 1) {
    const { completed_at } = await tenant.ok('subjects.get', { params: { request_id } })
    if (completed_at !== null) return request_id
    await delay(10)
  }
  throw new Error('the erasure did not come to its end')
}
