// Tenants: their operations (interface 4.2), credentials for HTTP, and usage for other slices.

import { createHash } from 'node:crypto'
import type { tenants as contract, PlanName } from '@custos/contract'
import { canonicalize } from '@custos/proof'
import type { Static } from 'typebox'
import { parseTime } from '../../platform/clock.ts'
import {
  findTenant,
  listTenants,
  updateTenant as saveTenant,
  type TenantRow,
} from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { idsOfKey, isRecent } from '../../platform/kernel/idempotency.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { limitsAt, type PlanLimits } from '../../platform/kernel/plan-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, findLastSeq } from '../gcrumbs/index.ts'
import { forgetCredentials } from './credentials.ts'
import { rotateKey } from './keys.ts'
import { loadTenant, provisionTenant, showTenant } from './provision.ts'
import { currentPeriod, loadQuotaUse } from './usage/quotas.ts'
import { calendarMonth, loadGoverned, loadUsage, monthNamed } from './usage/usage.ts'

export { mintApiKey } from './api-key.ts'
export { deleteEndedCredentials } from './credential-limit.ts'
export {
  BOOTSTRAP,
  bootstrapKey,
  findByKey,
  findByKeyId,
  flushKeyUses,
  forgetCredentials,
  hasNoKey,
  issueKey,
  noteKeyUse,
  onCredentialChange,
  refuseMoved,
  requireNoExcess,
  requireStores,
  revokeKey,
  revokeKeysOfTenant,
} from './credentials.ts'
export { keyTextSources } from './key-texts.ts'
export { keysHandlers } from './keys.ts'
export { withMomentaryKey } from './momentary-key.ts'
export {
  createOperatorKey,
  ensureTenant,
  LOCAL_TENANT,
  loadTenant,
  revokeOperatorKey,
} from './provision.ts'
export {
  findExcessRight,
  formatLimits,
  OPERATOR_RIGHTS,
  type Rights,
  rightsOf,
} from './rights.ts'
export {
  compareMemoryCount,
  limitGovernedDecisions,
  markPeriod,
  planLimits,
  releaseMemories,
  requireRoomForStore,
  reserveMemories,
  takeRequest,
} from './usage/quotas.ts'
export { findMarks } from './usage/usage.sql.ts'
export {
  addUsages,
  type CorrectedCount,
  calendarMonth,
  correctUsage,
  countGovernedEver,
  flushReadMeter,
  GovernedLog,
  listOvercountedKinds,
  loadUsage,
  meter,
  meterErasure,
  meterGoverned,
  readMeter,
} from './usage/usage.ts'

const createTenant: Handler<typeof contract.create> = async (call, { body }) => {
  const { kernel } = call
  const tenant_id = await newTenantId(call)
  // Keys come before the row: a tenant without keys could not seal; keys without a tenant are
  // unused.
  await kernel.keyring.createTenant(tenant_id)

  const once = {
    async run(tx: Tx) {
      const wanted = { name: body.name, plan: body.plan ?? 'starter' }
      const { tenant, api_key } = await provisionTenant(kernel, tx, wanted)
      return { reply: { ...showTenant(kernel, tenant), api_key }, ids: {} }
    },
    // Only the hash of the first key is stored, and nobody requested a second key.
    replay: async (tx: Tx) => ({ ...showTenant(kernel, await loadTenant(tx)), api_key: null }),
  }
  return call.once<Static<(typeof contract.create)['reply']>>(once, tenant_id)
}

/** An idempotency record belongs to its tenant, so a retry derives the tenant's id from the key. */
async function newTenantId({
  kernel,
  operation,
  idempotency_key,
}: Call<typeof contract.create>): Promise<string> {
  if (idempotency_key === null) return kernel.ids.hex(16)
  const ids = await idsOfKey(kernel, operation.id, idempotency_key)
  for (const tenant_id of ids) {
    const made = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
    if (made && isRecent(kernel, made.created_us)) return tenant_id
  }
  return ids[0] ?? kernel.ids.hex(16)
}

const showUsage: Handler<typeof contract.usage> = (call, { query }) => {
  const { period = 'current_month' } = query
  const month = monthNamed(period, call.kernel.clock.now())
  return call.read(async (db) => {
    const { tenant_id } = await loadTenant(db)
    const usage = await loadUsage(db, month.period)
    const { start_at: period_start, end_at: period_end } = month
    return { tenant_id, period, period_start, period_end, ...usage }
  })
}

/** Percentage of an included amount from which on usage is `approaching` its limit. */
const APPROACHING = 80

const showCurrentUsage: Handler<typeof contract.current_usage> = (call) => {
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
      log_seq: await findLastSeq(db),
      ...usage,
    }
  })
}

/** A percentage with one decimal. If nothing is included, 100. */
function percentOf(used: number, included: number | null): number | null {
  if (included === null) return null
  return included === 0 ? 100 : Math.round((used * 1_000) / included) / 10
}

function stateOf(percent: number | null): 'normal' | 'approaching' | 'at_or_over' {
  if (percent === null || percent < APPROACHING) return 'normal'
  return percent >= 100 ? 'at_or_over' : 'approaching'
}

/** Plan of the tenant of local mode, which has no limits. */
const LOCAL_PLAN = 'local'

/** PUT /v1/cloud/tenants/{tenant_id}: changes name, plan and limits of a tenant. */
const updateTenant: Handler<typeof contract.update> = async ({ kernel }, { params, body }) => {
  // On PostgreSQL a transaction inserts a lock row with the id, which is not validated yet.
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

/** Changes the tenant's plan; does nothing if the tenant has that plan already. */
export async function changePlan(kernel: Kernel, tx: Tx, plan: PlanName): Promise<void> {
  const before = await loadTenant(tx)
  if (before.plan === plan || before.plan === LOCAL_PLAN) return
  const after = { ...before, plan }
  await saveTenant(tx, after)
  forgetCredentials(kernel, tx)
  await appendChange(kernel, tx, { before, after })
}

function serialize(
  overrides: NonNullable<Static<(typeof contract)['update']['body']>['overrides']> | null,
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

export const tenantsHandlers: HandlersOf<typeof contract> = {
  create: createTenant,

  async list(call) {
    return (await call.kernel.db.read(PLATFORM, listTenants)).map((row) =>
      showTenant(call.kernel, row),
    )
  },

  get: (call) => call.read(async (db) => showTenant(call.kernel, await loadTenant(db))),

  rotate_key: rotateKey,

  update: updateTenant,
  usage: showUsage,
  current_usage: showCurrentUsage,
}
