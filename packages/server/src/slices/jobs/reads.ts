// Reads of jobs.

import type { Job, jobs } from '@custos/contract'
import type { Static } from 'typebox'
import { formatTime } from '../../platform/clock.ts'
import { findJob, type JobRow } from '../../platform/db/jobs.sql.ts'
import { toJob } from '../../platform/jobs/worker.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'

export const get: Handler<typeof jobs.get> = (call, { params }) =>
  call.read(async (db) => {
    const row = await findJob(db, params.job_id)
    return row ? showJob(call.kernel, row) : call.refuse('job_not_found')
  })

export function showJob({ jobs: queue }: Kernel, row: JobRow): Static<typeof Job> {
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
