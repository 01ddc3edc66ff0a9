// Expires approval requests that nobody decided in time, and their records.

import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  type ApprovalRow,
  findOverdueTenants,
  listOverdue,
  updateExpired,
} from './approvals.sql.ts'
import { kindOf } from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import { findRow, updateStatus } from './records.sql.ts'

/** False: it was decided meanwhile, or is not overdue. */
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
    if (!row || !(await updateStatus(tx, change)))
      throw new Error('an approval request has no waiting record')
    await appendCrumb(tx, {
      event_type: 'approval.expired',
      subject: request_id,
      payload: { record_kind: kind, record_id, proposal_digest },
    })
    const event = { kind, row, document: null, evaluation_id: null, reason: null }
    await appendRecordEvent(tx, { ...event, status: 'expired' })
    return true
  })
}

/** How many requests of one tenant expire before the next tenant's. */
const BATCH = 100

/** Expires overdue requests in every tenant, oldest first; each in a unit of work of its own. */
export async function expireApprovals(kernel: Kernel, stopping?: AbortSignal): Promise<void> {
  let tenants = await kernel.db.read(PLATFORM, listServedIds)
  while (tenants.length > 0) {
    const overdue = await findOverdueTenants(kernel.db, tenants, kernel.clock.now())
    const unfinished: string[] = []
    for (const tenant_id of overdue) {
      if (stopping?.aborted) return
      if (await expireBatch(kernel, tenant_id)) unfinished.push(tenant_id)
    }
    tenants = unfinished
  }
}

/** Whether the tenant may have more overdue requests. */
async function expireBatch(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const now_us = kernel.clock.now()
  const rows = await kernel.db.read(tenant_id, (db) => listOverdue(db, now_us, BATCH))
  let expired = 0
  for (const row of rows) {
    try {
      if (await expireRequest(kernel, tenant_id, row)) expired += 1
    } catch (error) {
      // A request that cannot be expired does not delay the others.
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.error('approval.expiry_failed', { request_id: row.request_id, reason })
    }
  }
  return rows.length === BATCH && expired > 0
}
