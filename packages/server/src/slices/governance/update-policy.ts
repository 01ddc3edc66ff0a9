// PUT /v1/governance/policies/{policy_id}: the next version of a policy.

import type { governance as contract } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import {
  changePolicies,
  type Draft,
  preparePolicy,
  showPolicy,
  untilUnchanged,
} from './change-policy.ts'
import { findStanding, findVersion } from './policies.sql.ts'
import { assertConfig } from './policy-config.ts'
import { actionOf, openPolicies, typeOf, UNREADABLE } from './sealed-policy.ts'

export const updatePolicy: Handler<typeof contract.update_policy> = (call, { params, body }) =>
  untilUnchanged(call, async () => {
    const { kernel, tenant_id } = call
    const { policy_id } = params
    const row = await call.read((db) => findStanding(db, policy_id))
    if (!row) return call.refuse('policy_not_found')
    const [opened] = await openPolicies(kernel, tenant_id, [row])
    const words = opened?.words ?? UNREADABLE
    const config = body.config ?? words.config
    await assertConfig(typeOf(row), config)
    const draft: Draft = {
      change: 'updated',
      policy_id,
      version: row.version + 1,
      policy_type: typeOf(row),
      action: body.action ?? actionOf(row),
      enabled: body.enabled ?? row.enabled === 1,
      priority: body.priority ?? row.priority,
      seed_key: row.seed_key,
      created_us: row.created_us,
      words: {
        name: body.name ?? words.name,
        description: body.description ?? words.description,
        config,
      },
    }
    const prepared = await preparePolicy(kernel, tenant_id, draft)

    const changed = await call.transact(async (tx) => {
      await changePolicies(call, tx, [prepared])
      return findVersion(tx, policy_id, draft.version)
    })
    return changed ? showPolicy(changed, draft.words) : call.refuse('unavailable')
  })
