// The tenant operations (interface 4.2).

import type { tenants as contract } from '@custos/contract'
import type { Static } from 'typebox'
import { findTenant, listTenants } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { idsOfKey, isRecent } from '../../platform/kernel/idempotency.ts'
import { loadTenant, provisionTenant, showTenant } from './provision.ts'
import { rotateKey } from './rotate-key.ts'
import { calendarMonth, loadUsage } from './usage.ts'

type Create = typeof contract.create

const createTenant: Handler<Create> = async (call, { body }) => {
  const { kernel } = call
  const tenant_id = await newTenantId(call)
  // Before the row: a tenant without keys could not seal; keys without a tenant are only unused.
  await kernel.keyring.createTenant(tenant_id)

  const once = {
    async run(tx: Tx) {
      const wanted = { name: body.name, plan: body.plan ?? 'starter' }
      const { tenant, api_key } = await provisionTenant(kernel, tx, wanted)
      return { reply: { ...showTenant(tenant), api_key }, ids: {} }
    },
    // Only its hash is kept, and a second key would be one that nobody asked for.
    replay: async (tx: Tx) => ({ ...showTenant(await loadTenant(tx)), api_key: null }),
  }
  return call.once<Static<Create['reply']>>(once, tenant_id)
}

/** The record of a key is one of its tenant: a retry finds the tenant by the key itself. */
async function newTenantId({ kernel, operation, idempotency_key }: Call<Create>): Promise<string> {
  if (idempotency_key === null) return kernel.ids.hex(16)
  const ids = await idsOfKey(kernel, operation.id, idempotency_key)
  for (const tenant_id of ids) {
    const made = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
    if (made && isRecent(kernel, made.created_us)) return tenant_id
  }
  return ids[0] ?? kernel.ids.hex(16)
}

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
