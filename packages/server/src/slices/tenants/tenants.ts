// The tenant operations (interface 4.2).

import type { tenants as contract } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { findTenant, listTenants, type TenantRow } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { provisionTenant, showTenant } from './provision.ts'
import { rotateKey } from './rotate-key.ts'
import { calendarMonth, loadUsage } from './usage.ts'

async function loadTenant(db: TenantDb): Promise<TenantRow> {
  const tenant = await findTenant(db, db.tenant_id)
  if (!tenant) throw new Refusal('tenant_not_found')
  return tenant
}

export const tenantsHandlers: HandlersOf<typeof contract> = {
  async create(call, { body }) {
    const { tenant, api_key } = await provisionTenant(call.kernel, {
      name: body.name,
      plan: body.plan ?? 'starter',
    })
    return { ...showTenant(tenant), api_key }
  },

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
