// Expires approval requests that were not decided in time, or that lost their purpose, together
// with their records.

import type { RecordKind } from '@custos/proof'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
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

/** Returns false if the request was decided meanwhile or is not overdue. */
export async function expireRequest(
  kernel: Kernel,
  tenant_id: string,
  approval: ApprovalRow,
): Promise<boolean> {
  if (approval.state !== 'pending' || approval.expires_us > kernel.clock.now()) return false
  return kernel.db.transact(tenant_id, (tx) => expire(tx, approval, tx.now()))
}

/** Withdraws the request of a record that lost its purpose, in the unit of work that ends it. */
export async function withdrawRequest(
  tx: Tx,
  kind: RecordKind,
  record_id: string,
  reason: string,
): Promise<void> {
  const row = await findRow(tx, kind, record_id)
  if (row?.status !== 'waiting_hitl' || row.request_id === null) return
  const { request_id, proposal_digest } = row
  const request = { request_id, kind, record_id, proposal_digest }
  await expire(tx, request, Number.MAX_SAFE_INTEGER, reason)
}

async function expire(
  tx: Tx,
  request: Pick<ApprovalRow, 'request_id' | 'kind' | 'record_id' | 'proposal_digest'>,
  due_us: number,
  reason: string | null = null,
): Promise<boolean> {
  const { request_id, record_id, proposal_digest } = request
  const kind = kindOf(request)
  if (!(await updateExpired(tx, request_id, due_us))) return false
  const row = await findRow(tx, kind, record_id)
  const change = { record_id, from: 'waiting_hitl', to: 'expired', live: 0 } as const
  if (!row || !(await updateStatus(tx, change)))
    throw new Error('an approval request has no waiting record')
  await appendCrumb(tx, {
    event_type: 'approval.expired',
    subject: request_id,
    payload: { record_kind: kind, record_id, proposal_digest },
  })
  const event = { kind, row, document: null, evaluation_id: null, reason }
  await appendRecordEvent(tx, { ...event, status: 'expired' })
  return true
}

/** The most requests of one tenant that expire before the next tenant is served. */
const BATCH = 100

/** Expires overdue requests in every tenant, oldest first, each in its own unit of work. */
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
