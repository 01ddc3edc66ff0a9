// POST /v1/reports/generate: gathers the evidence, then signs, seals and logs the report.

import type { GenerateReportRequest, Report, ReportType, reports } from '@custos/contract'
import type { Call, Handler, Once } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { FRAMEWORKS, FULL_AUDIT } from './catalogue/catalogue.ts'
import { gather } from './gather.ts'
import { type Period, periodOf } from './period.ts'
import { openReport, type Written, writeReport } from './report-record.ts'
import { findReport, insertReport } from './reports.sql.ts'
import { refuseLimited } from './whole-tenant.ts'

type Generate = Call<typeof reports.generate>

export const generate: Handler<typeof reports.generate> = async (call, { body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  // Without its key nothing would come of the work.
  kernel.keyring.signer('record')
  const report_type = typeOf(call, body)
  const period = periodOf(body, kernel.clock.now())
  const { period_start, period_end } = period
  const subject = { tenant_id, report_type, period_start, period_end }
  const gathered = await gather(kernel, subject, body.log_seq ?? null)
  if (gathered === 'beyond') return call.refuse('rejected', 'the log has no such log_seq')
  const title = body.title ?? titleOf(report_type, period)
  return call.once(writeOnce(call, await writeReport(kernel, { subject, title, gathered, period })))
}

function typeOf(call: Generate, { report_type, framework }: GenerateReportRequest): ReportType {
  if (report_type !== undefined && framework !== undefined && report_type !== framework)
    return call.refuse('rejected', 'report_type and framework differ')
  return report_type ?? framework ?? 'full_audit'
}

const DAY_CHARS = 10

function titleOf(report_type: ReportType, { period_start, period_end }: Period): string {
  const { name } = report_type === 'full_audit' ? FULL_AUDIT : FRAMEWORKS[report_type]
  return `${name} (${period_start.slice(0, DAY_CHARS)} → ${period_end.slice(0, DAY_CHARS)})`
}

function writeOnce(call: Generate, written: Written): Once<Report> {
  return {
    async run(tx) {
      meter(tx, call.operation.id)
      const report_id = await write(call, tx, written)
      // Made to the schema by writeReport; the row has its bytes.
      const reply = written.report as unknown as Report
      return { reply, ids: { report_id } }
    },
    async replay(tx, ids) {
      const row = await findReport(tx, Buffer.from(String(ids['report_id']), 'hex'))
      if (!row || row.deleted_us !== null) return call.refuse('rejected', 'it was deleted since')
      return openReport(call.kernel, call.tenant_id, row)
    },
  }
}

async function write(call: Generate, tx: Tx, { record_digest, row }: Written): Promise<string> {
  const report_id = Buffer.from(row.report_id).toString('hex')
  tx.needs(insertReport(tx, { ...row, seq: await nextSeq(tx) }))
  await appendCrumb(tx, {
    event_type: 'report.generated',
    subject: report_id,
    payload: {
      report_type: row.report_type as ReportType,
      overall_finding: row.overall_finding as Report['overall_finding'],
      log_seq: row.log_seq,
      content_digest: Buffer.from(row.content_hash).toString('hex'),
      record_digest,
      generated_by: call.principal.key_id,
    },
  })
  return report_id
}
