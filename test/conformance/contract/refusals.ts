// For every refusal an operation declares, a request that provokes it.

import { limits, type RefusalCode } from '@custos/contract'
import { openFrames } from '../../../packages/server/src/slices/streams/testing/frame-reader.ts'
import { copyToken } from '../../../packages/server/src/slices/tenants/testing/tokens.ts'
import type { Answer } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { provokingApprovals } from './testing/refusals/approvals.ts'
import { provokingArtifacts } from './testing/refusals/artifacts.ts'
import { provokingAssurance } from './testing/refusals/assurance.ts'
import { provokingBilling } from './testing/refusals/billing.ts'
import { provokingCompositions } from './testing/refusals/compositions.ts'
import { provokingIdentity } from './testing/refusals/identity.ts'
import { BATCH, ITEM_OPERATIONS, NAME, PUT, provokingItems } from './testing/refusals/items.ts'
import { provokingLanding } from './testing/refusals/landing.ts'
import { ORCHESTRATOR_REUSED, provokingOrchestrator } from './testing/refusals/orchestrator.ts'
import { exhaust } from './testing/refusals/provoke.ts'
import { provokingReports } from './testing/refusals/reports.ts'
import { provokingReputation } from './testing/refusals/reputation.ts'
import { provokingRetention } from './testing/refusals/retention.ts'
import { provokingSso } from './testing/refusals/sso.ts'
import { provokingSubjects } from './testing/refusals/subjects.ts'
import { provokingWebhooks } from './testing/refusals/webhooks.ts'
import { provokingWorldModel } from './testing/refusals/world-model.ts'
import type { Sent } from './testing/table.ts'
import { send, type Tenant } from './testing/tenant.ts'
import { GHOSTS, type Ids, type World } from './testing/world.ts'

/** Provokes a refusal in a tenant with one of everything. */
export type Provoke = (world: World) => Promise<Answer>

const sharing = new WeakSet<Provoke>()

/** Whether the request changes nothing that another one of these relies on: they share a world. */
export const sharesWorld = (provoke: Provoke): boolean => sharing.has(provoke)

function shared(provoke: Provoke): Provoke {
  sharing.add(provoke)
  return provoke
}

const ghostly = (id: string): Provoke =>
  shared(({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)))

const asking = (id: string, request: (ids: Ids) => Sent): Provoke =>
  shared(({ tenant, ids }) => tenant.ask(id, request(ids)))

const inStore = (id: string, body: (ids: Ids) => unknown): Provoke =>
  asking(id, (ids) => ({ params: { store_id: ids.store_id }, body: body(ids) }))

/** The operation in a store that offers nothing. */
const inBareStore = (id: string, sent: Sent): Provoke =>
  shared(async ({ tenant }) => {
    const { store_id } = await tenant.ok('memory.create_store', { body: { capabilities: [] } })
    return tenant.ask(id, { ...sent, params: { store_id } })
  })

/** The same key for two different requests. */
const reused = (id: string): Provoke =>
  shared(async ({ tenant, ids }) => {
    const headers = { 'idempotency-key': 'reused' }
    await tenant.ok('memory.create_store', { body: { name: 'first' }, headers })
    const example = exampleOf(id, ids)
    return tenant.ask(id, { ...example, headers: { ...example.headers, ...headers } })
  })

/** A tenant's key belongs to no tenant yet: two different ones made under it. */
const reusedByOperator: Provoke = async ({ tenant: { service } }) => {
  const [headers, key] = [{ 'idempotency-key': 'reused' }, service.operator_key]
  await send(service, 'tenants.create', { body: { name: 'first' }, headers }, { key })
  return send(service, 'tenants.create', { body: { name: 'second' }, headers }, { key })
}

/** Two names for one thing that disagree. */
const TWO = { tenant_id: 'red', namespace: 'blue' }
const BAD_CURSOR = { cursor: 'not-a-cursor' }

const NOT_FOUND: readonly (readonly [string, RefusalCode])[] = [
  'memory.get_store',
  'memory.capabilities',
  'memory.write',
  'memory.write_batch',
  'memory.ingest',
  'memory.supersede',
  'memory.retrieve',
  'memory.audit',
  'memory.flush',
  'memory.ingestion_stats',
  'memory.stats',
  'memory.reembed',
  'memory.memories',
  'memory.memory',
  'memory.history',
  'memory.export',
  'memory.import',
  'memory.delete',
  'memory.delete_store',
  ...ITEM_OPERATIONS,
  'keys.create_token',
].map((id) => [id, 'store_not_found'] as const)

const GHOST_CASES: readonly (readonly [string, RefusalCode])[] = [
  ...NOT_FOUND,
  ['decisions.get', 'decision_not_found'],
  ['decisions.replay', 'decision_not_found'],
  ['decisions.redact', 'decision_not_found'],
  ['manifold.locate', 'decision_not_found'],
  ['erasure.get', 'certificate_not_found'],
  ['erasure.verify', 'certificate_not_found'],
  ['erasure.by_fact', 'certificate_not_found'],
  ['gcrumbs.epoch', 'epoch_not_found'],
  ['gcrumbs.proof', 'epoch_not_found'],
  ['gcrumbs.consistency', 'epoch_not_found'],
  ['governance.get_policy', 'policy_not_found'],
  ['governance.update_policy', 'policy_not_found'],
  ['governance.delete_policy', 'policy_not_found'],
  ['provenance.get', 'corpus_not_found'],
  ['provenance.verify', 'corpus_not_found'],
  ['provenance.proof', 'corpus_not_found'],
  ['provenance.block', 'corpus_not_found'],
  ['compositions.get', 'composition_not_found'],
  ['compositions.verify', 'composition_not_found'],
  ['compositions.artifact', 'composition_not_found'],
  ['compositions.approve', 'composition_not_found'],
  ['compositions.reject', 'composition_not_found'],
  ['approvals.request', 'request_not_found'],
  ['approvals.attest', 'request_not_found'],
  ['approvals.verify', 'request_not_found'],
  ['approvals.approver', 'approver_not_found'],
  ['approvals.update_approver', 'approver_not_found'],
  ['approvals.revoke', 'approver_not_found'],
  ['artifacts.get', 'artifact_not_found'],
  ['artifacts.verify', 'artifact_not_found'],
  ['artifacts.integrity', 'artifact_not_found'],
  ['artifacts.certify', 'artifact_not_found'],
  ['artifacts.approve', 'artifact_not_found'],
  ['artifacts.reject', 'artifact_not_found'],
  ['landing.get', 'landing_not_found'],
  ['landing.verify', 'landing_not_found'],
  ['landing.approve', 'landing_not_found'],
  ['landing.reject', 'landing_not_found'],
  ['world_model.get_type', 'type_not_found'],
  ['world_model.verify_type', 'type_not_found'],
  ['world_model.get_action', 'action_not_found'],
  ['world_model.verify_action', 'action_not_found'],
  ['world_model.approve_action', 'action_not_found'],
  ['world_model.reject_action', 'action_not_found'],
  ['cgr.score', 'score_not_found'],
  ['cgr.attestation', 'score_not_found'],
  ['jobs.get', 'job_not_found'],
  ['jobs.cancel', 'job_not_found'],
  ['keys.revoke', 'key_not_found'],
  ['identity.revoke_session', 'session_not_found'],
  ['identity.sign_in', 'unauthenticated'],
  ['identity.accept', 'login_expired'],
  ['identity.invite', 'tenant_not_found'],
  ['identity.update_user', 'user_not_found'],
  ['identity.remove_user', 'user_not_found'],
  ['identity.authorize', 'sso_not_configured'],
  ['identity.callback', 'login_expired'],
  ['identity.exchange', 'login_expired'],
  ['identity.connection', 'connection_not_found'],
  ['identity.update_connection', 'connection_not_found'],
  ['identity.delete_connection', 'connection_not_found'],
  ['identity.test', 'connection_not_found'],
  ['identity.verify_domain', 'connection_not_found'],
  ['identity.drop_domain', 'connection_not_found'],
  ['tenants.get', 'tenant_not_found'],
  ['tenants.rotate_key', 'tenant_not_found'],
  ['tenants.usage', 'tenant_not_found'],
]

const REUSED = [
  'memory.create_store',
  'memory.write',
  'memory.write_batch',
  'memory.ingest',
  'memory.supersede',
  'memory.delete',
  'memory.import',
  'items.put',
  'items.delete',
  'items.batch',
  'decisions.log',
  'decisions.redact',
  'erasure.issue',
  'subjects.erase',
  'gcrumbs.roll',
  'governance.create_policy',
  'governance.evaluate',
  'governance.seed_defaults',
  'provenance.register',
  'compositions.compose',
  'compositions.approve',
  'compositions.reject',
  'approvals.enroll',
  'artifacts.register',
  'artifacts.certify',
  'artifacts.approve',
  'artifacts.reject',
  'landing.issue',
  'landing.approve',
  'landing.reject',
  'world_model.register_type',
  'world_model.invoke',
  'world_model.approve_action',
  'world_model.reject_action',
  'templates.install',
  'reports.generate',
  'retention.place_hold',
  'assurance.create_schedule',
  'cgr.decide',
  'cgr.verify_batch',
  'cgr.outcome',
  'cgr.outcomes',
  'cgr.review',
  'cgr.reviews',
  'cgr.attest',
  'cgr.rotate',
  'keys.create',
  'keys.create_token',
  'tenants.rotate_key',
]

const ghostCases: [string, Provoke][] = GHOST_CASES.map(([id, code]) => [
  `${id} ${code}`,
  ghostly(id),
])
const reusedCases: [string, Provoke][] = REUSED.map((id) => [
  `${id} idempotency_key_reused`,
  reused(id),
])

/** The operations that policies stand in front of, by the name the gate knows them by. */
const GATED: Readonly<Record<string, readonly string[]>> = {
  'memory.write': [
    'memory.write',
    'memory.write_batch',
    'memory.ingest',
    'memory.supersede',
    'memory.import',
    'items.put',
    'items.batch',
  ],
  'memory.retrieve': ['memory.retrieve', 'items.get', 'items.search', 'items.namespaces'],
  'memory.delete': [
    'memory.delete',
    'memory.delete_store',
    'items.delete',
    'retention.set',
    'retention.run',
  ],
  'decisions.log': ['decisions.log'],
}

/** An example of the operation under a policy that holds it up. */
const gated =
  (id: string, name: string, action: 'deny' | 'escalate'): Provoke =>
  async ({ tenant, ids }) => {
    const config = { operations: [name] }
    await tenant.ok('governance.create_policy', {
      body: { name: 'a gate', policy_type: 'hitl_required', action, config },
    })
    return tenant.ask(id, exampleOf(id, ids))
  }

/** An example of the operation under a rate limit that nothing is left of. */
const limited =
  (id: string, name: string): Provoke =>
  async (world) => {
    await exhaust(world, name)
    return world.tenant.ask(id, exampleOf(id, world.ids))
  }

const gatedCases: [string, Provoke][] = Object.entries(GATED).flatMap(([name, ids]) =>
  ids.flatMap((id): [string, Provoke][] => [
    [`${id} policy_denied`, gated(id, name, 'deny')],
    [`${id} approval_required`, gated(id, name, 'escalate')],
    [`${id} rate_limited`, limited(id, name)],
  ]),
)

const CREATION = 'governance.create_policy'

/** As many policies as a tenant may have, one being there already. */
const crowded =
  (id: string): Provoke =>
  async ({ tenant, ids }) => {
    const make = () => tenant.ok('governance.create_policy', exampleOf(CREATION, ids))
    await Promise.all(Array.from({ length: limits.policies_per_tenant - 1 }, make))
    return tenant.ask(id, exampleOf(id, ids))
  }

async function limitedTo({ tenant, ids }: World): Promise<Tenant> {
  return tenant.withKey({ allowed_stores: [ids.store_id] })
}

/** Cases by `operation code`. */
export const provoking: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(ghostCases),
  ...Object.fromEntries(reusedCases),
  ...Object.fromEntries(gatedCases),
  ...provokingApprovals,
  ...provokingSso,
  ...provokingArtifacts,
  ...provokingAssurance,
  ...provokingBilling,
  ...provokingIdentity,
  ...provokingWebhooks,
  'webhooks.create idempotency_key_reused': reused('webhooks.create'),
  ...provokingItems,
  ...provokingOrchestrator,
  ...Object.fromEntries(
    ORCHESTRATOR_REUSED.map((id) => [`${id} idempotency_key_reused`, reused(id)]),
  ),
  ...provokingLanding,
  ...provokingCompositions,
  ...provokingReputation,
  ...provokingReports,
  ...provokingRetention,
  ...provokingSubjects,
  ...provokingWorldModel,

  'tenants.create idempotency_key_reused': reusedByOperator,
  'memory.list_stores rejected': asking('memory.list_stores', () => ({ query: BAD_CURSOR })),
  'memory.create_store rejected': asking('memory.create_store', () => ({
    body: { capabilities: ['cryptographic_provenance'] },
  })),
  'memory.create_store store_exists': asking('memory.create_store', () => ({
    body: { store_id: 'default' },
  })),
  'memory.reembed rejected': inStore('memory.reembed', () => ({ embedder: 'onnx' })),
  'memory.write rejected': inStore('memory.write', () => ({ content: 'x', options: TWO })),
  'memory.write_batch rejected': inStore('memory.write_batch', () => ({
    items: [{ content: 'x' }, { content: 'x', options: TWO }],
  })),
  'memory.ingest rejected': inStore('memory.ingest', () => ({
    messages: [{ content: 'x' }],
    ...TWO,
  })),
  'memory.supersede rejected': inStore('memory.supersede', ({ ref }) => ({
    old_ref: ref,
    content: 'x',
    options: TWO,
  })),
  'memory.retrieve rejected': inStore('memory.retrieve', () => ({ query: 'x', options: TWO })),
  'memory.audit rejected': asking('memory.audit', ({ store_id }) => ({
    params: { store_id },
    query: BAD_CURSOR,
  })),
  'memory.memories rejected': asking('memory.memories', ({ store_id }) => ({
    params: { store_id },
    query: BAD_CURSOR,
  })),
  'memory.write capability_not_supported': inBareStore('memory.write', {
    body: { content: 'x', options: { tenant_id: 'team' } },
  }),
  'memory.write_batch capability_not_supported': inBareStore('memory.write_batch', {
    body: { items: [{ content: 'x', options: { namespace: 'team' } }] },
  }),
  'memory.ingest capability_not_supported': inBareStore('memory.ingest', {
    body: { messages: [{ content: 'x' }], namespace: 'team' },
  }),
  'memory.supersede capability_not_supported': inBareStore('memory.supersede', {
    body: { old_ref: 1, content: 'x' },
  }),
  'memory.retrieve capability_not_supported': inBareStore('memory.retrieve', {
    body: { query: 'x', as_of: '2026-01-01T00:00:00Z' },
  }),
  'items.put capability_not_supported': inBareStore('items.put', PUT),
  'items.batch capability_not_supported': inBareStore('items.batch', BATCH),
  'items.delete capability_not_supported': inBareStore('items.delete', NAME),
  'items.get capability_not_supported': inBareStore('items.get', {
    body: { ...NAME.body, known_at: '2026-01-01T00:00:00Z' },
  }),
  'memory.audit capability_not_supported': inBareStore('memory.audit', {}),
  'memory.delete capability_not_supported': inBareStore('memory.delete', { body: { ref: 1 } }),
  'memory.supersede superseded': inStore('memory.supersede', ({ old_ref }) => ({
    old_ref,
    content: 'too late',
  })),
  'memory.supersede order_inverted': inStore('memory.supersede', ({ ref }) => ({
    old_ref: ref,
    content: 'too early',
    options: { valid_from: '2001-01-01T00:00:00Z' },
  })),
  'memory.memory memory_not_found': asking('memory.memory', ({ store_id, erased_ref }) => ({
    params: { store_id, ref: erased_ref },
  })),
  'memory.history memory_not_found': asking('memory.history', ({ store_id }) => ({
    params: { store_id, ref: Number.MAX_SAFE_INTEGER },
  })),
  'memory.history rejected': asking('memory.history', ({ store_id, ref }) => ({
    params: { store_id, ref },
    query: BAD_CURSOR,
  })),
  'memory.import import_refused': asking('memory.import', ({ store_id, erased_ref }) => ({
    params: { store_id },
    raw: `{"content":"back again","ref":${erased_ref}}\n`,
    headers: { 'content-type': 'application/x-ndjson' },
  })),

  'decisions.log lengths_differ': asking('decisions.log', ({ store_id }) => ({
    body: { store_id, model_id: 'm', query: 'q', output: 'o', retrieved_scores: [1] },
  })),
  'decisions.log rejected': asking('decisions.log', ({ store_id }) => ({
    body: { store_id, model_id: 'm', query: 'q', output: 'o', memory_seq: 1_000_000 },
  })),
  'decisions.log store_not_found': async (world) =>
    (await limitedTo(world)).ask('decisions.log', {
      body: { store_id: 'another', model_id: 'm', query: 'q', output: 'o' },
    }),
  'decisions.list rejected': asking('decisions.list', () => ({ query: BAD_CURSOR })),
  'erasure.list rejected': asking('erasure.list', () => ({ query: BAD_CURSOR })),
  'erasure.issue memory_not_found': asking('erasure.issue', ({ ref }) => ({
    body: { fact_ref: ref, store_id: 'another' },
  })),
  'streams.events rate_limited': async ({ tenant }) => {
    const url = `${tenant.service.url}/v1/events/stream`
    const { per_key } = limits.open_streams
    const opening = Array.from({ length: per_key }, () => openFrames(url, { key: tenant.api_key }))
    const open = await Promise.all(opening)
    const answer = await tenant.ask('streams.events', {})
    for (const stream of open) stream.close()
    return answer
  },
  'gcrumbs.breadcrumbs rejected': asking('gcrumbs.breadcrumbs', () => ({ query: BAD_CURSOR })),
  'gcrumbs.epochs rejected': asking('gcrumbs.epochs', () => ({ query: BAD_CURSOR })),
  'gcrumbs.tile tile_not_found': asking('gcrumbs.tile', () => ({ params: { tile: '0/999' } })),
  'gcrumbs.consistency rejected': asking('gcrumbs.consistency', ({ epoch_number }) => ({
    params: { epoch_number: epoch_number - 1 },
    query: { from: epoch_number },
  })),
  'governance.create_policy rejected': crowded('governance.create_policy'),
  'governance.seed_defaults rejected': crowded('governance.seed_defaults'),
  'governance.list_policies rejected': asking('governance.list_policies', () => ({
    query: BAD_CURSOR,
  })),
  'governance.logs rejected': asking('governance.logs', () => ({ query: BAD_CURSOR })),
  'provenance.register rejected': gated('provenance.register', 'provenance.register', 'deny'),
  'provenance.register approval_required': gated(
    'provenance.register',
    'provenance.register',
    'escalate',
  ),
  'provenance.register rate_limited': limited('provenance.register', 'provenance.register'),
  'provenance.list rejected': asking('provenance.list', () => ({ query: BAD_CURSOR })),
  'keys.create store_not_found': asking('keys.create', () => ({
    body: { allowed_stores: [GHOSTS.store_id] },
  })),
  'keys.create rejected': asking('keys.create', () => ({
    body: { class: 'read_only', scopes: ['memory:write'] },
  })),
  'keys.list rejected': asking('keys.list', () => ({ query: BAD_CURSOR })),
  'keys.create_token rejected': asking('keys.create_token', ({ store_id }) => ({
    body: { store_id, namespace: 'n'.repeat(limits.namespace_chars + 1), scopes: ['memory:read'] },
  })),
  'keys.create_token too_many_tokens': async ({ tenant, ids }) => {
    const token = exampleOf('keys.create_token', ids)
    const { key_id } = await tenant.ok('keys.create_token', token)
    await copyToken(tenant.service, key_id, limits.live_tokens_per_key - 1)
    return tenant.ask('keys.create_token', token)
  },
}
