// Shows a job and cancels it.

import assert from 'node:assert/strict'
import type { Job, jobs } from '@custos/contract'
import type { Static } from 'typebox'
import { formatTime } from '../../platform/clock.ts'
import { findJob, type JobRow } from '../../platform/db/jobs.sql.ts'
import { toJob } from '../../platform/jobs/worker.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { meter } from '../tenants/index.ts'

export const get: Handler<typeof jobs.get> = (call, { params }) =>
  call.read(async (db) => {
    const row = await findJob(db, params.job_id)
    return row ? showJob(call.kernel, row) : call.refuse('job_not_found')
  })

function showJob({ jobs: queue }: Kernel, row: JobRow): Static<typeof Job> {
  const job = toJob(row)
  const { job_id, kind, state, attempts, error } = job
  const { cancellable = false, result } = queue.traitsOf(kind)
  return {
    ...{ job_id, kind, state },
    progress: { done: job.progress_done, total: job.progress_total },
    ...{ attempts, error, cancellable },
    result: state === 'done' && result ? result(job) : null,
    created_at: formatTime(job.created_us),
    updated_at: formatTime(job.updated_us),
  }
}

export const cancel: Handler<typeof jobs.cancel> = (call, { params }) => {
  // Cancellable jobs concern all stores, so a key that is limited to some can neither start nor
  // cancel one.
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
