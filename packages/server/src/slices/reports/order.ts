// A report asked for in the background: what it is about is fixed now, a job makes it.

import assert from 'node:assert/strict'
import type { AcceptedReply, ReportJobReply, ReportType, reports } from '@custos/contract'
import { findJob, findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { toJob } from '../../platform/jobs/worker.ts'
import { accepted, type Call } from '../../platform/kernel/call.ts'
import { meter } from '../tenants/index.ts'
import { findLogSize } from './evidence.sql.ts'
import { type Order, orderOf, payloadOf, periodOfOrder, REPORT_GENERATE } from './order-payload.ts'
import type { Period } from './period.ts'
import { REPORT_ID_BYTES } from './report-record.ts'
import { insertRequest } from './requests.sql.ts'
import { sealTitle } from './sealed-report.ts'

type Generate = Call<typeof reports.generate>

export interface Asked {
  readonly report_type: ReportType
  readonly period: Period
  readonly title: string
  /** Null: all there is. */
  readonly log_seq: number | null
}

/** Each walks a whole log: a tenant does not fill the queue for all others. */
const OPEN_MAX = 20

export async function orderReport(
  call: Generate,
  asked: Asked,
): Promise<AcceptedReply<ReportJobReply>> {
  const { kernel, tenant_id } = call
  const size = await call.read(findLogSize)
  if ((asked.log_seq ?? -1) >= size) return call.refuse('rejected', 'the log has no such log_seq')
  const order: Order = {
    report_id: kernel.ids.hex(REPORT_ID_BYTES),
    report_type: asked.report_type,
    from_us: asked.period.from_us,
    to_us: asked.period.to_us,
    log_seq: asked.log_seq ?? size - 1,
    requested_by: call.principal.key_id,
  }
  const { report_id } = order
  const sealed = await sealTitle(kernel, tenant_id, { report_id, title: asked.title })
  const ordered = await call.once<ReportJobReply>({
    async run(tx) {
      if ((await findOpenJobs(tx, REPORT_GENERATE)).length >= OPEN_MAX)
        return call.refuse('rejected', `${OPEN_MAX} reports are being made: wait for one of them`)
      meter(tx, call.operation.id)
      await insertRequest(tx, { report_id: Buffer.from(report_id, 'hex'), ...sealed })
      const { job_id } = await kernel.jobs.enqueue(tx, REPORT_GENERATE, payloadOf(order))
      return { reply: answerOf(order, job_id), ids: { job_id } }
    },
    replay: (tx, ids) => answerAgain(tx, String(ids['job_id'])),
  })
  return accepted(ordered)
}

/** The same answer whatever has become of the job since. */
async function answerAgain(tx: Tx, job_id: string): Promise<ReportJobReply> {
  const row = await findJob(tx, job_id)
  assert(row, 'jobs stay on record')
  return answerOf(orderOf(toJob(row)), job_id)
}

function answerOf(order: Order, job_id: string): ReportJobReply {
  const { report_id, report_type, log_seq } = order
  const { period_start, period_end } = periodOfOrder(order)
  return {
    status: 'generating',
    ...{ report_id, job_id, report_type, period_start, period_end, log_seq },
  }
}
