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
} from '../core/common.ts'
import { operation } from '../core/operation.ts'
import { NewApiKey } from './keys.ts'

export const PLANS = ['starter', 'pro', 'enterprise'] as const
/** The plans that an operator can give a tenant. */
export type PlanName = (typeof PLANS)[number]

const PlanText = Type.Enum(PLANS, { title: 'PlanName', description: 'Plan of the tenant' })

/** Limits of a plan; `null` means no limit. */
const PlanLimits = Type.Object(
  {
    max_memories: Nullable(integer('Memories, replaced versions included; null: no limit')),
    max_stores: Nullable(integer('Stores; null: no limit')),
    max_requests_per_minute: Nullable(integer('Requests per minute; null: no limit')),
    max_governed_decisions: Nullable(integer('Governed decisions a month; null: no limit')),
  },
  { title: 'PlanLimits', description: 'Limits of the plan' },
)

/** A limit that an operator sets for one tenant in place of the plan's. */
const limitOverride = (description: string) =>
  Type.Optional(Nullable(Type.Integer({ minimum: 0, description })))

const PlanOverrides = Type.Object(
  {
    memories: limitOverride('Memories; null: no limit'),
    stores: limitOverride('Stores; null: no limit'),
    requests_per_minute: limitOverride('Requests per minute; null: no limit'),
    governed_decisions: Type.Optional(
      Type.Object(
        {
          included: limitOverride('Included in the plan; null: not stated'),
          ceiling: limitOverride('Where logging ends; null: nowhere'),
        },
        { description: 'Governed decisions a month' },
      ),
    ),
    model_tokens: limitOverride('Tokens of managed runs in a calendar month; null: no limit'),
    runs: limitOverride('Runs of agents at once; null: no limit'),
    webhooks: limitOverride('Endpoints of webhooks; null: no limit'),
    streams: limitOverride('Event streams at once; null: no limit'),
    until: Type.Optional(Nullable(time('When the limits of the plan hold again; null: never'))),
  },
  { title: 'PlanOverrides', description: 'Limits that replace those of the plan' },
)

const TenantStatus = Type.Enum(['active', 'moved', 'destroyed'], {
  title: 'TenantStatus',
  description:
    '`moved` when another cluster serves it, `destroyed` from the moment its off-boarding began',
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

/** The reply to creating a tenant, the only one that shows the tenant's first key. */
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

/** Usage per calendar month in UTC. Writes are exact; reads are counted within a few seconds. */
export const Usage = Type.Object(counters, {
  title: 'Usage',
  description: 'Usage in one calendar month (UTC): writes exact, reads within a few seconds',
})
export type Usage = Static<typeof Usage>

const UsagePeriod = Type.Union(
  [
    Type.Enum(['current_month', 'previous_month', 'current_period']),
    Type.String({ pattern: '^(19[7-9][0-9]|2[0-9]{3})-(0[1-9]|1[0-2])$' }),
  ],
  {
    title: 'UsagePeriod',
    description:
      'A calendar month (UTC), by name or as `YYYY-MM`; `current_period` is the current month: ' +
      'operations are counted by month',
  },
)

const QuotaUse = Type.Object(
  {
    quota: text('What is limited'),
    limit: integer('The limit'),
    used: integer('How much of it is used'),
  },
  { title: 'QuotaUse', description: 'A limit of the plan and its use' },
)

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
      start: time('Start of the period'),
      end: time('End of the period, not included'),
      source: Type.Enum(['subscription', 'calendar_month'], {
        description: 'How the period is defined',
      }),
    },
    { description: 'The period that is counted' },
  ),
  governed_decisions: integer('Decisions and judgments on the audit log in the period'),
  breakdown: Type.Object(
    {
      logged: integer('Decisions that agents logged'),
      certify: integer('Judgments that certify'),
      reject: integer('Judgments that reject'),
    },
    { description: 'Governed decisions by kind' },
  ),
  included_allotment: Nullable(integer('Governed decisions the plan includes; null: not stated')),
  included_allotment_is_placeholder: boolean('Always false'),
  is_placeholder: boolean('Always false'),
  pct_used: Nullable(
    Type.Number({ description: 'Used of `included_allotment`, in percent; null: none is stated' }),
  ),
  state: Type.Enum(['normal', 'approaching', 'at_or_over'], {
    description: '`approaching` from 80 % of `included_allotment` on',
  }),
  metered_enabled: boolean('Whether use beyond the plan is billed'),
  limits: Type.Array(QuotaUse, { description: 'The limits of the plan with their use' }),
  log_seq: Nullable(integer('Position of the newest log entry that is counted; null: none')),
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
      plan: Type.Optional({ ...PlanText, default: 'starter' }),
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
  update: operation({
    id: 'tenants.update',
    method: 'PUT',
    path: '/v1/cloud/tenants/{tenant_id}',
    summary: 'Changes the name, the plan or the limits of a tenant',
    description:
      'Use it when a tenant changes its plan, or needs more for a while. Absent fields stay; ' +
      '`overrides: null` restores the limits of the plan.',
    access: 'operator',
    params: TenantParams,
    body: Type.Object({
      name: Type.Optional(about(Name, 'Name of the tenant')),
      plan: Type.Optional(PlanText),
      overrides: Type.Optional(
        about(Nullable(PlanOverrides), 'Limits that replace those of the plan; null: none do'),
      ),
    }),
    example: { plan: 'pro', overrides: { stores: 80 } },
    status: 200,
    reply: Tenant,
    refuses: ['tenant_not_found', 'tenant_destroyed', 'wrong_state'],
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
    summary: "Returns a tenant's operations and bytes of one period",
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
    summary: 'Returns the usage of the calling tenant in the current period',
    description: 'Use it to show a tenant its own usage.',
    access: 'tenant',
    scope: 'decisions:read',
    status: 200,
    reply: CurrentUsage,
    refuses: ['tenant_not_found'],
  }),
} as const
