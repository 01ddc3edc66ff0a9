// The job behind a report made in the background: walks the log, then writes the report once.

import type { JobContext, JobRunner, JobTraits } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { gather } from './gather.ts'
import type { GatheredReport } from './gather-worker.ts'
import { type Order, orderOf, periodOfOrder } from './order.ts'
import { insertWritten, writeReport } from './report-record.ts'
import { deleteRequest, findRequest, type RequestRow } from './reports.sql.ts'
import { openReports } from './sealed-report.ts'
import { WalkStopped } from './walk-log.ts'

const idOf = ({ report_id }: Order): Buffer => Buffer.from(report_id, 'hex')

export const REPORT_TRAITS: JobTraits = {
  cancellable: true,
  queue: 'threads',
  async abandon(tx, job) {
    await deleteRequest(tx, idOf(orderOf(job)))
  },
  result: (job) => ({ report_id: orderOf(job).report_id }),
}

/** The log has become shorter since the report was asked for: a backup was restored. */
class LogShorter extends Error {
  override readonly name = 'LogShorter'
}

/** Safe to run again from the start: until the last unit of work there is nothing of a report. */
export const reportMaker =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const { tenant_id } = context.job
    const order = orderOf(context.job)
    const request = await kernel.db.read(tenant_id, (db) => findRequest(db, idOf(order)))
    // It was made, or cancelled.
    if (!request) return undefined
    try {
      const gathered = await gathering(kernel, context, order)
      await kernel.step('report:gathered')
      await finish(kernel, { context, order, request, gathered })
      await kernel.step('report:written')
    } catch (error) {
      if (!(error instanceof WalkStopped)) throw error
    }
    return undefined
  }

async function gathering(
  kernel: Kernel,
  context: JobContext,
  order: Order,
): Promise<GatheredReport> {
  const { signal, progress } = context
  const following = { signal, progress }
  await kernel.step('report:begun')
  const gathered = await gather(kernel, subjectOf(context, order), order.log_seq, following)
  if (gathered === 'beyond') throw new LogShorter()
  const entries = order.log_seq + 1
  await progress(entries, entries)
  return gathered
}

const subjectOf = ({ job }: JobContext, order: Order) => {
  const { period_start, period_end } = periodOfOrder(order)
  const { report_type } = order
  return { tenant_id: job.tenant_id, report_type, period_start, period_end }
}

interface FinishedReport {
  readonly context: JobContext
  readonly order: Order
  readonly request: RequestRow
  readonly gathered: GatheredReport
}

async function finish(
  kernel: Kernel,
  { context, order, request, gathered }: FinishedReport,
): Promise<void> {
  const { tenant_id } = context.job
  const { report_id } = order
  const { secret_no, sealed_title } = request
  const part = { column: 'title', report_id, secret_no, sealed: sealed_title } as const
  const [title] = await openReports(kernel, tenant_id, [part])
  if (typeof title !== 'string') throw new Refusal('unavailable')
  const written = await writeReport(kernel, {
    ...{ report_id, title, gathered },
    subject: subjectOf(context, order),
    sealed: { secret_no, sealed_title },
    period: order,
  })
  await kernel.db.transact(tenant_id, async (tx) => {
    // Refuses where it was cancelled or made meanwhile, and nothing of this unit remains.
    await context.finishIn(tx)
    await deleteRequest(tx, idOf(order))
    await insertWritten(tx, written, order.requested_by)
  })
}
