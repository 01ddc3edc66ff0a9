// The tenant operations (interface 4.2).

import type { tenants as contract } from '@custos/contract'
import { listTenants } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { createTenant } from './create-tenant.ts'
import { loadTenant, showTenant } from './provision.ts'
import { rotateKey } from './rotate-key.ts'
import { calendarMonth, loadUsage } from './usage.ts'

export const tenantsHandlers: HandlersOf<typeof contract> = {
  create: createTenant,

  async list(call) {
    return (await call.kernel.db.read(PLATFORM, listTenants)).map(showTenant)
  },

  get: (call) => call.read(async (db) => showTenant(await loadTenant(db))),

  rotate_key: rotateKey,

  async usage(call, { query }) {
    const period = query.period ?? 'current_month'
    const month = calendarMonth(call.kernel.clock.now(), period === 'current_month' ? 0 : 1)
    return call.read(async (db) => {
      const { tenant_id } = await loadTenant(db)
      const usage = await loadUsage(db, month.period)
      const { start_at: period_start, end_at: period_end } = month
      return { tenant_id, period, period_start, period_end, ...usage }
    })
  },

  async current_usage(call) {
    const month = calendarMonth(call.kernel.clock.now(), 0)
    return call.read(async (db) => {
      const { plan } = await loadTenant(db)
      const usage = await loadUsage(db, month.period)
      return {
        plan,
        period: { start: month.start_at, end: month.end_at, source: 'calendar_month' as const },
        governed_decisions: usage.operations['decisions.log'] ?? 0,
        breakdown: { certify: 0, reject: 0 },
        included_allotment: null,
        included_allotment_is_placeholder: false,
        is_placeholder: false,
        pct_used: null,
        state: 'normal' as const,
        metered_enabled: false,
        ...usage,
      }
    })
  },
}
