// Reads of jobs; the queue and its worker are part of the platform.

import type { jobs } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import { findJob } from '../../platform/db/jobs.sql.ts'
import { toJob } from '../../platform/jobs/worker.ts'

export const jobsHandlers = {
  get: (call, { params }) =>
    call.read(async (db) => {
      const row = await findJob(db, params.job_id)
      if (!row) return call.refuse('job_not_found')
      const job = toJob(row)
      return {
        job_id: job.job_id,
        kind: job.kind,
        state: job.state,
        progress: { done: job.progress_done, total: job.progress_total },
        attempts: job.attempts,
        error: job.error,
        created_at: formatTime(job.created_us),
        updated_at: formatTime(job.updated_us),
      }
    }),
} satisfies HandlersOf<typeof jobs>
