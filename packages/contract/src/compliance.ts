// Compliance (interface 4.2): what the conformance suite measured of each tenant, and its badge.

import Type, { type Static } from 'typebox'
import { Cursor, JsonObject, Limit, Nullable, Offset, page, Timestamp } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const TenantParams = Type.Object({
  tenant_id: Type.String({ minLength: 1, maxLength: limits.label_chars, examples: ['local'] }),
})

const AuditRecord = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  /** A store the suite wrote to, and deleted; null: it came to none. */
  store_id: Nullable(Type.String()),
  /** Capabilities that passed, of those tested; 0 where none was. */
  conformance_rate: Type.Number({ minimum: 0, maximum: 1 }),
  /** Those that passed. */
  capabilities: Type.Array(Type.String()),
  audited_at: Timestamp,
  /** The signed result, for `custos verify`; null in an overview. */
  report_json: Nullable(JsonObject),
})
export type AuditRecord = Static<typeof AuditRecord>

const badge = {
  method: 'GET',
  access: 'public',
  params: TenantParams,
  status: 200,
  refuses: [],
  cache_control: 'no-cache, max-age=300',
} as const
const badgePath = '/v1/cloud/compliance/badge/{tenant_id}'

export const compliance = {
  history: operation({
    id: 'compliance.history',
    method: 'GET',
    path: '/v1/cloud/tenants/{tenant_id}/compliance',
    summary: 'The conformance audits of a tenant, newest first, as a bare array',
    description: 'An audit is made by a run of the check `conformance`: POST /v1/assurance/run.',
    access: 'operator_or_self',
    scope: 'compliance:read',
    params: TenantParams,
    query: Type.Object({ limit: Limit(limits.audits_page) }),
    status: 200,
    reply: Type.Array(AuditRecord),
    refuses: ['tenant_not_found'],
  }),
  status: operation({
    id: 'compliance.status',
    method: 'GET',
    path: '/v1/cloud/compliance/status',
    summary: 'The newest audit of each tenant that has one',
    description:
      'Pages are of tenants: one may hold fewer audits than `limit`, and `next_cursor` tells ' +
      'whether there are more tenants.',
    access: 'operator',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('tenants', AuditRecord),
    refuses: ['rejected'],
  }),
  badge_svg: operation({
    ...badge,
    id: 'compliance.badge_svg',
    path: `${badgePath}.svg`,
    summary: 'The conformance badge as a picture',
    description: 'A tenant that does not exist looks like one that was not audited.',
    reply: Type.String(),
    reply_type: 'image/svg+xml',
  }),
  badge_json: operation({
    ...badge,
    id: 'compliance.badge_json',
    path: `${badgePath}.json`,
    summary: 'The conformance badge for services that draw it themselves',
    reply: Type.Object({
      schemaVersion: Type.Literal(1),
      label: Type.String(),
      message: Type.String(),
      color: Type.Enum(['lightgrey', 'brightgreen', 'red']),
    }),
  }),
} as const
