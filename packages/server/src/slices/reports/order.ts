// Orders a background report. The order fixes its subject now, and a job generates it.

import assert from 'node:assert/strict'
import {
  type AcceptedReply,
  type GenerateReportRequest,
  REPORT_PERIOD_DAYS_MAX,
  REPORT_TYPES,
  type ReportJobReply,
  type ReportType,
  type reports,
} from '@custos/contract'
import { DAY_US, formatTime, parseDateOrTime } from '../../platform/clock.ts'
import { findJob, findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Job } from '../../platform/jobs/queue.ts'
import { toJob } from '../../platform/jobs/worker.ts'
import { accepted, type Call, type Principal } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { meter } from '../tenants/index.ts'
import { findLogSize } from './evidence.sql.ts'
import { REPORT_ID_BYTES } from './report-record.ts'
import { insertRequest } from './reports.sql.ts'
import { sealTitle } from './sealed-report.ts'

/** The most open orders of a tenant, so that it does not fill the queue: each walks a whole log. */
const OPEN_MAX = 20

/** @param asked.log_seq null: all there is */
export async function orderReport(
  call: Call<typeof reports.generate>,
  asked: { report_type: ReportType; period: Period; title: string; log_seq: number | null },
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

/** Repeats the first reply, whatever the state of the job. */
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

export function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'a report is about all stores; the key is limited to some')
}

const DAYS_DEFAULT = 30

export interface Period {
  readonly from_us: number
  readonly to_us: number
  readonly period_start: string
  readonly period_end: string
}

/** Refuses a period that is empty, invalid, or too long. */
export function periodOf(request: GenerateReportRequest, now_us: number): Period {
  const { from, to, period_days } = request
  if (from !== undefined && period_days !== undefined)
    throw new Refusal('rejected', 'give from or period_days, not both')
  const to_us = to === undefined ? now_us : endOf(to, now_us)
  const days = period_days ?? DAYS_DEFAULT
  const from_us = from === undefined ? to_us - days * DAY_US : parse(from).us
  // A future period's events and policies are not known yet.
  if (to_us > now_us) throw new Refusal('rejected', 'the period ends in the future')
  if (from_us >= to_us) throw new Refusal('rejected', 'the period ends before it begins')
  if (to_us - from_us > REPORT_PERIOD_DAYS_MAX * DAY_US)
    throw new Refusal('rejected', `a period has at most ${REPORT_PERIOD_DAYS_MAX} days`)
  return { from_us, to_us, period_start: formatTime(from_us), period_end: formatTime(to_us) }
}

/** The first microsecond after the period. A day that is not over ends now. */
function endOf(to: string, now_us: number): number {
  const { us, is_day } = parse(to)
  const isToday = is_day && us <= now_us
  return isToday ? Math.min(us + DAY_US, now_us) : us
}

function parse(text: string) {
  const parsed = parseDateOrTime(text)
  assert(parsed, 'the schema admits only what can be parsed')
  return parsed
}

export const REPORT_GENERATE = 'report.generate'

export interface Order {
  readonly report_id: string
  readonly report_type: ReportType
  readonly from_us: number
  readonly to_us: number
  /** Fixed, so that a restarted job produces the same content. */
  readonly log_seq: number
  /** The id of the ordering credential. */
  readonly requested_by: string
}

const payloadOf = (order: Order): Readonly<Record<string, unknown>> => ({ ...order })

/** Payloads are written by this file only. */
export function orderOf({ payload }: Pick<Job, 'payload'>): Order {
  const report_type = REPORT_TYPES.find((type) => type === payload['report_type'])
  assert(report_type, 'a report is of a type')
  return {
    report_id: String(payload['report_id']),
    report_type,
    from_us: Number(payload['from_us']),
    to_us: Number(payload['to_us']),
    log_seq: Number(payload['log_seq']),
    requested_by: String(payload['requested_by']),
  }
}

export const periodOfOrder = ({ from_us, to_us }: Order): Period => ({
  ...{ from_us, to_us },
  period_start: formatTime(from_us),
  period_end: formatTime(to_us),
})
