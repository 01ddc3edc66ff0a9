// DELETE /v1/reports/{report_id}: what it says goes; that there was one stays on record.

import type { ReportType, reports } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { deleteReport, findReport } from './reports.sql.ts'
import { refuseLimited } from './whole-tenant.ts'

export const remove: Handler<typeof reports.delete> = async (call, { params }) => {
  refuseLimited(call)
  const { report_id } = params
  const id = Buffer.from(report_id, 'hex')
  const { answer, secret_no } = await call.transact(async (tx) => {
    const row = await findReport(tx, id)
    const deleted_us = tx.now()
    // Of two at once, one finds it gone.
    if (!row || (await deleteReport(tx, id, deleted_us)) !== 1)
      return call.refuse('report_not_found')
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'report.deleted',
      subject: report_id,
      payload: {
        report_type: row.report_type as ReportType,
        content_digest: Buffer.from(row.content_hash).toString('hex'),
        deleted_by: call.principal.key_id,
      },
    })
    const answer = { deleted: true as const, report_id, deleted_at: formatTime(deleted_us) }
    return { answer, secret_no: row.secret_no }
  })
  // After the end is durable: what older copies of the row hold opens no more.
  await call.kernel.keyring.destroySecrets(call.tenant_id, 'decision', [secret_no])
  return answer
}
