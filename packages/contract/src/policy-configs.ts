// The types of policies with the schemas of their configurations, and what operations tell them.

import Type, { type Static, type TObject, type TProperties } from 'typebox'
import { Label } from './common.ts'
import { limits } from './limits.ts'

export const POLICY_TYPES = [
  'rate_limit',
  'model_allowlist',
  'content_filter',
  'data_scope',
  'token_budget',
  'hitl_required',
  'pii_guard',
  'world_model_constraint',
  'tool_deny',
] as const
export type PolicyType = (typeof POLICY_TYPES)[number]

export const POLICY_ACTIONS = ['allow', 'deny', 'escalate', 'log_only'] as const
export type PolicyAction = (typeof POLICY_ACTIONS)[number]

export const POLICY_RESULTS = ['allowed', 'denied', 'escalated', 'logged'] as const
export type PolicyResult = (typeof POLICY_RESULTS)[number]

/**
 * The context keys each operation carries. A policy that reads one of them denies when it is
 * missing; of any other operation a policy reads what is there and does not concern what is not.
 */
export const OPERATION_KEYS = {
  inference: ['model_id', 'query'],
  tool_execution: ['tool_name'],
  output_check: ['output'],
  'memory.write': ['store_id', 'content'],
  'memory.retrieve': ['store_id', 'query'],
  'memory.delete': ['store_id', 'ref'],
  'decision.log': ['store_id', 'model_id', 'query', 'output'],
  'landing.issue': ['artifact_ref', 'authority'],
  'artifact.register': ['artifact_ref', 'base_model_ref'],
  'worldmodel.type.register': ['kind', 'name'],
  'provenance.seal': ['name', 'sources'],
  'composition.govern': ['kind', 'members', 'target'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type KnownOperation = keyof typeof OPERATION_KEYS
export const KNOWN_OPERATIONS = Object.keys(OPERATION_KEYS)

/** The name of an operation in code: the log keeps those above in clear, of others a hash. */
export const OperationName = Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$' })

const { patterns_per_policy, policy_list_items } = limits
const Pattern = Type.String({ ...Label, maxLength: limits.pattern_chars })
const Patterns = Type.Array(Pattern, { minItems: 1, maxItems: patterns_per_policy })
const FieldName = Type.String({ ...Label, maxLength: 64 })
const Fields = (fallback: readonly string[]) =>
  Type.Optional(Type.Array(FieldName, { minItems: 1, maxItems: 20, default: [...fallback] }))
const Labels = Type.Array(Label, { minItems: 1, maxItems: policy_list_items })
const LabelsOrNone = Type.Array(Label, { maxItems: policy_list_items })
const OperationNames = Type.Array(OperationName, { maxItems: 100 })

/** A typing error in a rule must not become a rule that never applies: nothing else is taken. */
const config = <const P extends TProperties>(properties: P, description: string) =>
  Type.Object(
    { ...properties, description: Type.Optional(Type.String({ maxLength: 2_000 })) },
    { additionalProperties: false, description },
  )

const Criterion = Type.Object(
  {
    field: FieldName,
    operator: Type.Enum(['==', '>', '<', 'contains']),
    value: Type.Union([Type.String({ maxLength: 1_000 }), Type.Number(), Type.Boolean()]),
  },
  { additionalProperties: false },
)

const DenyIf = Type.Object(
  {
    /** Only this action; absent: every one. */
    action: Type.Optional(Label),
    params_has: Type.Array(
      Type.Object(
        {
          /** Where the list is in the parameters: names with dots between. */
          list_path: Label,
          match_all: Type.Array(Criterion, { minItems: 1, maxItems: 20 }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 20 },
    ),
  },
  { additionalProperties: false },
)

/** The one source of validation and of `policy-types`. */
export const policyConfigs = {
  rate_limit: config(
    {
      max_requests: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 600 })),
      window_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, default: 60 })),
      operations: Type.Optional(OperationNames),
    },
    'At most so many requests in any window of that length; `operations` empty: of all together',
  ),
  model_allowlist: config({ models: Labels }, 'Only these models (`model_id`)'),
  content_filter: config(
    { patterns: Patterns, check_fields: Fields(['query', 'output']) },
    'No match of a pattern, in any case of letters, in the fields',
  ),
  data_scope: config({ allowed_stores: Labels }, 'Only these stores (`store_id`)'),
  token_budget: config(
    {
      max_tokens_per_request: Type.Optional(
        Type.Integer({ minimum: 0, maximum: limits.budget_tokens, default: 10_000 }),
      ),
    },
    'At most so many tokens in a request (`tokens`)',
  ),
  hitl_required: config(
    { operations: Type.Optional(OperationNames), tools: Type.Optional(LabelsOrNone) },
    'These operations, with these tools (`tool_name`): at least one of the lists is not empty',
  ),
  pii_guard: config(
    {
      patterns: Type.Optional(Type.Array(Pattern, { maxItems: patterns_per_policy })),
      entities: Type.Optional(
        Type.Array(Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' }), { maxItems: 100 }),
      ),
      check_fields: Fields(['output']),
      redact: Type.Optional(Type.Boolean({ default: false })),
    },
    'No personal data in the fields, by recognisers (`entities`), by patterns, or both; with ' +
      '`redact` what is found is replaced before anything is stored, where the action lets it pass',
  ),
  world_model_constraint: config(
    {
      require_params: Type.Optional(LabelsOrNone),
      for_actions: Type.Optional(LabelsOrNone),
      deny_if: Type.Optional(DenyIf),
    },
    'Actions (`action`, `params`) that lack a parameter, or whose parameters hold such items',
  ),
  tool_deny: config(
    { denied_tools: Patterns },
    'None of these tools (`tool_name`): names, or patterns of whole names',
  ),
} as const satisfies Readonly<Record<PolicyType, TObject>>

export type PolicyConfig<T extends PolicyType> = Static<(typeof policyConfigs)[T]>
