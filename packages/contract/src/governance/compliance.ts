// Compliance (interface 4.2): results of the conformance suite for each tenant, and its badge.

import Type, { type Static } from 'typebox'
import {
  about,
  Cursor,
  JsonObject,
  Limit,
  Nullable,
  number,
  Offset,
  page,
  TenantParams,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'

const AuditRecord = Type.Object(
  {
    id: text('Id of the audit'),
    tenant_id: Type.String(),
    store_id: Nullable(text('Store the suite wrote to and deleted; null: it got to none')),
    conformance_rate: number('Capabilities that passed among those tested; 0 if none was tested', {
      minimum: 0,
      maximum: 1,
    }),
    capabilities: Type.Array(Type.String(), { description: 'Capabilities that passed' }),
    audited_at: time('When the audit ended'),
    report_json: Nullable(
      about(JsonObject, 'The signed result, which `custos verify` checks; null in an overview'),
    ),
  },
  { title: 'AuditRecord', description: 'A conformance audit of a tenant' },
)
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
    summary: 'Lists the conformance audits of a tenant, newest first, as a plain array',
    description:
      'Use it to show that the capabilities of the stores were tested. An audit is made by a run ' +
      'of the check `conformance`: `POST /v1/assurance/run`.',
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
    summary: 'Lists the newest conformance audit of each tenant that has one',
    description:
      'Use it for an overview of all tenants. The pages are pages of tenants: one may contain ' +
      'fewer audits than `limit`, and `next_cursor` says whether there are more tenants.',
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
    summary: 'Returns the conformance badge as an SVG picture',
    description:
      'Use it on a web page. A tenant that does not exist looks like one that was not audited.',
    reply: Type.String(),
    reply_type: 'image/svg+xml',
  }),
  badge_json: operation({
    ...badge,
    id: 'compliance.badge_json',
    path: `${badgePath}.json`,
    summary: 'Returns the content of the conformance badge as JSON',
    description: 'Use it with a service that draws badges.',
    reply: Type.Object({
      schemaVersion: Type.Literal(1, { description: 'Version of the badge format' }),
      label: text('Left text of the badge'),
      message: text('Right text of the badge'),
      color: Type.Enum(['lightgrey', 'brightgreen', 'red'], { description: 'Colour of the badge' }),
    }),
  }),
} as const
