// Creates tenants: their keys, their row, and the first entry of their log.

import { DEFAULT_SCOPES } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import {
  findCredentialById,
  findTenant,
  insertTenant,
  type TenantRow,
  type TenantState,
} from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { limitsAt } from '../../platform/kernel/plan-limits.ts'
import { OperatorError } from '../../platform/operator-error.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { issueKey, refuseMoved, revokeKey } from './credentials.ts'
import { OPERATOR_RIGHTS, TENANT_RIGHTS } from './rights.ts'

/** The tenant of local mode. */
export const LOCAL_TENANT = 'local'

export const FIRST_KEY_NAME = 'default'

/** Operators, or the person who runs the process, issue these keys with an operator's rights. */
const OPERATOR = { rights: OPERATOR_RIGHTS }

/** Creates a tenant and its first key in a unit of that tenant. The keyring must have its keys. */
export async function provisionTenant(
  kernel: Kernel,
  tx: Tx,
  wanted: { name?: string | undefined; plan: TenantRow['plan'] },
): Promise<{ tenant: TenantRow; api_key: string }> {
  const { tenant_id } = tx
  const tenant = tenantRow(tx, { name: wanted.name ?? tenant_id, plan: wanted.plan })
  if ((await insertTenant(tx, tenant)) === 0)
    throw new Refusal('unavailable', 'the Idempotency-Key is expiring', { retry_after_s: 1 })
  const { api_key } = await issueKey(
    kernel,
    tx,
    {
      ...TENANT_RIGHTS,
      tenant_id,
      name: FIRST_KEY_NAME,
    },
    OPERATOR,
  )
  await appendCreated(kernel, tx, wanted.plan)
  return { tenant, api_key }
}

/** Creates the tenant if it is missing, without an API key: local mode needs none. Idempotent. */
export async function ensureTenant(
  kernel: Kernel,
  {
    tenant_id = LOCAL_TENANT,
    plan = 'local',
  }: { tenant_id?: string; plan?: TenantRow['plan'] } = {},
): Promise<void> {
  await kernel.keyring.createTenant(tenant_id)
  const known = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  if (known && known.requested_us !== null)
    throw new OperatorError(`the tenant ${tenant_id} was off-boarded: begin with other data`)
  if (known) return
  await kernel.db.transact(tenant_id, async (tx) => {
    const inserted = await insertTenant(tx, tenantRow(tx, { name: tenant_id, plan }))
    if (inserted > 0) await appendCreated(kernel, tx, plan)
  })
}

const tenantRow = (
  tx: Tx,
  { name, plan }: { name: string; plan: TenantRow['plan'] },
): TenantRow => ({
  tenant_id: tx.tenant_id,
  name,
  plan,
  created_us: tx.now(),
  overrides: null,
})

async function appendCreated(kernel: Kernel, tx: Tx, plan: TenantRow['plan']): Promise<void> {
  const current = kernel.keyring.publishedKeys().filter((key) => key.retired_at === null)
  await appendCrumb(tx, {
    event_type: 'tenant.created',
    subject: tx.tenant_id,
    payload: {
      plan,
      signing_keys: current.map(({ purpose, key_id }) => ({ purpose, key_id })),
    },
  })
}

/** Loads the tenant of the handle. Refuses `tenant_not_found`. */
export async function loadTenant(db: TenantDb): Promise<TenantState> {
  const tenant = await findTenant(db, db.tenant_id)
  if (!tenant) throw new Refusal('tenant_not_found')
  refuseMoved(tenant)
  return tenant
}

const statusOf = ({ requested_us, move_state }: Partial<TenantState>) => {
  if (requested_us != null) return 'destroyed' as const
  return move_state === 'left' ? ('moved' as const) : ('active' as const)
}

/** A tenant as every reply shows it. */
export function showTenant(kernel: Kernel, tenant: TenantRow & Partial<TenantState>) {
  const { tenant_id, name, plan, created_us, destroyed_us = null } = tenant
  const { plans } = kernel.settings
  // Shows effective limits: if no plan has limits, an override of them has no effect.
  const limits = limitsAt(plans, plans === null ? null : tenant, kernel.clock.now())
  return {
    tenant_id,
    id: tenant_id,
    name,
    plan,
    created_at: formatTime(created_us),
    status: statusOf(tenant),
    destroyed_at: destroyed_us === null ? null : formatTime(destroyed_us),
    limits: {
      max_memories: limits.memories,
      max_stores: limits.stores,
      max_requests_per_minute: limits.requests_per_minute,
      max_governed_decisions: limits.governed_decisions.ceiling,
    },
  }
}

/** Issues an operator key; the result shows it once. */
export const createOperatorKey = (
  kernel: Kernel,
  { name, expires_us = null }: { name: string; expires_us?: number | null },
) =>
  kernel.db.transact(PLATFORM, (tx) =>
    issueKey(
      kernel,
      tx,
      { ...OPERATOR_RIGHTS, scopes: DEFAULT_SCOPES.operator, tenant_id: null, name, expires_us },
      OPERATOR,
    ),
  )

/** Revokes an operator key at once; `null` if there is no such key. */
export const revokeOperatorKey = (kernel: Kernel, key_id: string): Promise<boolean | null> =>
  kernel.db.transact(PLATFORM, async (tx) => {
    if (!(await findCredentialById(tx, null, key_id))) return null
    return revokeKey(kernel, tx, { owner: null, key_id })
  })
