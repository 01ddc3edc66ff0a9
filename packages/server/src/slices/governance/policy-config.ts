// A policy's configuration as it may be stored: its type's schema, and what a schema cannot say.

import { limits, type PolicyConfig, type PolicyType, policyConfigs } from '@custos/contract'
import type { Refusal } from '../../platform/refusal.ts'
import { type Loc, Shape, validationDetail } from '../../platform/validation.ts'
import { ENTITY_NAMES } from './entity-names.ts'

type Config = Readonly<Record<string, unknown>>

const WHERE = ['body', 'config'] as const
const shapes = new Map<PolicyType, Shape>()

/** Refuses `validation` in the shape of every other field of the body. */
export async function assertConfig(policy_type: PolicyType, config: Config): Promise<void> {
  let shape = shapes.get(policy_type)
  if (!shape) {
    shape = new Shape(policyConfigs[policy_type], ...WHERE)
    shapes.set(policy_type, shape)
  }
  shape.assert(config)
  if (Buffer.byteLength(JSON.stringify(config)) > limits.policy_config_bytes)
    throw invalid([], `a configuration has ${limits.policy_config_bytes} bytes at most`, 'too_long')
  await check(policy_type, config)
}

const invalid = (at: Loc, msg: string, type: string): Refusal =>
  validationDetail([...WHERE, ...at], msg, type)

type Checks = { readonly [T in PolicyType]?: (config: PolicyConfig<T>) => void | Promise<void> }

const checks: Checks = {
  hitl_required: assertHitl,
  pii_guard: assertPii,
  world_model_constraint: assertConstraint,
  content_filter: ({ patterns }) => assertPatterns('patterns', patterns, true),
  tool_deny: ({ denied_tools }) => assertPatterns('denied_tools', denied_tools, false),
}

async function check<T extends PolicyType>(policy_type: T, config: Config): Promise<void> {
  // The schema of its type has just been checked.
  await checks[policy_type]?.(config as PolicyConfig<T>)
}

// Empty lists of both would hold up everything.
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

async function assertPatterns(
  name: string,
  patterns: readonly string[],
  any_case: boolean,
): Promise<void> {
  if (patterns.length === 0) return
  // Loaded only where it is used.
  const { compileAll, PatternAt } = await import('./patterns.ts')
  try {
    compileAll(patterns, { any_case })
  } catch (error) {
    if (!(error instanceof PatternAt)) throw error
    throw invalid([name, error.position], error.message, 'string_pattern_mismatch')
  }
}
