// What the older version answered to requests that change nothing, and what must be of it now.

import assert from 'node:assert/strict'
import type { Body } from './client.ts'
import { OPERATOR_KEY, type Service } from './command-line.ts'
import type { Known } from './fill.ts'
import { at } from './fill-memory.ts'
import { HANDLE } from './fill-registries.ts'

export interface Recorded {
  readonly who: 'north' | 'south' | 'operator'
  readonly path: string
  readonly body: Body
}

type Asked = Omit<Recorded, 'body'>

/** Since then a cursor also names its list. */
function placeOf(cursor: string): { readonly next_cursor: string } {
  const [place = ''] = Buffer.from(cursor, 'base64url').toString().split('~')
  return { next_cursor: Buffer.from(place).toString('base64url') }
}

/** What is of the moment of the request, or follows from a hash that stays, is left out. */
const REDUCED: readonly (readonly [path: RegExp, left: (body: Body) => Body])[] = [
  [
    /^\/v1\/cgr\/scores/,
    (body) =>
      JSON.parse(JSON.stringify(body), (name, value) => (name === 'as_of' ? undefined : value)),
  ],
  [/^\/v1\/reports\/\w{32}$/, ({ content: _, sections: __, ...left }) => left],
  [
    /^\/v1\/gcrumbs\/breadcrumbs/,
    ({ breadcrumbs }) => breadcrumbs.map(({ breadcrumb_id }: Body) => breadcrumb_id),
  ],
  [/^\/v1\/governance\/logs/, ({ next_cursor, ...left }) => ({ ...left, ...placeOf(next_cursor) })],
]

export const keyOf = (known: Known, who: Recorded['who']): string =>
  who === 'operator' ? OPERATOR_KEY : known[who].api_key

export const LOG = '/v1/gcrumbs/breadcrumbs?limit=1000'

export async function record(service: Service, known: Known): Promise<Recorded[]> {
  const recorded: Recorded[] = []
  for (const asked of pathsOf(known)) {
    const body = await service.client(keyOf(known, asked.who)).get(asked.path)
    recorded.push({ ...asked, body: reduced(asked.path, body) })
  }
  return recorded
}

export function reduced(path: string, body: Body): Body {
  const [, left] = REDUCED.find(([known]) => known.test(path)) ?? []
  return left ? left(body) : body
}

function pathsOf({ north, south, gone }: Known): Asked[] {
  const of = (who: Recorded['who'], paths: readonly string[]): Asked[] =>
    paths.map((path) => ({ who, path }))
  const log = ['/v1/gcrumbs/epochs', LOG]
  return [
    ...of('north', [...memoryPaths(north), ...recordPaths(north), ...log]),
    ...of('north', ['/v1/gcrumbs/epochs/1/proof?seq=3', '/v1/gcrumbs/epochs/3/consistency?from=1']),
    ...of('south', [at(south.store_id, '/memories'), '/v1/decisions', ...log]),
    ...of('operator', ['/v1/gcrumbs/public_key', '/v1/cloud/tenants', '/v1/cgr/issuer']),
    ...of('operator', [`/v1/admin/tenants/${gone.tenant_id}/destruction`]),
  ]
}

function memoryPaths({ memories, erased }: Known['north']): string[] {
  const { stores, decisions, job_id } = memories
  return [
    '/v1/stores',
    ...[stores.ward, stores.plain, 'default'].map((store) => at(store, '/memories')),
    ...['', '/capabilities', '/retention', '/holds'].map((path) => at(stores.ward, path)),
    at(stores.plain, '/holds'),
    '/v1/decisions',
    `/v1/decisions/${decisions.scrubbed}/replay`,
    `/v1/jobs/${job_id}`,
    '/v1/erasure',
    `/v1/erasure/${erased.certificate_id}`,
    '/v1/erasure/subject',
    `/v1/erasure/subject/${erased.request_id}`,
    `/v1/erasure/subject/${erased.request_id}/manifest?format=json`,
    '/v1/keys',
  ]
}

function recordPaths({ registries, approvals, policies, reports, assured }: Known['north']) {
  const { corpus_id, artifact_id, landing_id, composition_id, types, action_id } = registries
  return [
    '/v1/governance/policies?enabled_only=false',
    '/v1/governance/logs?limit=20',
    `/v1/governance/policies/${policies.ids['content_filter']}`,
    `/v1/governance/policies/${policies.deleted}?include_deleted=true`,
    ...[`/v1/provenance/corpora/${corpus_id}`, `/v1/artifacts/${artifact_id}`],
    `/v1/provenance/corpora/${corpus_id}/proof?source_id=mails-2024`,
    ...[`/v1/landing/${landing_id}`, `/v1/compositions/${composition_id}`],
    ...types.map((type_id) => `/v1/world-model/types/${type_id}`),
    `/v1/world-model/actions/${action_id}`,
    '/v1/hitl/requests?status=all',
    `/v1/hitl/requests/${approvals.approved.request_id}`,
    ...['/v1/hitl/approvers', '/v1/hitl/settings', '/v1/cgr/settings'],
    ...['/v1/cgr/scores', `/v1/cgr/scores/${HANDLE}`, '/v1/cgr/attestations', '/v1/cgr/rotations'],
    ...['/v1/reports', '/v1/reports?include_deleted=true', `/v1/reports/${reports.kept}`],
    `/v1/assurance/runs/${assured.run_id}`,
    ...['/v1/assurance/baseline', '/v1/assurance/schedules'],
  ]
}

const SIGNED = [
  /\/memories$|^\/v1\/decisions|^\/v1\/erasure(\/\w{32})?$|\/manifest|\/gcrumbs\/epochs/,
  /\/(corpora|artifacts|landing|compositions|types|actions)\/|\/hitl\/requests\/|attestations$/,
]

/** Whether the answer is one that its keeper can check without the service. */
export const isSigned = ({ path }: Pick<Recorded, 'path'>): boolean =>
  SIGNED.some((known) => known.test(path))

/** All of what was answered then is answered now; fields may have been added. */
export function assertHolds(now: Body, then: Body, path: string): void {
  if (Array.isArray(then)) {
    assert.equal(now?.length, then.length, `${path}: the number of items`)
    for (const [i, item] of then.entries()) assertHolds(now[i], item, `${path}[${i}]`)
  } else if (typeof then === 'object' && then !== null) {
    assert.ok(typeof now === 'object' && now !== null, `${path}: no object any more`)
    for (const [name, value] of Object.entries(then))
      assertHolds(now[name], value, `${path}.${name}`)
  } else assert.equal(now, then, path)
}
