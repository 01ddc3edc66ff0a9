// The policy gateway: policies, what an evaluation answers, and its log.

import Type, { type Static } from 'typebox'
import { Cursor, JsonObject, Label, Limit, Nullable, Offset, page, Timestamp } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { OperationName, POLICY_ACTIONS, POLICY_RESULTS, POLICY_TYPES } from './policy-configs.ts'

const PolicyId = Type.String({ pattern: '^[0-9a-f]{24}$' })
const Name = Type.String({ ...Label, maxLength: limits.name_chars })
const Description = Type.String({ maxLength: 2_000 })
const Priority = Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })
const Action = Type.Enum(POLICY_ACTIONS)
const TypeName = Type.Enum([...POLICY_TYPES])

const policyFields = {
  policy_id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  policy_type: TypeName,
  action: Action,
  config: JsonObject,
  priority: Type.Integer(),
  enabled: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  /** 1 as created; every change is another. */
  version: Type.Integer(),
  /** Id of the key that made this version. */
  changed_by: Type.String(),
}

export const Policy = Type.Object(policyFields)
export type Policy = Static<typeof Policy>

const PolicyVersion = Type.Object({
  version: Type.Integer(),
  change: Type.Enum(['created', 'updated', 'deleted']),
  /** The tenant's policies as a whole have this number from this change on. */
  policy_set: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  action: Action,
  config: JsonObject,
  priority: Type.Integer(),
  enabled: Type.Boolean(),
  changed_at: Timestamp,
  changed_by: Type.String(),
})
export type PolicyVersion = Static<typeof PolicyVersion>

export const PolicyWithHistory = Type.Object({
  ...policyFields,
  deleted: Type.Boolean(),
  /** Newest first, 100 at most. */
  history: Type.Array(PolicyVersion),
})

const outcomeFields = {
  policy_id: Type.String(),
  policy_name: Type.String(),
  policy_type: TypeName,
  action: Action,
  result: Type.Enum(POLICY_RESULTS),
  /** False: the policy does not concern this request. */
  applicable: Type.Boolean(),
  /** A stable code of why it is not plainly allowed. */
  reason: Nullable(Type.String()),
  /** For people; never holds a value of the context. */
  detail: Type.String(),
}

/** What one policy said to one request. */
export const GovernanceLog = Type.Object({
  /** Null in a dry run: nothing is kept of it. */
  log_id: Nullable(Type.String()),
  tenant_id: Type.String(),
  ...outcomeFields,
  operation: Type.String(),
  request_summary: Type.String(),
  created_at: Timestamp,
})
export type GovernanceLog = Static<typeof GovernanceLog>

const Summary = Type.Object({
  total: Type.Integer(),
  allowed: Type.Integer(),
  denied: Type.Integer(),
  escalated: Type.Integer(),
  logged: Type.Integer(),
})

export const Evaluation = Type.Object({
  allowed: Type.Boolean(),
  /** One for each enabled policy, in the order of their priority. */
  evaluations: Type.Array(GovernanceLog),
  summary: Summary,
  /** Denied before escalated: a person cannot approve what a policy denies. */
  verdict: Type.Enum(['allowed', 'denied', 'escalated']),
  escalated: Type.Boolean(),
  dry_run: Type.Boolean(),
  evaluation_id: Nullable(Type.String()),
  policy_set: Type.Integer(),
  /** The same outcomes for clients that read them here. */
  logs: Type.Array(
    Type.Object({
      policy_name: Type.String(),
      policy_type: TypeName,
      action: Action,
      result: Type.Enum(POLICY_RESULTS),
      detail: Type.String(),
    }),
  ),
})
export type Evaluation = Static<typeof Evaluation>

const Stats = Type.Object({
  policies_total: Type.Integer(),
  policies_active: Type.Integer(),
  /** Outcomes of single policies: an evaluation under three policies counts three. */
  evaluations_total: Type.Integer(),
  denials_total: Type.Integer(),
  escalations_total: Type.Integer(),
  /** By the name of the policy: the eight most, and `Other`. */
  evaluations_by_type: Type.Record(Type.String(), Type.Integer()),
  /** The same numbers under the names that other clients read. */
  total_policies: Type.Integer(),
  active_policies: Type.Integer(),
  total_evaluations: Type.Integer(),
  denials: Type.Integer(),
  escalations: Type.Integer(),
  evaluations_denied: Type.Integer(),
  evaluations_escalated: Type.Integer(),
})

const PolicyParams = Type.Object({ policy_id: PolicyId })
const reading = { access: 'tenant', scope: 'governance:read', status: 200 } as const
const changing = { access: 'tenant', scope: 'governance:admin', status: 200 } as const

export const governance = {
  stats: operation({
    ...reading,
    id: 'governance.stats',
    method: 'GET',
    path: '/v1/governance/stats',
    summary: 'How many policies there are and what they have said',
    reply: Stats,
    refuses: [],
  }),
  policy_types: operation({
    access: 'tenant',
    status: 200,
    id: 'governance.policy_types',
    method: 'GET',
    path: '/v1/governance/policy-types',
    summary: 'The types of policies with the JSON Schema of their configurations',
    reply: Type.Object({
      types: Type.Array(
        Type.Object({
          type: TypeName,
          description: Type.String(),
          /** JSON Schema 2020-12. */
          config_schema: JsonObject,
          actions: Type.Array(Action),
          default_action: Action,
        }),
      ),
      /** The context keys each known operation carries. */
      operations: Type.Record(Type.String(), Type.Array(Type.String())),
      /** What `entities` of a pii_guard may name. */
      entities: Type.Array(Type.String()),
    }),
    refuses: [],
  }),
  create_policy: operation({
    ...changing,
    id: 'governance.create_policy',
    method: 'POST',
    path: '/v1/governance/policies',
    summary: 'Makes a policy; it holds for the next request on every process',
    body: Type.Object({
      name: Name,
      policy_type: TypeName,
      description: Type.Optional(Nullable(Description)),
      /** Default: `escalate` for hitl_required, otherwise `deny`. */
      action: Type.Optional(Nullable(Action)),
      config: Type.Optional(Nullable(JsonObject)),
      enabled: Type.Optional(Nullable(Type.Boolean())),
      priority: Type.Optional(Nullable(Priority)),
    }),
    reply: Policy,
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_policies: operation({
    ...reading,
    id: 'governance.list_policies',
    method: 'GET',
    path: '/v1/governance/policies',
    summary: 'The policies in the order they are evaluated in',
    query: Type.Object({
      enabled_only: Type.Optional(Type.Boolean({ default: false })),
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
    summary: 'A policy with its versions',
    params: PolicyParams,
    query: Type.Object({
      /** Also one that was deleted, as it last was. */
      include_deleted: Type.Optional(Type.Boolean({ default: false })),
    }),
    reply: PolicyWithHistory,
    refuses: ['policy_not_found'],
  }),
  update_policy: operation({
    ...changing,
    id: 'governance.update_policy',
    method: 'PUT',
    path: '/v1/governance/policies/{policy_id}',
    summary: 'Changes a policy: what is absent or null stays; the type cannot change',
    params: PolicyParams,
    body: Type.Object({
      name: Type.Optional(Nullable(Name)),
      description: Type.Optional(Nullable(Description)),
      action: Type.Optional(Nullable(Action)),
      config: Type.Optional(Nullable(JsonObject)),
      enabled: Type.Optional(Nullable(Type.Boolean())),
      priority: Type.Optional(Nullable(Priority)),
    }),
    reply: Policy,
    refuses: ['policy_not_found'],
  }),
  delete_policy: operation({
    ...changing,
    id: 'governance.delete_policy',
    method: 'DELETE',
    path: '/v1/governance/policies/{policy_id}',
    summary: 'Takes a policy out of force; its versions are kept for the log',
    params: PolicyParams,
    reply: Type.Object({ deleted: Type.Boolean(), policy_id: Type.String() }),
    refuses: ['policy_not_found'],
  }),
  evaluate: operation({
    ...reading,
    id: 'governance.evaluate',
    method: 'POST',
    path: '/v1/governance/evaluate',
    summary: 'What every enabled policy says to an operation, and whether it may run',
    description:
      'Kept in the log and counted towards rate limits, unless `dry_run` is true; an operation ' +
      'that has a gate of its own, such as `memory.write`, counts there alone. The context is ' +
      'never kept: ids, lengths and keyed hashes only.',
    body: Type.Object({
      operation: OperationName,
      context: Type.Optional(Nullable(JsonObject)),
      dry_run: Type.Optional(Nullable(Type.Boolean())),
    }),
    reply: Evaluation,
    refuses: ['idempotency_key_reused'],
    idempotent: true,
  }),
  seed_defaults: operation({
    ...changing,
    id: 'governance.seed_defaults',
    method: 'POST',
    path: '/v1/governance/seed-defaults',
    summary: 'Makes those of the default policies that are not there; all or none',
    body: Type.Object({}),
    body_optional: true,
    reply: Type.Object({ seeded: Type.Integer() }),
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  logs: operation({
    ...reading,
    id: 'governance.logs',
    method: 'GET',
    path: '/v1/governance/logs',
    summary: 'What policies said to requests, newest first',
    query: Type.Object({
      policy_id: Type.Optional(PolicyId),
      result: Type.Optional(Type.Enum(POLICY_RESULTS)),
      limit: Limit(limits.governance_logs_page),
      offset: Offset,
      /** The `next_cursor` of the page before; it replaces `offset`. */
      cursor: Cursor,
    }),
    reply: page('logs', GovernanceLog),
    refuses: ['rejected'],
  }),
} as const
