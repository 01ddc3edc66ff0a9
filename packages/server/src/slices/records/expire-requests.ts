// The end of a request that nobody decided: it and its record expire, and never stand.

import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { type ApprovalRow, findOverdueTenants, updateExpired } from './approvals.sql.ts'
import { listOverdue } from './index.ts'
import { kindOf } from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import { findRow, updateStatus } from './records.sql.ts'

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
    if (!(await updateExpired(tx, request_id))) return false
    const row = await findRow(tx, kind, record_id)
    const change = { record_id, from: 'waiting_hitl', to: 'expired', live: 0 } as const
    if (!row || !(await updateStatus(tx, change))) throw new Error('a request without its record')
    await appendCrumb(tx, {
      event_type: 'approval.expired',
      subject: request_id,
      payload: { record_kind: kind, record_id, proposal_digest },
    })
    const logged = { kind, row, document: null, evaluation_id: null, reason: null }
    await appendRecordEvent(tx, { ...logged, status: 'expired' })
    return true
  })
}

/** Of one tenant before the next has its turn. */
const BATCH = 100

/** Each in a unit of its own: what is decided at the same moment is decided. */
export async function expireApprovals(kernel: Kernel): Promise<void> {
  let left = await kernel.db.read(PLATFORM, listTenantIds)
  while (left.length > 0) {
    const overdue = await findOverdueTenants(kernel.db, left, kernel.clock.now())
    const more: string[] = []
    for (const tenant_id of overdue) if (await expireSome(kernel, tenant_id)) more.push(tenant_id)
    left = more
  }
}

/** Whether there may be more of this tenant. */
async function expireSome(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const now_us = kernel.clock.now()
  const rows = await kernel.db.read(tenant_id, (db) => listOverdue(db, now_us, BATCH))
  let expired = 0
  for (const row of rows) {
    try {
      if (await expireRequest(kernel, tenant_id, row)) expired += 1
    } catch (error) {
      // One that cannot be expired holds up nobody else's.
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.error('approval.expiry_failed', { request_id: row.request_id, reason })
    }
  }
  return rows.length === BATCH && expired > 0
}
