// Creates, changes and deletes policies: validated, sealed, and in force from their commit on.

import {
  type governance as contract,
  limits,
  type Policy,
  type PolicyConfig,
  type PolicyType,
  policyConfigs,
} from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Refusal } from '../../platform/refusal.ts'
import { type Loc, Shape, validationDetail } from '../../platform/validation.ts'
import {
  changePolicies,
  type Draft,
  defaultAction,
  newPolicyId,
  preparePolicy,
  retryChange,
  showPolicy,
} from './change-policy.ts'
import { findStanding, findVersion, listStanding } from './policies.sql.ts'
import { ENTITY_NAMES } from './rules/entity-names.ts'
import { findNameProblem } from './rules/operation-names.ts'
import { actionOf, openPolicies, type PolicyPayload, typeOf, UNREADABLE } from './sealed-policy.ts'

const WHERE = ['body', 'config'] as const
const shapes = new Map<PolicyType, Shape>()

/** Refuses `validation` in the same form as for other fields of the body. */
async function assertConfig(
  policy_type: PolicyType,
  config: PolicyPayload['config'],
): Promise<void> {
  let shape = shapes.get(policy_type)
  if (!shape) {
    shape = new Shape(policyConfigs[policy_type], ...WHERE)
    shapes.set(policy_type, shape)
  }
  shape.assert(config)
  if (Buffer.byteLength(JSON.stringify(config)) > limits.policy_config_bytes)
    throw invalid(
      [],
      `a configuration must not exceed ${limits.policy_config_bytes} bytes`,
      'too_long',
    )
  await check(policy_type, config)
}

const invalid = (at: Loc, msg: string, type: string): Refusal =>
  validationDetail([...WHERE, ...at], msg, type)

const checks: { readonly [T in PolicyType]?: (config: PolicyConfig<T>) => void | Promise<void> } = {
  hitl_required: assertHitl,
  pii_guard: assertPii,
  world_model_constraint: assertConstraint,
  content_filter: ({ patterns }) => assertPatterns('patterns', patterns, true),
  tool_deny: ({ denied_tools }) => assertPatterns('denied_tools', denied_tools, false),
}

async function check<T extends PolicyType>(
  policy_type: T,
  config: PolicyPayload['config'],
): Promise<void> {
  // The schema of the policy type was checked above.
  await checks[policy_type]?.(config as PolicyConfig<T>)
}

// A policy with two empty lists would hold up everything.
function assertHitl({ operations = [], tools = [] }: PolicyConfig<'hitl_required'>): void {
  if (operations.length + tools.length > 0) return
  throw invalid(['operations'], 'name operations, tools, or both', 'too_short')
}

async function assertPii({
  patterns = [],
  entities = [],
}: PolicyConfig<'pii_guard'>): Promise<void> {
  if (patterns.length + entities.length === 0)
    throw invalid(['entities'], 'name entities, patterns, or both', 'too_short')
  const unknown = entities.findIndex((entity) => !ENTITY_NAMES.includes(entity))
  if (unknown !== -1) {
    const msg = `must be one of ${ENTITY_NAMES.join(', ')}`
    throw invalid(['entities', unknown], msg, 'enum')
  }
  await assertPatterns('patterns', patterns, false)
}

function assertConstraint(config: PolicyConfig<'world_model_constraint'>): void {
  if ((config.require_params ?? []).length > 0 || config.deny_if !== undefined) return
  throw invalid(['require_params'], 'name require_params, deny_if, or both', 'too_short')
}

/** Refuses operation names that no request can have. */
function assertOperations({ operations }: PolicyPayload['config']): void {
  if (!Array.isArray(operations)) return
  for (const [i, name] of operations.entries()) {
    const problem = findNameProblem(String(name))
    if (problem !== null) throw invalid(['operations', i], problem, 'enum')
  }
}

async function assertPatterns(
  name: string,
  patterns: readonly string[],
  any_case: boolean,
): Promise<void> {
  if (patterns.length === 0) return
  // Loaded only if it is needed.
  const { compileAll, PatternAt } = await import('./rules/patterns.ts')
  try {
    compileAll(patterns, { any_case })
  } catch (error) {
    if (!(error instanceof PatternAt)) throw error
    throw invalid([name, error.position], error.message, 'string_pattern_mismatch')
  }
}

/** POST /v1/governance/policies */
export const createPolicy: Handler<typeof contract.create_policy> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const { policy_type, name } = body
  const config = body.config ?? {}
  await assertConfig(policy_type, config)
  assertOperations(config)
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
    // The stored ids were written by `run` above.
    replay: async (_, ids) => String(ids['policy_id']),
  })
  return loadFirst()

  /** The policy as created, without later changes, which is what a retry returns. */
  async function loadFirst(): Promise<Policy> {
    const row = await kernel.db.read(tenant_id, (db) => findVersion(db, policy_id, 1))
    if (!row) return call.refuse('unavailable')
    const [opened] = await openPolicies(kernel, tenant_id, [row])
    return showPolicy(row, opened?.words ?? UNREADABLE)
  }
}

export const updatePolicy: Handler<typeof contract.update_policy> = (call, { params, body }) =>
  retryChange(call, async () => {
    const { kernel, tenant_id } = call
    const { policy_id } = params
    const row = await call.read((db) => findStanding(db, policy_id))
    if (!row) return call.refuse('policy_not_found')
    const [opened] = await openPolicies(kernel, tenant_id, [row])
    const words = opened?.words ?? UNREADABLE
    const config = body.config ?? words.config
    await assertConfig(typeOf(row), config)
    // A stored configuration may have names from before names were checked.
    if (body.config) assertOperations(config)
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

export const deletePolicy: Handler<typeof contract.delete_policy> = (call, { params }) =>
  retryChange(call, async () => {
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

const DEFAULT_POLICIES: readonly (Pick<Draft, 'policy_type' | 'action' | 'priority' | 'words'> & {
  seed_key: string
})[] = [
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
    // A tool's output may contain instructions written by somebody else.
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

/** POST /v1/governance/seed-defaults: creates the missing default policies, all or none. */
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
      // The stored ids were written by `run` above.
      replay: async (_, ids) => ({ seeded: Number(ids['seeded']) }),
    })
  })
