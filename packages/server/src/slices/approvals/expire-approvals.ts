// Requests that nobody decided in time expire with their records: in every tenant, oldest first.

import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { expireRequest, listOverdue } from '../records/index.ts'
import { findOverdueTenants } from './overdue.sql.ts'

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
