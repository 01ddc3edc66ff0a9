// Policy types with the schemas of their configurations, and the context keys of operations.

import Type, { type Static, type TObject, type TProperties } from 'typebox'
import { Label, label } from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { TOOL_EFFECTS } from '../orchestrator/orchestrator-records.ts'

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
 * The context keys of each operation. A policy that reads one of them denies when it is missing.
 * For any other operation a policy reads the keys that are present and ignores the rest.
 */
export const OPERATION_KEYS = {
  inference: ['model_id', 'query'],
  tool_execution: ['tool_name'],
  output_check: ['output'],
  'memory.write': ['store_id', 'content'],
  'memory.retrieve': ['store_id', 'query'],
  'memory.delete': ['store_id', 'ref'],
  'decisions.log': ['store_id', 'model_id', 'query', 'output'],
  'landing.issue': ['artifact_ref', 'authority'],
  'artifacts.register': ['artifact_ref', 'base_model_ref'],
  'world_model.register_type': ['kind', 'name'],
  'world_model.invoke': ['action'],
  'provenance.register': ['name', 'sources'],
  'compositions.compose': ['kind', 'members', 'target'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type KnownOperation = keyof typeof OPERATION_KEYS
export const KNOWN_OPERATIONS = Object.keys(OPERATION_KEYS)

/** Earlier names of operations, accepted on input. The log and stored policies contain them too. */
export const OPERATION_ALIASES = {
  'decision.log': 'decisions.log',
  'artifact.register': 'artifacts.register',
  'worldmodel.type.register': 'world_model.register_type',
  'provenance.seal': 'provenance.register',
  'composition.govern': 'compositions.compose',
} as const satisfies Readonly<Record<string, KnownOperation>>

/** Prefix of the operation name of an action, which a world-model type fixes. */
export const ACTION_PREFIX = 'worldmodel.action.'
/** The operation that stands for every action, whatever its own operation name is. */
export const INVOKE: KnownOperation = 'world_model.invoke'
/** Prefix of the tenant's own operation names, for `evaluate`. */
export const CUSTOM_PREFIX = 'custom.'

/** The name of an operation. The log stores the names above in clear text and hashes others. */
export const OperationName = Type.String({
  title: 'OperationName',
  pattern: '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$',
  description:
    'Name of an operation: one of `operations` of `GET /v1/governance/policy-types`, ' +
    '`worldmodel.action.<name>` of an action, or a name of your own that begins with `custom.`',
})

/** The fields that policies search if their configuration names none. */
export const CHECK_FIELDS = {
  content_filter: ['query', 'output', 'content', 'metadata'],
  pii_guard: ['output', 'content', 'metadata'],
} as const

const { patterns_per_policy, policy_list_items } = limits
const Pattern = label({ maxLength: limits.pattern_chars })
const Patterns = Type.Array(Pattern, { minItems: 1, maxItems: patterns_per_policy })
const FieldName = label({ maxLength: 64 })
const Fields = (fallback: readonly string[]) =>
  Type.Optional(Type.Array(FieldName, { minItems: 1, maxItems: 20, default: [...fallback] }))
const Labels = Type.Array(Label, { minItems: 1, maxItems: policy_list_items })
const LabelsOrNone = Type.Array(Label, { maxItems: policy_list_items })
const OperationNames = Type.Array(OperationName, { maxItems: 100 })

/** A closed schema, so that a misspelt field is refused and not a rule that never applies. */
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
    /** The action that the rule applies to; default: every action. */
    action: Type.Optional(Label),
    params_has: Type.Array(
      Type.Object(
        {
          /** Path of the list within the parameters, with dots between names. */
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

/** Schemas that validate configurations. `policy-types` publishes them. */
export const policyConfigs = {
  rate_limit: config(
    {
      max_requests: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 600 })),
      window_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, default: 60 })),
      operations: Type.Optional(OperationNames),
    },
    'Limits requests in any window of `window_seconds`; without `operations` all requests count',
  ),
  model_allowlist: config({ models: Labels }, 'Allows only these models (`model_id`)'),
  content_filter: config(
    { patterns: Patterns, check_fields: Fields(CHECK_FIELDS.content_filter) },
    'Forbids matches of the patterns in the fields, ignoring case',
  ),
  data_scope: config({ allowed_stores: Labels }, 'Allows only these stores (`store_id`)'),
  token_budget: config(
    {
      max_tokens_per_request: Type.Optional(
        Type.Integer({ minimum: 0, maximum: limits.budget_tokens, default: 10_000 }),
      ),
    },
    'Limits the tokens of a request (`tokens`)',
  ),
  hitl_required: config(
    {
      operations: Type.Optional(OperationNames),
      tools: Type.Optional(LabelsOrNone),
      effects: Type.Optional(Type.Array(Type.Enum(TOOL_EFFECTS), { maxItems: 3 })),
      origins: Type.Optional(LabelsOrNone),
    },
    'Requires an approval for these operations or tools (`tool_name`); one must be named; ' +
      'with `effects` and `origins` only for tools of these effects (`effect`) and where the ' +
      'context has one of these origins (`context_origins`; `tool:*` is any tool)',
  ),
  pii_guard: config(
    {
      patterns: Type.Optional(Type.Array(Pattern, { maxItems: patterns_per_policy })),
      entities: Type.Optional(
        Type.Array(Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' }), { maxItems: 100 }),
      ),
      check_fields: Fields(CHECK_FIELDS.pii_guard),
      redact: Type.Optional(Type.Boolean({ default: false })),
    },
    'Forbids personal data in the fields, found by recognisers (`entities`), patterns or both; ' +
      'with `redact` it is replaced before anything is stored, where the action allows the request',
  ),
  world_model_constraint: config(
    {
      require_params: Type.Optional(LabelsOrNone),
      for_actions: Type.Optional(LabelsOrNone),
      deny_if: Type.Optional(DenyIf),
    },
    'Forbids actions (`action`, `params`) that lack a parameter or have some that match `deny_if`',
  ),
  tool_deny: config(
    { denied_tools: Patterns },
    'Forbids these tools (`tool_name`), given as names or as patterns of whole names',
  ),
} as const satisfies Readonly<Record<PolicyType, TObject>>

export type PolicyConfig<T extends PolicyType> = Static<(typeof policyConfigs)[T]>
