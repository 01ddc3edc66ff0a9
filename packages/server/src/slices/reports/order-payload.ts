// What the job behind a report is told: ids, numbers and a name of ours, never a caller's word.

import assert from 'node:assert/strict'
import { REPORT_TYPES, type ReportType } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Job } from '../../platform/jobs/queue.ts'
import type { Period } from './period.ts'

export const REPORT_GENERATE = 'report.generate'

export interface Order {
  readonly report_id: string
  readonly report_type: ReportType
  readonly from_us: number
  readonly to_us: number
  /** Fixed, so that whoever takes the job up again makes the same content. */
  readonly log_seq: number
  /** Key id. */
  readonly requested_by: string
}

export const payloadOf = (order: Order): Readonly<Record<string, unknown>> => ({ ...order })

/** Payloads are written by order.ts only. */
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
