// Shows and cancels jobs, and makes PDFs in threads. The queue and its worker are in the platform.

import assert from 'node:assert/strict'
import type { Job, jobs } from '@custos/contract'
import { PdfPrinter, PrinterBusy, PrintingCancelled } from '@custos/report-files/printer'
import type { Static } from 'typebox'
import { formatTime } from '../../platform/clock.ts'
import { findJob, type JobRow } from '../../platform/db/jobs.sql.ts'
import { toJob } from '../../platform/jobs/worker.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { meter } from '../tenants/index.ts'

const get: Handler<typeof jobs.get> = (call, { params }) =>
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

const cancel: Handler<typeof jobs.cancel> = (call, { params }) => {
  // Cancellable jobs concern all stores, so a key limited to some can neither start nor cancel
  // them.
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

export const jobsHandlers = { get, cancel } satisfies HandlersOf<typeof jobs>

const printer = perKernel(() => new PdfPrinter())

/** Prints a PDF. Refuses `unavailable` if too many files are queued. */
export async function printPdf(
  { kernel, tenant_id, gone }: Pick<Call, 'kernel' | 'tenant_id' | 'gone'>,
  source: Parameters<PdfPrinter['print']>[0]['source'],
): Promise<Uint8Array> {
  try {
    return await printer(kernel).print({ tenant_id, source, gone })
  } catch (error) {
    if (error instanceof PrinterBusy)
      throw new Refusal('unavailable', error.message, { retry_after_s: error.retry_after_s })
    if (error instanceof PrintingCancelled) throw new Refusal('unavailable')
    throw error
  }
}
