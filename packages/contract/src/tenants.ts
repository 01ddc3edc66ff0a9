// Tenants and their usage (interface 4.2, parts 5 and 8 of the notes on tenancy).

import Type, { type Static } from 'typebox'
import { Label, Nullable, Timestamp } from './common.ts'
import { ShownOnce } from './keys.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

export const PLANS = ['starter', 'pro', 'enterprise'] as const

/** `null` = none: no plan limit is enforced until billing exists. */
const PlanLimits = Type.Object({
  max_memories: Nullable(Type.Integer()),
  max_stores: Nullable(Type.Integer()),
  max_requests_per_minute: Nullable(Type.Integer()),
})

const tenantFields = {
  tenant_id: Type.String(),
  /** The same as `tenant_id`. */
  id: Type.String(),
  name: Type.String(),
  plan: Type.String(),
  created_at: Timestamp,
  /** `destroyed` from the moment its off-boarding began. */
  status: Type.Enum(['active', 'destroyed']),
  destroyed_at: Nullable(Timestamp),
  limits: PlanLimits,
}

export const Tenant = Type.Object(tenantFields)
export type Tenant = Static<typeof Tenant>

/** The only body that shows a tenant's first key. */
const TenantCreated = Type.Object({ ...tenantFields, api_key: ShownOnce })

const RotatedKey = Type.Object({
  tenant_id: Type.String(),
  key_id: Type.String(),
  api_key: ShownOnce,
  /** The same as `api_key`. */
  new_api_key: ShownOnce,
  revoked: Type.Integer(),
})

const counters = {
  writes: Type.Integer(),
  reads: Type.Integer(),
  deletes: Type.Integer(),
  supersedes: Type.Integer(),
  total_bytes: Type.Integer(),
  total_operations: Type.Integer(),
  /** Calls by operation id. */
  operations: Type.Record(Type.String(), Type.Integer()),
}

/** Counted in UTC calendar months; writes exactly, reads within a few seconds. */
export const Usage = Type.Object(counters)
export type Usage = Static<typeof Usage>

const UsageSummary = Type.Object({
  tenant_id: Type.String(),
  period: Type.Enum(['current_month', 'previous_month']),
  period_start: Timestamp,
  period_end: Timestamp,
  ...counters,
})

const CurrentUsage = Type.Object({
  plan: Type.String(),
  period: Type.Object({
    start: Timestamp,
    end: Timestamp,
    source: Type.Literal('calendar_month'),
  }),
  /** Decisions logged in the period. */
  governed_decisions: Type.Integer(),
  breakdown: Type.Object({ certify: Type.Integer(), reject: Type.Integer() }),
  included_allotment: Type.Null(),
  included_allotment_is_placeholder: Type.Boolean(),
  is_placeholder: Type.Boolean(),
  pct_used: Type.Null(),
  state: Type.Literal('normal'),
  metered_enabled: Type.Boolean(),
  ...counters,
})

const TenantParams = Type.Object({
  tenant_id: Type.String({ minLength: 1, maxLength: limits.label_chars, examples: ['local'] }),
})

const ofOne = {
  method: 'GET',
  access: 'operator_or_self',
  params: TenantParams,
  status: 200,
  refuses: ['tenant_not_found'],
} as const

export const tenants = {
  create: operation({
    id: 'tenants.create',
    method: 'POST',
    path: '/v1/cloud/tenants',
    summary: 'Creates a tenant; the answer is the only place that shows its key',
    access: 'operator',
    body: Type.Object({
      name: Type.Optional(Type.String({ ...Label, maxLength: limits.name_chars })),
      plan: Type.Optional(Type.Enum(PLANS, { default: 'starter' })),
    }),
    body_optional: true,
    status: 201,
    reply: TenantCreated,
    refuses: ['idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    id: 'tenants.list',
    method: 'GET',
    path: '/v1/cloud/tenants',
    summary: 'Every tenant, oldest first, as a bare array',
    access: 'operator',
    status: 200,
    reply: Type.Array(Tenant),
    refuses: [],
  }),
  get: operation({
    ...ofOne,
    id: 'tenants.get',
    path: '/v1/cloud/tenants/{tenant_id}',
    summary: 'One tenant',
    reply: Tenant,
  }),
  rotate_key: operation({
    ...ofOne,
    id: 'tenants.rotate_key',
    method: 'POST',
    path: '/v1/cloud/tenants/{tenant_id}/rotate-key',
    summary: 'Revokes the tenant keys at once and issues a new one',
    description:
      'An operator, or a tenant key without restrictions, replaces every key of class `tenant`; ' +
      'scoped keys of other classes stay valid. A restricted key replaces only itself, with the ' +
      'same class, scopes, stores and expiry. A tenant whose own key was replaced cannot ask ' +
      'again with it: only an operator, or another key, sees a replayed answer.',
    scope: 'keys:admin',
    reply: RotatedKey,
    refuses: ['tenant_not_found', 'tenant_destroyed', 'idempotency_key_reused'],
    idempotent: true,
  }),
  usage: operation({
    ...ofOne,
    id: 'tenants.usage',
    path: '/v1/cloud/tenants/{tenant_id}/usage',
    summary: 'Operations and bytes of a calendar month (UTC)',
    query: Type.Object({
      period: Type.Optional(
        Type.Enum(['current_month', 'previous_month'], { default: 'current_month' }),
      ),
    }),
    reply: UsageSummary,
  }),
  current_usage: operation({
    id: 'tenants.current_usage',
    method: 'GET',
    path: '/v1/usage/current',
    summary: 'The usage of the calling tenant in the current calendar month',
    access: 'tenant',
    scope: 'decisions:read',
    status: 200,
    reply: CurrentUsage,
    refuses: ['tenant_not_found'],
  }),
} as const
