// Usage of a tenant: in a month, and against the limits of its plan.

import type { tenants as contract } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import { limitsAt } from '../../platform/kernel/plan-limits.ts'
import { findHead } from '../gcrumbs/index.ts'
import { loadTenant } from './provision.ts'
import { currentPeriod } from './usage/periods.ts'
import { loadQuotaUse } from './usage/quotas.ts'
import { calendarMonth, loadGoverned, loadUsage, monthNamed } from './usage/usage.ts'

export const showUsage: Handler<typeof contract.usage> = (call, { query }) => {
  const { period = 'current_month' } = query
  const month = monthNamed(period, call.kernel.clock.now())
  return call.read(async (db) => {
    const { tenant_id } = await loadTenant(db)
    const usage = await loadUsage(db, month.period)
    const { start_at: period_start, end_at: period_end } = month
    return { tenant_id, period, period_start, period_end, ...usage }
  })
}

/** From this share of what the plan includes on, in percent, the use is near its limit. */
const APPROACHING = 80

export const showCurrentUsage: Handler<typeof contract.current_usage> = (call) => {
  const { kernel } = call
  const now_us = kernel.clock.now()
  const month = calendarMonth(now_us, 0)
  return call.read(async (db) => {
    const tenant = await loadTenant(db)
    const usage = await loadUsage(db, month.period)
    const breakdown = await loadGoverned(db, month.period)
    const period = await currentPeriod(db, now_us)
    const { used: governed_decisions } = period
    const { included } = limitsAt(kernel.settings.plans, tenant, now_us).governed_decisions
    const pct_used = percentOf(governed_decisions, included)
    return {
      plan: tenant.plan,
      period: { start: period.start_at, end: period.end_at, source: period.source },
      governed_decisions,
      breakdown,
      included_allotment: included,
      included_allotment_is_placeholder: false,
      is_placeholder: false,
      pct_used,
      state: stateOf(pct_used),
      metered_enabled: kernel.settings.billing !== null && tenant.plan === 'pro',
      limits: [...(await loadQuotaUse(kernel, db))],
      log_seq: newestOf(await findHead(db)),
      ...usage,
    }
  })
}

/** Log positions begin at 0. */
const newestOf = (head: { readonly size: number } | undefined): number | null =>
  head === undefined || head.size === 0 ? null : head.size - 1

/** With one decimal; of nothing included everything is used. */
function percentOf(used: number, included: number | null): number | null {
  if (included === null) return null
  return included === 0 ? 100 : Math.round((used * 1_000) / included) / 10
}

function stateOf(percent: number | null): 'normal' | 'approaching' | 'at_or_over' {
  if (percent === null || percent < APPROACHING) return 'normal'
  return percent >= 100 ? 'at_or_over' : 'approaching'
}
