// Tenants and their usage (interface 4.2).

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  integer,
  Name,
  Nullable,
  TenantParams,
  Timestamp,
  text,
  time,
} from './common.ts'
import { NewApiKey } from './keys.ts'
import { operation } from './operation.ts'

export const PLANS = ['starter', 'pro', 'enterprise'] as const

/** `null`: no limit. No plan limit is enforced until billing exists. */
const PlanLimits = Type.Object(
  {
    max_memories: Nullable(integer('Memories; null: no limit')),
    max_stores: Nullable(integer('Stores; null: no limit')),
    max_requests_per_minute: Nullable(integer('Requests per minute; null: no limit')),
  },
  { title: 'PlanLimits', description: 'Limits of the plan' },
)

const TenantStatus = Type.Enum(['active', 'destroyed'], {
  title: 'TenantStatus',
  description: '`destroyed` from the moment its off-boarding began',
})

const tenantFields = {
  tenant_id: Type.String(),
  id: text('Same as `tenant_id`'),
  name: text('Name of the tenant'),
  plan: text('Plan of the tenant'),
  created_at: Timestamp,
  status: TenantStatus,
  destroyed_at: Nullable(time('When the keys of the tenant were destroyed')),
  limits: PlanLimits,
}

export const Tenant = Type.Object(tenantFields, { title: 'Tenant', description: 'A tenant' })
export type Tenant = Static<typeof Tenant>

/** The only body that shows a tenant's first key. */
const TenantCreated = Type.Object({ ...tenantFields, api_key: NewApiKey })

const RotatedKey = Type.Object({
  tenant_id: Type.String(),
  key_id: text('Id of the new key'),
  api_key: NewApiKey,
  new_api_key: about(NewApiKey, 'Same as `api_key`'),
  revoked: integer('Number of keys that were revoked'),
})

const counters = {
  writes: integer('Operations that write or erase'),
  reads: integer('Operations that read'),
  deletes: integer('Memories erased and decisions redacted, without self-tests'),
  supersedes: integer('Operations that supersede'),
  total_bytes: integer('Bytes written'),
  total_operations: integer('Operations of all kinds'),
  operations: Type.Record(Type.String(), Type.Integer(), {
    description: 'Calls by operation id',
  }),
}

/** Counted by calendar month in UTC; writes exactly, reads within a few seconds. */
export const Usage = Type.Object(counters, {
  title: 'Usage',
  description: 'Usage in one calendar month (UTC): writes exact, reads within a few seconds',
})
export type Usage = Static<typeof Usage>

const UsagePeriod = Type.Enum(['current_month', 'previous_month'], {
  title: 'UsagePeriod',
  description: 'A calendar month (UTC)',
})

const UsageSummary = Type.Object({
  tenant_id: Type.String(),
  period: UsagePeriod,
  period_start: Timestamp,
  period_end: Timestamp,
  ...counters,
})

const CurrentUsage = Type.Object({
  plan: text('Plan of the tenant'),
  period: Type.Object(
    {
      start: time('Start of the month'),
      end: time('End of the month, not included'),
      source: Type.Literal('calendar_month', { description: 'How the period is defined' }),
    },
    { description: 'The period that is counted' },
  ),
  governed_decisions: integer('Decisions logged in the period'),
  breakdown: Type.Object(
    {
      certify: integer('Always 0'),
      reject: integer('Always 0'),
    },
    { description: 'Decisions by judgment' },
  ),
  included_allotment: Type.Null({ description: 'Always null: no plan limit is enforced' }),
  included_allotment_is_placeholder: boolean('Always false'),
  is_placeholder: boolean('Always false'),
  pct_used: Type.Null({ description: 'Always null: no plan limit is enforced' }),
  state: Type.Literal('normal', { description: 'Always `normal`' }),
  metered_enabled: boolean('Always false: usage is not billed'),
  ...counters,
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
    summary: 'Creates a tenant with its first API key',
    description: 'Use it to onboard a customer. The reply is the only place that shows the key.',
    access: 'operator',
    body: Type.Object({
      name: Type.Optional(about(Name, 'Name of the tenant')),
      plan: Type.Optional(
        Type.Enum(PLANS, { default: 'starter', description: 'Plan of the tenant' }),
      ),
    }),
    body_optional: true,
    example: { name: 'Another', plan: 'pro' },
    status: 201,
    reply: TenantCreated,
    refuses: ['idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    id: 'tenants.list',
    method: 'GET',
    path: '/v1/cloud/tenants',
    summary: 'Lists every tenant, oldest first, as a plain array',
    description: 'Use it to administer the service.',
    access: 'operator',
    status: 200,
    reply: Type.Array(Tenant),
    refuses: [],
  }),
  get: operation({
    ...ofOne,
    id: 'tenants.get',
    path: '/v1/cloud/tenants/{tenant_id}',
    summary: 'Returns one tenant',
    description: 'Use it to read the plan and the status of a tenant.',
    reply: Tenant,
  }),
  rotate_key: operation({
    ...ofOne,
    id: 'tenants.rotate_key',
    method: 'POST',
    path: '/v1/cloud/tenants/{tenant_id}/rotate-key',
    summary: "Revokes the tenant's keys and issues a new one",
    description:
      'Use it on a schedule, or when a key may have leaked. For an operator, or a tenant key ' +
      'without restrictions, it replaces every key of class `tenant`; keys of other classes stay ' +
      'valid. A key with any restriction replaces only itself, with the same class, scopes, ' +
      'stores, trust tier and expiry. The replaced key cannot repeat the request: only an ' +
      'operator or another key sees the replayed reply.',
    scope: 'keys:admin',
    reply: RotatedKey,
    refuses: ['tenant_not_found', 'tenant_destroyed', 'idempotency_key_reused'],
    idempotent: true,
  }),
  usage: operation({
    ...ofOne,
    id: 'tenants.usage',
    path: '/v1/cloud/tenants/{tenant_id}/usage',
    summary: "Returns a tenant's operations and bytes of one calendar month (UTC)",
    description: 'Use it for reporting by operators or by the tenant itself.',
    query: Type.Object({
      period: Type.Optional(
        about({ ...UsagePeriod, default: 'current_month' }, 'The month to return'),
      ),
    }),
    reply: UsageSummary,
  }),
  current_usage: operation({
    id: 'tenants.current_usage',
    method: 'GET',
    path: '/v1/usage/current',
    summary: 'Returns the usage of the calling tenant in the current calendar month',
    description: 'Use it to show a tenant its own usage.',
    access: 'tenant',
    scope: 'decisions:read',
    status: 200,
    reply: CurrentUsage,
    refuses: ['tenant_not_found'],
  }),
} as const
