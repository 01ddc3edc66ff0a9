// PUT /v1/cloud/tenants/{tenant_id}: the name, the plan and the limits of a tenant.

import { createHash } from 'node:crypto'
import type { tenants as contract, PlanName } from '@custos/contract'
import { canonicalize } from '@custos/proof'
import type { Static } from 'typebox'
import { parseTime } from '../../platform/clock.ts'
import { updateTenant as saveTenant, type TenantRow } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { limitsAt, type PlanLimits } from '../../platform/kernel/plan-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { forgetCredentials } from './credentials.ts'
import { loadTenant, showTenant } from './provision.ts'

type Update = typeof contract.update

/** The tenant of local mode has no plan. */
const LOCAL_PLAN = 'local'

export const updateTenant: Handler<Update> = async ({ kernel }, { params, body }) => {
  // A transaction on PostgreSQL writes a lock row of that id, which may be anything yet.
  await kernel.db.read(params.tenant_id, loadTenant)
  return kernel.db.transact(params.tenant_id, async (tx) => {
    const before = await loadTenant(tx)
    if (before.requested_us !== null) throw new Refusal('tenant_destroyed')
    const { name = before.name, plan = before.plan, overrides } = body
    if (before.plan === LOCAL_PLAN && plan !== LOCAL_PLAN)
      throw new Refusal('wrong_state', 'the tenant of local mode has no plan')
    const kept = overrides === undefined ? before.overrides : serialize(overrides)
    const after = { ...before, name, plan, overrides: kept }
    await saveTenant(tx, after)
    forgetCredentials(kernel, tx)
    if (plan !== before.plan || kept !== before.overrides)
      await appendChange(kernel, tx, { before, after })
    return showTenant(kernel, after)
  })
}

/** Gives a tenant another plan; nothing where it has it already. */
export async function changePlan(kernel: Kernel, tx: Tx, plan: PlanName): Promise<void> {
  const before = await loadTenant(tx)
  if (before.plan === plan || before.plan === LOCAL_PLAN) return
  const after = { ...before, plan }
  await saveTenant(tx, after)
  forgetCredentials(kernel, tx)
  await appendChange(kernel, tx, { before, after })
}

function serialize(
  overrides: NonNullable<Static<Update['body']>['overrides']> | null,
): string | null {
  if (overrides === null) return null
  const { until, ...limits } = overrides
  if (Object.keys(limits).length === 0) return null
  // The schema has checked the timestamp.
  return JSON.stringify({ limits, until_us: until ? parseTime(until) : null })
}

async function appendChange(
  kernel: Kernel,
  tx: Tx,
  { before, after }: { readonly before: TenantRow; readonly after: TenantRow },
): Promise<void> {
  const { plans } = kernel.settings
  const limits = plans === null ? null : limitsAt(plans, after, tx.now())
  await appendCrumb(tx, {
    event_type: 'tenant.plan_changed',
    subject: tx.tenant_id,
    payload: {
      from: before.plan,
      to: after.plan,
      limits: limits && digestOf(limits),
      overridden: after.overrides !== null,
    },
  })
}

const digestOf = (limits: PlanLimits): string =>
  createHash('sha256')
    .update(canonicalize({ ...limits }))
    .digest('hex')
