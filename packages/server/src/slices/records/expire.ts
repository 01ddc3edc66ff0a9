// The end of a request that nobody decided: it and its record expire, and never stand.

import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { type ApprovalRow, expireApproval } from './approvals.sql.ts'
import { logRecord } from './record-events.ts'
import { findRow, moveRecord } from './records.sql.ts'
import { kindOf } from './row-words.ts'

/** False: it was decided meanwhile, or its time is not over. */
export async function expireRequest(
  kernel: Kernel,
  tenant_id: string,
  approval: ApprovalRow,
): Promise<boolean> {
  const { request_id, record_id, proposal_digest } = approval
  const kind = kindOf(approval)
  if (approval.state !== 'pending' || approval.expires_us > kernel.clock.now()) return false
  return kernel.db.transact(tenant_id, async (tx) => {
    if (!(await expireApproval(tx, request_id))) return false
    const row = await findRow(tx, kind, record_id)
    const change = { record_id, from: 'waiting_hitl', to: 'expired', live: 0 } as const
    if (!row || !(await moveRecord(tx, change))) throw new Error('a request without its record')
    await appendCrumb(tx, {
      event_type: 'approval.expired',
      subject: request_id,
      payload: { record_kind: kind, record_id, proposal_digest },
    })
    const logged = { kind, row, document: null, evaluation_id: null, reason: null }
    await logRecord(tx, { ...logged, status: 'expired' })
    return true
  })
}
