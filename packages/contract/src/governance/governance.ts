// The policy gateway: policies, their evaluation, and the log of evaluations.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  EmptyBody,
  Hex12,
  integer,
  JsonObject,
  Limit,
  Name,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { OperationName, POLICY_ACTIONS, POLICY_RESULTS, POLICY_TYPES } from './policy-configs.ts'

const Description = Type.String({ maxLength: 2_000, description: 'What the policy is for' })
const Priority = integer('Order of evaluation: lower values first', {
  minimum: -1_000_000,
  maximum: 1_000_000,
})
const PolicyAction = Type.Enum(POLICY_ACTIONS, {
  title: 'PolicyAction',
  description: 'What happens when the policy is violated',
})
const PolicyResult = Type.Enum(POLICY_RESULTS, {
  title: 'PolicyResult',
  description: 'Result of a policy for a request',
})
const PolicyType = Type.Enum([...POLICY_TYPES], {
  title: 'PolicyType',
  description: 'Type of policy; see `GET /v1/governance/policy-types`',
})

const ruleFields = {
  name: text('Name of the policy'),
  description: text('What the policy is for'),
  action: PolicyAction,
  config: about(JsonObject, 'Configuration, by the type of policy'),
  priority: integer('Order of evaluation: lower values first'),
  enabled: boolean('Whether the policy is evaluated'),
}

const policyFields = {
  policy_id: Type.String(),
  name: ruleFields.name,
  description: ruleFields.description,
  policy_type: PolicyType,
  action: ruleFields.action,
  config: ruleFields.config,
  priority: ruleFields.priority,
  enabled: ruleFields.enabled,
  created_at: Timestamp,
  updated_at: Timestamp,
  version: integer('Version of the policy, from 1'),
  changed_by: text('Id of the key that made this version'),
}

export const Policy = Type.Object(policyFields, { title: 'Policy', description: 'A policy' })
export type Policy = Static<typeof Policy>

const PolicyVersion = Type.Object({
  version: integer('Version of the policy, from 1'),
  change: Type.Enum(['created', 'updated', 'deleted'], { description: 'What changed' }),
  policy_set: integer("Number of the tenant's set of policies from this change on"),
  ...ruleFields,
  changed_at: time('When the change was made'),
  changed_by: text('Id of the key that made the change'),
})
export type PolicyVersion = Static<typeof PolicyVersion>

export const PolicyWithHistory = Type.Object({
  ...policyFields,
  deleted: boolean('Whether the policy was deleted'),
  history: Type.Array(PolicyVersion, { description: 'Up to 100 versions, newest first' }),
})

/** The result of one policy for one request. */
export const GovernanceLog = Type.Object(
  {
    log_id: Nullable(text('Id of the entry; null in a dry run, which is not logged')),
    tenant_id: Type.String(),
    policy_id: Type.String(),
    policy_name: text('Name of the policy'),
    policy_type: PolicyType,
    action: PolicyAction,
    result: PolicyResult,
    applicable: boolean('False: the policy does not concern this request'),
    reason: Nullable(text('Why it is not plainly allowed, as a stable code')),
    detail: text('The result in words; never contains a value of the context'),
    operation: text('The operation that was evaluated'),
    request_summary: text('Ids, lengths and keyed hashes of the request'),
    created_at: Timestamp,
  },
  { title: 'GovernanceLog', description: 'The result of one policy for one request' },
)
export type GovernanceLog = Static<typeof GovernanceLog>

export const Evaluation = Type.Object({
  allowed: boolean('Whether the operation may run'),
  evaluations: Type.Array(GovernanceLog, {
    description: 'One entry for each enabled policy, in the order of evaluation',
  }),
  summary: Type.Object(
    {
      total: integer('Policies evaluated'),
      allowed: integer('Policies that allow'),
      denied: integer('Policies that deny'),
      escalated: integer('Policies that ask for an approval'),
      logged: integer('Policies that are violated and only log it'),
    },
    { description: 'Number of policies by result' },
  ),
  verdict: Type.Enum(['allowed', 'denied', 'escalated'], {
    description: 'A denial takes precedence: a person cannot approve what a policy denies',
  }),
  escalated: boolean('Whether an approval is required'),
  dry_run: boolean('Whether this was a dry run'),
  evaluation_id: Nullable(text('Id of the evaluation; null in a dry run')),
  policy_set: Type.Integer(),
  logs: Type.Array(
    Type.Object({
      policy_name: text('Name of the policy'),
      policy_type: PolicyType,
      action: PolicyAction,
      result: PolicyResult,
      detail: text('The result in words'),
    }),
    { description: 'The results of `evaluations`, for clients that read them here' },
  ),
})
export type Evaluation = Static<typeof Evaluation>

const Stats = Type.Object({
  policies_total: integer('Policies'),
  policies_active: integer('Enabled policies'),
  evaluations_total: integer('Results of single policies: three policies count three times'),
  denials_total: integer('Results `denied`'),
  escalations_total: integer('Results `escalated`'),
  evaluations_by_type: Type.Record(Type.String(), Type.Integer(), {
    description: 'Results by the name of the policy: the eight most frequent, and `Other`',
  }),
  total_policies: integer('Same as `policies_total`'),
  active_policies: integer('Same as `policies_active`'),
  total_evaluations: integer('Same as `evaluations_total`'),
  denials: integer('Same as `denials_total`'),
  escalations: integer('Same as `escalations_total`'),
  evaluations_denied: integer('Same as `denials_total`'),
  evaluations_escalated: integer('Same as `escalations_total`'),
})

const PolicyParams = Type.Object({ policy_id: Hex12 })
const reading = { access: 'tenant', scope: 'governance:read', status: 200 } as const
const changing = { access: 'tenant', scope: 'governance:admin', status: 200 } as const

const optionalRule = {
  description: OptionalNullable(Description),
  action: OptionalNullable(
    about(PolicyAction, 'Default: `escalate` for `hitl_required`, otherwise `deny`'),
  ),
  config: OptionalNullable(about(JsonObject, 'Configuration, by the type of policy')),
  enabled: OptionalNullable(boolean('Whether the policy is evaluated; default: true')),
  priority: OptionalNullable(Priority),
}

export const governance = {
  stats: operation({
    ...reading,
    id: 'governance.stats',
    method: 'GET',
    path: '/v1/governance/stats',
    summary: 'Counts policies and the results of their evaluation',
    description: 'Use it to see how often policies deny or escalate.',
    reply: Stats,
    refuses: [],
  }),
  policy_types: operation({
    access: 'tenant',
    status: 200,
    id: 'governance.policy_types',
    method: 'GET',
    path: '/v1/governance/policy-types',
    summary: 'Lists the types of policies with the JSON Schema of their configurations',
    description: 'Use it before creating a policy, or to build a form for one.',
    tolerated: ['query.limit', 'query.offset'],
    reply: Type.Object({
      types: Type.Array(
        Type.Object({
          type: PolicyType,
          description: text('What the type checks'),
          config_schema: about(JsonObject, 'JSON Schema (2020-12) of the configuration'),
          actions: Type.Array(PolicyAction, { description: 'Actions the type supports' }),
          default_action: about(PolicyAction, 'Action when none is given'),
        }),
        { description: 'The types of policies' },
      ),
      operations: Type.Record(Type.String(), Type.Array(Type.String()), {
        description:
          'Context keys by operation. Policies and `evaluate` accept these names, those of ' +
          '`operation_aliases`, and names that begin with one of `operation_prefixes`.',
      }),
      operation_aliases: Type.Record(Type.String(), Type.String(), {
        description: 'Current names of operations by their earlier names',
      }),
      operation_prefixes: Type.Array(Type.String(), {
        description:
          '`worldmodel.action.` with the name of an action; `custom.` with a name of your own, ' +
          'for operations that only you evaluate',
      }),
      entities: Type.Array(Type.String(), {
        description: 'Values that `entities` of a `pii_guard` may have',
      }),
    }),
    refuses: [],
  }),
  create_policy: operation({
    ...changing,
    id: 'governance.create_policy',
    method: 'POST',
    path: '/v1/governance/policies',
    summary: 'Creates a policy, which applies to the next request on every process',
    description: 'Use it to restrict what agents may do.',
    body: Type.Object({
      name: about(Name, 'Name of the policy'),
      policy_type: PolicyType,
      ...optionalRule,
    }),
    example: {
      name: 'Small models',
      policy_type: 'model_allowlist',
      config: { models: ['model-a'] },
      enabled: false,
    },
    reply: Policy,
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_policies: operation({
    ...reading,
    id: 'governance.list_policies',
    method: 'GET',
    path: '/v1/governance/policies',
    summary: 'Lists policies in the order of evaluation',
    description: 'Use it to review which policies apply.',
    query: Type.Object({
      enabled_only: Type.Optional(
        Type.Boolean({ default: false, description: 'Returns only enabled policies' }),
      ),
      limit: Limit(limits.policies_page),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: page('policies', Policy),
    refuses: ['rejected'],
  }),
  get_policy: operation({
    ...reading,
    id: 'governance.get_policy',
    method: 'GET',
    path: '/v1/governance/policies/{policy_id}',
    summary: 'Returns a policy with its versions',
    description: 'Use it to see who changed a policy and when.',
    params: PolicyParams,
    query: Type.Object({
      include_deleted: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Also returns a deleted policy, in its last version',
        }),
      ),
    }),
    reply: PolicyWithHistory,
    refuses: ['policy_not_found'],
  }),
  update_policy: operation({
    ...changing,
    id: 'governance.update_policy',
    method: 'PUT',
    path: '/v1/governance/policies/{policy_id}',
    summary: 'Changes a policy and adds a version',
    description:
      'Use it to adjust or disable a policy. Fields that are absent or null stay the same; the ' +
      'type cannot be changed.',
    params: PolicyParams,
    body: Type.Object({
      name: OptionalNullable(about(Name, 'Name of the policy')),
      description: OptionalNullable(Description),
      action: OptionalNullable(about(PolicyAction, 'What happens when the policy is violated')),
      config: OptionalNullable(about(JsonObject, 'Configuration, by the type of policy')),
      enabled: OptionalNullable(boolean('Whether the policy is evaluated')),
      priority: OptionalNullable(Priority),
    }),
    example: { priority: 7 },
    reply: Policy,
    refuses: ['policy_not_found'],
  }),
  delete_policy: operation({
    ...changing,
    id: 'governance.delete_policy',
    method: 'DELETE',
    path: '/v1/governance/policies/{policy_id}',
    summary: 'Deletes a policy; its versions remain readable',
    description: 'Use it when a policy should no longer apply.',
    params: PolicyParams,
    reply: Type.Object({
      deleted: boolean('Always true'),
      policy_id: Type.String(),
    }),
    refuses: ['policy_not_found'],
  }),
  evaluate: operation({
    ...reading,
    id: 'governance.evaluate',
    method: 'POST',
    path: '/v1/governance/evaluate',
    summary: 'Evaluates every enabled policy for an operation and says whether it may run',
    description:
      'Use it before an agent does something outside the service, such as calling a tool. The ' +
      'result is logged and counts towards rate limits unless `dry_run` is true; an operation ' +
      'that the service gates itself, such as `memory.write`, counts only there. Unknown names ' +
      'are refused: name an operation of your own `custom.<name>`. Of the context, only ids, ' +
      'lengths and keyed hashes are stored.',
    body: Type.Object({
      operation: OperationName,
      context: OptionalNullable(about(JsonObject, 'What policies read; see `operations`')),
      dry_run: OptionalNullable(boolean('Evaluates without logging or counting')),
    }),
    example: { operation: 'inference', context: { model_id: 'model-a', query: 'Where is home?' } },
    reply: Evaluation,
    refuses: ['idempotency_key_reused'],
    idempotent: true,
  }),
  seed_defaults: operation({
    ...changing,
    id: 'governance.seed_defaults',
    method: 'POST',
    path: '/v1/governance/seed-defaults',
    summary: 'Creates the default policies that do not exist yet, all or none',
    description: 'Use it to start with a reasonable set of policies.',
    body: EmptyBody,
    body_optional: true,
    example: {},
    reply: Type.Object({ seeded: integer('Policies that were created') }),
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  logs: operation({
    ...reading,
    id: 'governance.logs',
    method: 'GET',
    path: '/v1/governance/logs',
    summary: 'Lists results of policies, newest first',
    description: 'Use it to find out why an operation was denied.',
    query: Type.Object({
      policy_id: Type.Optional(about(Hex12, 'Returns only results of this policy')),
      result: Type.Optional(about(PolicyResult, 'Returns only this result')),
      limit: Limit(limits.governance_logs_page),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: page('logs', GovernanceLog),
    refuses: ['rejected'],
  }),
} as const
