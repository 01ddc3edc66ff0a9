// One request for every operation that succeeds for the tenant whose ids it is built from.

import { newPublicKey } from './testing/approval.ts'
import { assuranceExamples, billingExamples } from './testing/examples/assurance.ts'
import { orchestratorExamples } from './testing/examples/orchestrator.ts'
import { retentionExamples } from './testing/examples/retention.ts'
import { subjectExamples } from './testing/examples/subjects.ts'
import { webhookExamples } from './testing/examples/webhooks.ts'
import { landingRequest } from './testing/landing.ts'
import { LINK } from './testing/reputation.ts'
import { ssoExamples } from './testing/single-sign-on.ts'
import { operationOf, type Sent } from './testing/table.ts'
import { type Ids, noteReads } from './testing/world.ts'
import { INVOCATION } from './testing/world-model.ts'

const store = ({ store_id }: Ids) => ({ params: { store_id } })
const decision = ({ decision_id }: Ids) => ({ params: { decision_id } })
const certificate = ({ certificate_id }: Ids) => ({ params: { certificate_id } })
const epoch = ({ epoch_number }: Ids) => ({ params: { epoch_number } })
const tenant = ({ tenant_id }: Ids) => ({ params: { tenant_id } })
const policy = ({ policy_id }: Ids) => ({ params: { policy_id } })
const corpus = ({ corpus_id }: Ids) => ({ params: { corpus_id } })
const composition = ({ composition_id }: Ids) => ({ params: { composition_id } })
const waitingComposition = ({ waiting_composition_id }: Ids) => ({
  params: { composition_id: waiting_composition_id },
})
const approval = ({ request_id }: Ids) => ({ params: { request_id } })
const landing = ({ landing_id }: Ids) => ({ params: { certificate_id: landing_id } })
const waitingLanding = ({ landing_waiting_id }: Ids) => ({
  params: { certificate_id: landing_waiting_id },
})
const type = ({ type_id }: Ids) => ({ params: { type_id } })
const action = ({ action_id }: Ids) => ({ params: { action_id } })
const waitingAction = ({ waiting_action_id }: Ids) => ({
  params: { action_id: waiting_action_id },
})
const artifact = ({ artifact_id }: Ids) => ({ params: { artifact_id } })
const waitingArtifact = ({ waiting_artifact_id }: Ids) => ({
  params: { artifact_id: waiting_artifact_id },
})
const approver = ({ approver_id }: Ids) => ({ params: { approver_id } })
const agent = ({ agent_handle }: Ids) => ({ params: { agent_handle } })
const report = ({ report_id }: Ids) => ({ params: { report_id } })
const nothing = () => ({})
let emails = 0
/** A person is invited once. */
const newEmail = () => {
  emails += 1
  return `ben-${emails}@example.com`
}

const IMPORT_LINES = [
  { content: 'The office opens at nine', metadata: { topic: 'office' } },
  { content: 'The office closes at six', valid_from: '2026-01-01T09:00:00.000000Z' },
]

/** Parameters by operation id, and bodies that name ids of the tenant. */
export const examples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'platform.health': nothing,
  'platform.healthz': nothing,
  'platform.readyz': nothing,

  'memory.list_stores': () => ({ query: { limit: 10, offset: 0 } }),
  'memory.create_store': nothing,
  'memory.get_store': store,
  'memory.capabilities': store,
  'memory.write': store,
  'memory.write_batch': store,
  'memory.ingest': store,
  'memory.supersede': (ids) => ({
    ...store(ids),
    body: { old_ref: ids.ref, content: 'A newer version', options: null },
  }),
  'memory.retrieve': (ids) => ({
    ...store(ids),
    body: {
      query: 'who lives in Porto',
      options: { budget_tokens: 256, top_k: 5, explain: true },
    },
  }),
  'memory.audit': (ids) => ({ ...store(ids), query: { limit: 10 } }),
  'memory.flush': store,
  'memory.ingestion_stats': store,
  'memory.stats': store,
  'memory.reembed': store,
  'memory.memories': (ids) => ({ ...store(ids), query: { limit: 10, offset: 0 } }),
  'memory.memory': ({ store_id, ref }) => ({ params: { store_id, ref } }),
  'memory.history': ({ store_id, ref }) => ({ params: { store_id, ref }, query: { limit: 10 } }),
  'memory.export': store,
  'memory.import': (ids) => ({
    ...store(ids),
    raw: IMPORT_LINES.map((line) => `${JSON.stringify(line)}\n`).join(''),
    headers: { 'content-type': 'application/x-ndjson' },
  }),
  'memory.delete': (ids) => ({ ...store(ids), body: { ref: ids.ref } }),
  'memory.delete_store': store,

  'items.put': store,
  'items.get': store,
  'items.search': store,
  'items.delete': store,
  'items.namespaces': store,
  'items.batch': store,

  ...retentionExamples,

  'decisions.log': ({ store_id, ref }) => ({
    body: {
      store_id,
      model_id: 'model-a',
      query: 'Where is home?',
      output: 'Porto',
      session_id: 'session-1',
      retrieved_refs: [ref],
      retrieved_contents: ['home is in Porto'],
      retrieved_scores: [0.5],
      token_count: 12,
      latency_ms: 3.5,
      parameters: { temperature: 0 },
    },
  }),
  'decisions.list': ({ store_id }) => ({ query: { store_id, limit: 10, offset: 0 } }),
  'decisions.stats': nothing,
  'decisions.export': () => ({ query: { from: '2020-01-01T00:00:00Z' } }),
  'decisions.get': decision,
  'decisions.replay': decision,
  'decisions.scrub': ({ ref }) => ({ params: { fact_ref: ref } }),
  'decisions.redact': decision,

  'erasure.issue': ({ ref }) => ({ body: { fact_ref: ref, requested_by: 'data_subject' } }),
  'erasure.stats': nothing,
  'erasure.get': certificate,
  'erasure.verify': certificate,
  'erasure.by_fact': ({ erased_ref }) => ({ params: { fact_ref: erased_ref } }),
  'erasure.list': () => ({ query: { limit: 10, offset: 0 } }),

  'gcrumbs.public_key': nothing,
  'gcrumbs.verify_key': nothing,
  'gcrumbs.roll': nothing,
  'gcrumbs.breadcrumbs': () => ({ query: { limit: 10, offset: 0 } }),
  'gcrumbs.epochs': () => ({ query: { limit: 10, offset: 0 } }),
  'gcrumbs.epoch': epoch,
  'gcrumbs.proof': (ids) => ({ ...epoch(ids), query: { seq: ids.seq } }),
  'gcrumbs.consistency': (ids) => ({ ...epoch(ids), query: { from: ids.epoch_number - 1 } }),
  'gcrumbs.verify': () => ({ query: { full: true } }),
  'gcrumbs.verify_envelope': nothing,
  'gcrumbs.checkpoint': nothing,
  // The tile that ends with the entry.
  'gcrumbs.tile': ({ seq }) => ({ params: { tile: `entries/000.p/${seq + 1}` } }),
  'gcrumbs.stats': nothing,

  'streams.events': () => ({ query: { from: 'start', events: 'tenant.created,memory.written' } }),
  'streams.run': ({ agent_run_id }) => ({ params: { run_id: agent_run_id } }),
  'streams.workflow': ({ waiting_workflow_id }) => ({
    params: { workflow_id: waiting_workflow_id },
  }),
  'streams.ticket': nothing,

  'governance.stats': nothing,
  'governance.policy_types': nothing,
  'governance.create_policy': nothing,
  'governance.list_policies': () => ({ query: { enabled_only: false, limit: 10, offset: 0 } }),
  'governance.get_policy': policy,
  'governance.update_policy': policy,
  'governance.delete_policy': policy,
  'governance.evaluate': nothing,
  'governance.seed_defaults': nothing,
  'governance.logs': () => ({ query: { limit: 10, offset: 0 } }),

  'provenance.register': nothing,
  'provenance.list': () => ({ query: { limit: 10, offset: 0 } }),
  'provenance.stats': nothing,
  'provenance.get': corpus,
  'provenance.verify': corpus,
  'provenance.proof': (ids) => ({ ...corpus(ids), query: { source_id: 'mails-2024' } }),
  'provenance.block': corpus,

  'compositions.compose': nothing,
  'compositions.list': () => ({ query: { limit: 10, offset: 0 } }),
  'compositions.stats': nothing,
  'compositions.get': composition,
  'compositions.verify': composition,
  'compositions.artifact': composition,
  'compositions.approve': waitingComposition,
  'compositions.reject': waitingComposition,

  'artifacts.register': nothing,
  'artifacts.stats': nothing,
  'artifacts.list': () => ({ query: { limit: 10, offset: 0 } }),
  'artifacts.get': artifact,
  'artifacts.verify': artifact,
  'artifacts.integrity': artifact,
  'artifacts.certify': (ids) => ({
    ...artifact(ids),
    body: { certificate_id: ids.landing_id },
  }),
  'artifacts.approve': waitingArtifact,
  'artifacts.reject': waitingArtifact,

  'landing.conformance': ({ corpus_id }) => ({
    body: {
      artifact_ref: 'adapters/support',
      layer_hashes: [`sha256:${'a1'.repeat(32)}`],
      data_provenance: { corpus_id, merkle_root: '5'.repeat(64) },
    },
  }),
  'landing.issue': () => ({ body: landingRequest('adapters/support') }),
  'landing.stats': nothing,
  'landing.list': () => ({ query: { limit: 10, offset: 0 } }),
  'landing.get': landing,
  'landing.verify': landing,
  'landing.approve': (ids) => ({
    ...waitingLanding(ids),
  }),
  'landing.reject': (ids) => ({ ...waitingLanding(ids), body: { approver: 'Ben' } }),

  'approvals.requests': () => ({ query: { status: 'all', limit: 10, offset: 0 } }),
  'approvals.request': approval,
  'approvals.attest': (ids) => ({
    ...approval(ids),
    body: {
      decision: 'approve',
      signer_id: ids.approver_id,
      signature: ids.attestation,
      reason: 'as agreed',
    },
  }),
  'approvals.verify': approval,
  // A key is enrolled once.
  'approvals.enroll': () => ({
    body: { name: 'Ana', role: 'release manager', public_key: newPublicKey() },
  }),
  'approvals.approvers': () => ({ query: { limit: 10, offset: 0 } }),
  'approvals.approver': approver,
  'approvals.update_approver': approver,
  'approvals.revoke': approver,
  'approvals.settings': nothing,
  'approvals.change_settings': nothing,

  'world_model.register_type': nothing,
  'world_model.list_types': () => ({ query: { kind: 'object', limit: 10, offset: 0 } }),
  'world_model.get_type': (ids) => ({ ...type(ids), query: { version: 1 } }),
  'world_model.verify_type': (ids) => ({ ...type(ids), query: { version: 1 } }),
  'world_model.validate_object': nothing,
  'world_model.validate_link': nothing,
  'world_model.invoke': () => ({ body: INVOCATION }),
  'world_model.list_actions': () => ({ query: { limit: 10, offset: 0 } }),
  'world_model.action_stats': nothing,
  'world_model.get_action': action,
  'world_model.verify_action': action,
  'world_model.approve_action': waitingAction,
  'world_model.reject_action': waitingAction,
  'templates.list': nothing,
  'templates.install': nothing,

  'cgr.decide': nothing,
  'cgr.verify_batch': nothing,
  'cgr.outcome': nothing,
  'cgr.outcomes': nothing,
  'cgr.review': nothing,
  'cgr.reviews': nothing,
  'cgr.scores': () => ({ query: { limit: 10, offset: 0 } }),
  'cgr.score': agent,
  'cgr.issuer': nothing,
  'cgr.attest': ({ agent_handle }) => ({ body: { agent_handle } }),
  'cgr.attestations': () => ({ query: { limit: 10, offset: 0 } }),
  'cgr.attestation': agent,
  'cgr.rotate': () => ({ body: LINK }),
  'cgr.rotations': () => ({ query: { limit: 10, offset: 0 } }),
  'cgr.settings': nothing,
  'cgr.change_settings': nothing,

  'manifold.field': nothing,
  'manifold.picture': nothing,
  'manifold.export': nothing,
  'manifold.locate': ({ decision_id }) => ({ params: { step_id: decision_id } }),
  'manifold.clear_cache': nothing,

  'reports.stats': nothing,
  'reports.frameworks': nothing,
  'reports.generate': nothing,
  'reports.list': () => ({ query: { include_deleted: true, limit: 10, offset: 0 } }),
  'reports.get': report,
  'reports.download': (ids) => ({ ...report(ids), query: { format: 'json' } }),
  'reports.download_format': (ids) => ({ params: { ...report(ids).params, format: 'oscal' } }),
  'reports.delete': report,

  ...subjectExamples,

  'jobs.get': ({ job_id }) => ({ params: { job_id } }),
  'jobs.cancel': ({ open_job_id }) => ({ params: { job_id: open_job_id } }),

  ...assuranceExamples,
  ...webhookExamples,
  ...orchestratorExamples,

  ...billingExamples,
  'tenants.create': nothing,
  'tenants.list': nothing,
  'tenants.get': tenant,
  'tenants.rotate_key': tenant,
  'tenants.usage': (ids) => ({ ...tenant(ids), query: { period: 'current_month' } }),
  'tenants.current_usage': nothing,

  'keys.create': nothing,
  'keys.create_token': ({ store_id }) => ({
    body: { store_id, namespace: 'user-1', scopes: ['memory:read'] },
  }),
  'keys.current': nothing,
  'keys.list': () => ({ query: { limit: 10, offset: 0 } }),
  'keys.revoke': ({ key_id }) => ({ params: { key_id } }),

  'identity.sign_in': ({ sign_in_key }) => ({ body: { api_key: sign_in_key } }),
  'identity.accept': ({ invitation }) => ({ body: { invitation } }),
  'identity.invite': (ids) => ({
    ...tenant(ids),
    body: { email: newEmail(), roles: ['viewer'] },
  }),
  'identity.users': () => ({ query: { limit: 10, offset: 0 } }),
  'identity.update_user': ({ user_id }) => ({ params: { user_id }, body: { name: 'Ana' } }),
  'identity.remove_user': ({ user_id }) => ({ params: { user_id }, query: { keep_keys: true } }),
  'identity.me': nothing,
  'identity.logout': nothing,
  'identity.sessions': () => ({ query: { limit: 10, offset: 0 } }),
  ...ssoExamples,
  'identity.revoke_session': ({ session_id }) => ({ params: { session_id } }),

  'monitoring.stats': nothing,
}

/** A request that succeeds; where none is given here, its body is the example of the contract. */
export function exampleOf(id: string, ids: Ids): Sent {
  const example = examples[id]
  if (example === undefined) throw new Error(`examples.ts has no example of ${id}`)
  const sent = example(ids)
  const { example: body } = operationOf(id)
  return body === undefined || 'body' in sent || 'raw' in sent ? sent : { ...sent, body }
}

/** What requests of a slice rely on though they do not name it. */
const RELIES_ON: Readonly<Record<string, readonly (keyof Ids)[]>> = {
  assurance: ['run_id', 'erased_ref'],
  billing: ['subscription_id'],
  governance: ['policy_id'],
  orchestrator: ['agent_id'],
  retention: ['hold_id'],
  subjects: ['store_id'],
  workflows: ['agent_id'],
  world_model: ['type_id'],
}

/** The ids of the parts of a world in which the example succeeds. */
export function needsOf(id: string): Set<keyof Ids> {
  const [slice = ''] = id.split('.')
  const needed = new Set(RELIES_ON[slice])
  exampleOf(id, noteReads(needed))
  return needed
}
