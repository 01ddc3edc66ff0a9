// POST /v1/governance/policies: a policy, validated, sealed, and in force with its commit.

import type { governance as contract, Policy } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import {
  changePolicies,
  type Draft,
  defaultAction,
  newPolicyId,
  preparePolicy,
  showPolicy,
} from './change-policy.ts'
import { findVersion } from './policies.sql.ts'
import { assertConfig } from './policy-config.ts'
import { openPolicies, UNREADABLE } from './sealed-policy.ts'

export const createPolicy: Handler<typeof contract.create_policy> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const { policy_type, name } = body
  const config = body.config ?? {}
  await assertConfig(policy_type, config)
  const draft: Draft = {
    change: 'created',
    policy_id: newPolicyId(kernel),
    version: 1,
    policy_type,
    action: body.action ?? defaultAction(policy_type),
    enabled: body.enabled ?? true,
    priority: body.priority ?? 100,
    seed_key: null,
    created_us: null,
    words: { name, description: body.description ?? '', config },
  }
  const prepared = await preparePolicy(kernel, tenant_id, draft)

  const policy_id = await call.once<string>({
    async run(tx) {
      await changePolicies(call, tx, [prepared])
      const ids = { policy_id: prepared.policy_id }
      return { reply: prepared.policy_id, ids }
    },
    // Written by run above.
    replay: async (_, ids) => String(ids['policy_id']),
  })
  return loadFirst()

  /** As it was made: a retry long after is told of the policy it made, not of what became of it. */
  async function loadFirst(): Promise<Policy> {
    const row = await kernel.db.read(tenant_id, (db) => findVersion(db, policy_id, 1))
    if (!row) return call.refuse('unavailable')
    const [opened] = await openPolicies(kernel, tenant_id, [row])
    return showPolicy(row, opened?.words ?? UNREADABLE)
  }
}
