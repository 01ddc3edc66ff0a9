// POST /v1/governance/seed-defaults: the default policies that are not there, all or none.

import type { governance as contract } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import {
  changePolicies,
  type Draft,
  newPolicyId,
  preparePolicy,
  retryChange,
} from './change-policy.ts'
import { listStanding } from './policies.sql.ts'

type Default = Pick<Draft, 'policy_type' | 'action' | 'priority' | 'words'> & { seed_key: string }

const DEFAULT_POLICIES: readonly Default[] = [
  {
    seed_key: 'default-rate-limit',
    policy_type: 'rate_limit',
    action: 'deny',
    priority: 10,
    words: {
      name: 'Default Rate Limit',
      description: 'At most 600 requests in any minute',
      config: { max_requests: 600, window_seconds: 60 },
    },
  },
  {
    seed_key: 'pii-output-guard',
    policy_type: 'pii_guard',
    action: 'log_only',
    priority: 20,
    words: {
      name: 'PII Output Guard',
      description: 'Notes outputs and memories that look as if they held personal numbers',
      config: {
        patterns: [
          '\\b\\d{3}-\\d{2}-\\d{4}\\b',
          '\\b\\d{16}\\b',
          '\\b[A-Z]{2}\\d{2}[A-Z0-9]{4}\\d{7}([A-Z0-9]{0,16})?\\b',
        ],
        description: 'US social security numbers, card numbers, IBANs',
      },
    },
  },
  {
    // What a tool answers may be somebody else's words that give orders.
    seed_key: 'tool-text-guard',
    policy_type: 'hitl_required',
    action: 'escalate',
    priority: 30,
    words: {
      name: 'Tool Text Guard',
      description: 'A person approves calls that cannot be undone once a tool has answered',
      config: { operations: ['tool_execution'], effects: ['once'], origins: ['tool:*'] },
    },
  },
]

export const seedDefaults: Handler<typeof contract.seed_defaults> = (call) =>
  retryChange(call, async () => {
    const { kernel, tenant_id } = call
    const prepared = await Promise.all(
      DEFAULT_POLICIES.map((policy) =>
        preparePolicy(kernel, tenant_id, {
          ...policy,
          change: 'created',
          policy_id: newPolicyId(kernel),
          version: 1,
          enabled: true,
          created_us: null,
        }),
      ),
    )

    return call.once<{ seeded: number }>({
      async run(tx) {
        const there = new Set((await listStanding(tx)).map(({ seed_key }) => seed_key))
        const missing = prepared.filter(({ seed_key }) => !there.has(seed_key))
        if (missing.length > 0) await changePolicies(call, tx, missing)
        const reply = { seeded: missing.length }
        return { reply, ids: reply }
      },
      // Written by run above.
      replay: async (_, ids) => ({ seeded: Number(ids['seeded']) }),
    })
  })
