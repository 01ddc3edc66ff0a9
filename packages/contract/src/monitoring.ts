// Numbers: a tenant sees its own, a platform operator all of them and the process.

import Type, { type Static } from 'typebox'
import { Nullable, Timestamp } from './common.ts'
import { operation } from './operation.ts'
import { Usage } from './tenants.ts'

/** Null for a key limited to some stores: the number is one of the tenant as a whole. */
const WholeOnly = Nullable

const Stats = Type.Object({
  status: Type.Literal('ok'),
  version: Type.String(),
  uptime_seconds: Type.Number(),
  started_at: Timestamp,
  /** Null for an operator: the numbers are those of all tenants. */
  tenant_id: Nullable(Type.String()),
  stores: Type.Object({ active: Type.Integer() }),
  memories: Type.Integer(),
  decisions: Type.Integer(),
  certificates: WholeOnly(Type.Integer()),
  log_size: WholeOnly(Type.Integer()),
  usage_this_month: WholeOnly(Usage),
  /** The same numbers under the names dashboards read. */
  metrics: Type.Object({
    available: Type.Boolean(),
    memory_operations: WholeOnly(Type.Integer()),
    decisions_logged: Type.Integer(),
    erasure_certificates: WholeOnly(Type.Integer()),
  }),
  /** Operators only. */
  tenants: Type.Optional(Type.Integer()),
  process: Type.Optional(
    Type.Object({
      rss_bytes: Type.Integer(),
      heap_used_bytes: Type.Integer(),
      engine: Type.String(),
      commits: Type.Integer(),
      units: Type.Integer(),
      queued: Type.Integer(),
    }),
  ),
})
export type Stats = Static<typeof Stats>

export const monitoring = {
  stats: operation({
    id: 'monitoring.stats',
    method: 'GET',
    path: '/v1/monitoring/stats',
    summary: 'Own numbers for a tenant, all of them for an operator',
    description:
      'A key limited to some stores is told of these only, and null where a number belongs to ' +
      'the tenant as a whole.',
    access: 'either',
    status: 200,
    reply: Stats,
    refuses: [],
  }),
} as const
