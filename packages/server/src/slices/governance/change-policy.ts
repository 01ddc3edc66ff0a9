// Changes policies: new versions are prepared outside the unit of work and stored inside it.

import { limits, type Policy, type PolicyAction, type PolicyType } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { findPolicySet, savePolicySet } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { rateLimits } from '../../platform/rates/rate-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import {
  closeVersion,
  insertMembers,
  insertVersion,
  listStanding,
  type PolicyRow,
} from './policies.sql.ts'
import { policySets } from './policy-sets.ts'
import { actionOf, type PolicyPayload, policyColumn, typeOf } from './sealed-policy.ts'

/** A new version of a policy, not stored yet. */
export interface Draft {
  readonly change: 'created' | 'updated' | 'deleted'
  readonly policy_id: string
  /** 1 for a new policy, otherwise the replaced version plus one. */
  readonly version: number
  readonly policy_type: PolicyType
  readonly action: PolicyAction
  readonly enabled: boolean
  readonly priority: number
  readonly seed_key: string | null
  /** `null` means now. */
  readonly created_us: number | null
  readonly words: PolicyPayload
}

interface PreparedPolicy extends Draft {
  readonly secret_no: number
  readonly sealed: Uint8Array
  /** HMAC of the caller's texts, for the log. */
  readonly label: string
}

const POLICY_ID_BYTES = 12

export const newPolicyId = ({ ids }: Kernel): string => ids.hex(POLICY_ID_BYTES)

/** The default action of a policy type. */
export const defaultAction = (policy_type: PolicyType): PolicyAction =>
  policy_type === 'hitl_required' ? 'escalate' : 'deny'

/** Thrown if the policy changed between the read and the unit of work. */
class PolicyChanged extends Error {}

const ATTEMPTS_MAX = 5

/** The last change of each tenant in this process, in progress or finished. */
const lastChanges = perKernel(() => new Map<string, Promise<unknown>>())

/**
 * Runs one change of a tenant's policies at a time. Retries if another process changed them first,
 * and refuses after several conflicts.
 */
export async function retryChange<T>({ kernel, tenant_id }: Call, act: () => Promise<T>) {
  const last = lastChanges(kernel)
  const before = last.get(tenant_id) ?? Promise.resolve()
  const mine = before.then(() => tryToChange(act))
  const ended = mine.catch(() => {})
  last.set(tenant_id, ended)
  try {
    return await mine
  } finally {
    if (last.get(tenant_id) === ended) last.delete(tenant_id)
  }
}

async function tryToChange<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof PolicyChanged)) throw error
    }
  }
  throw new Refusal('unavailable', 'the policy is being changed', { retry_after_s: 1 })
}

export async function preparePolicy(
  kernel: Kernel,
  tenant_id: string,
  draft: Draft,
): Promise<PreparedPolicy> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const label = keys.label(`policy\n${JSON.stringify(draft.words)}`)
  return { ...draft, label, ...(await policyColumn.sealNew(kernel, tenant_id, draft, draft.words)) }
}

/** Stores all versions or none. From the commit on they apply to every request. */
export async function changePolicies(
  call: Call,
  tx: Tx,
  prepared: readonly PreparedPolicy[],
): Promise<void> {
  const { kernel, operation, principal } = call
  const policy_set = (await findPolicySet(tx)) + 1
  for (const policy of prepared) {
    if (policy.version > 1 && !(await closeVersion(tx, policy.policy_id, policy.version - 1)))
      throw new PolicyChanged()
    const changed_us = tx.now()
    await insertVersion(tx, rowOf(policy, { policy_set, changed_us, changed_by: principal.key_id }))
  }
  const standing = await listStanding(tx)
  if (standing.length > limits.policies_per_tenant)
    throw new Refusal('rejected', `a tenant has ${limits.policies_per_tenant} policies at most`)
  const members = standing.filter(({ enabled }) => enabled === 1)
  await savePolicySet(tx, policy_set)
  await insertMembers(
    tx,
    policy_set,
    JSON.stringify(members.map(({ policy_id, version }) => [policy_id, version])),
  )
  meter(tx, operation.id)
  for (const policy of prepared)
    await appendChange(tx, policy, { policy_set, changed_by: principal.key_id })
  tx.afterCommit(() => {
    policySets(kernel).forget(tx.tenant_id)
    for (const { change, policy_id } of prepared)
      if (change === 'deleted')
        rateLimits(kernel).forget({ tenant_id: tx.tenant_id, limit_id: policy_id })
  })
}

function rowOf(
  policy: PreparedPolicy,
  {
    policy_set,
    changed_us,
    changed_by,
  }: { readonly policy_set: number; readonly changed_us: number; readonly changed_by: string },
): PolicyRow {
  const { policy_id, version, change, policy_type, action, priority, seed_key } = policy
  return {
    ...{ policy_id, version, policy_set, change, policy_type, action, priority, seed_key },
    stands: change === 'deleted' ? 0 : 1,
    enabled: policy.enabled ? 1 : 0,
    secret_no: policy.secret_no,
    sealed: policy.sealed,
    created_us: policy.created_us ?? changed_us,
    changed_us,
    changed_by,
  }
}

async function appendChange(
  tx: Tx,
  policy: PreparedPolicy,
  made: { policy_set: number; changed_by: string },
): Promise<void> {
  const { policy_type, action, enabled, priority, version, label } = policy
  await appendCrumb(tx, {
    event_type: `policy.${policy.change}`,
    subject: policy.policy_id,
    payload: { policy_type, action, enabled, priority, version, label, ...made },
  })
}

export function showPolicy(row: PolicyRow, { name, description, config }: PolicyPayload): Policy {
  return {
    policy_id: row.policy_id,
    name,
    description,
    policy_type: typeOf(row),
    action: actionOf(row),
    config: { ...config },
    priority: row.priority,
    enabled: row.enabled === 1,
    created_at: formatTime(row.created_us),
    updated_at: formatTime(row.changed_us),
    version: row.version,
    changed_by: row.changed_by,
  }
}
