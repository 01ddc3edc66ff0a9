// DELETE /v1/governance/policies/{policy_id}: out of force; its versions stay for the log.

import type { governance as contract } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import { changePolicies, preparePolicy, untilUnchanged } from './change-policy.ts'
import { findStanding } from './policies.sql.ts'
import { actionOf, openPolicies, typeOf, UNREADABLE } from './sealed-policy.ts'

export const deletePolicy: Handler<typeof contract.delete_policy> = (call, { params }) =>
  untilUnchanged(call, async () => {
    const { kernel, tenant_id } = call
    const { policy_id } = params
    const row = await call.read((db) => findStanding(db, policy_id))
    if (!row) return call.refuse('policy_not_found')
    const [opened] = await openPolicies(kernel, tenant_id, [row])
    const { priority, seed_key, created_us } = row
    const prepared = await preparePolicy(kernel, tenant_id, {
      ...{ change: 'deleted', policy_id, version: row.version + 1, priority, seed_key, created_us },
      policy_type: typeOf(row),
      action: actionOf(row),
      enabled: false,
      words: opened?.words ?? UNREADABLE,
    })

    await call.transact((tx) => changePolicies(call, tx, [prepared]))
    return { deleted: true, policy_id }
  })
