// The monthly quota of model tokens in the plan of a tenant.

import { parseTime } from '../../../platform/clock.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { calendarMonth, planLimits } from '../../tenants/index.ts'
import { sumManagedTokens } from '../runs/orchestrator.sql.ts'

/**
 * Refuses `quota_exceeded` once the managed runs begun in this calendar month have used or reserved
 * the quota. Usage exceeds it by at most what the steps in flight use.
 */
export async function requireModelTokens(kernel: Kernel, tenant_id: string): Promise<void> {
  const { start_at } = calendarMonth(kernel.clock.now(), 0)
  const left = await kernel.db.read(tenant_id, async (db) => {
    const { model_tokens } = await planLimits(kernel, db)
    if (model_tokens === null) return 1
    return model_tokens - (await sumManagedTokens(db, parseTime(start_at) ?? 0))
  })
  if (left > 0) return
  throw new Refusal('quota_exceeded', 'the tokens of models of this month are used up')
}
