// DELETE /v1/jobs/{job_id}: work that may be given up ends, and nothing of it remains.

import assert from 'node:assert/strict'
import type { jobs } from '@custos/contract'
import { findJob } from '../../platform/db/jobs.sql.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { meter } from '../tenants/index.ts'
import { showJob } from './reads.ts'

export const cancel: Handler<typeof jobs.cancel> = (call, { params }) => {
  // Who may not start it does not end it: what can be cancelled is about all stores.
  if (call.principal.allowed_stores.length > 0)
    return call.refuse('scope_missing', 'the job is about all stores; the key is limited to some')
  return call.transact(async (tx) => {
    const outcome = await call.kernel.jobs.cancel(tx, params.job_id)
    if (outcome === 'absent') return call.refuse('job_not_found')
    if (outcome === 'not_cancellable') return call.refuse('job_not_cancellable')
    if (outcome === 'ended') return call.refuse('job_ended')

    meter(tx, call.operation.id)
    const row = await findJob(tx, params.job_id)
    assert(row, 'a job that was just cancelled is there')
    return showJob(call.kernel, row)
  })
}
