// One request for every operation that succeeds for the tenant whose ids it is built from.

import { newPublicKey } from './testing/approval.ts'
import { assuranceExamples } from './testing/examples-assurance.ts'
import { retentionExamples } from './testing/examples-retention.ts'
import { subjectExamples } from './testing/examples-subjects.ts'
import { landingRequest } from './testing/landing.ts'
import { LINK } from './testing/reputation.ts'
import type { Sent } from './testing/table.ts'
import type { Ids } from './testing/world.ts'
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
  body: { approver: 'ben', reason: 'as agreed' },
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
  body: { approver: 'ben', reason: 'as agreed' },
})
const artifact = ({ artifact_id }: Ids) => ({ params: { artifact_id } })
const waitingArtifact = ({ waiting_artifact_id }: Ids) => ({
  params: { artifact_id: waiting_artifact_id },
  body: { approver: 'Ben', reason: 'as agreed' },
})
const approver = ({ approver_id }: Ids) => ({ params: { approver_id } })
const agent = ({ agent_handle }: Ids) => ({ params: { agent_handle } })
const report = ({ report_id }: Ids) => ({ params: { report_id } })
const nothing = () => ({})

const IMPORT_LINES = [
  { content: 'The office opens at nine', metadata: { topic: 'office' } },
  { content: 'The office closes at six', valid_from: '2026-01-01T09:00:00.000000Z' },
]

/** Examples by operation id. */
export const examples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'platform.health': nothing,
  'platform.healthz': nothing,
  'platform.readyz': nothing,

  'memory.list_stores': () => ({ query: { limit: 10, offset: 0 } }),
  'memory.create_store': () => ({ body: { name: 'notes', labels: { team: 'blue' } } }),
  'memory.get_store': store,
  'memory.capabilities': store,
  'memory.write': (ids) => ({
    ...store(ids),
    body: { content: 'The cat sleeps', options: { metadata: { topic: 'cat' } } },
  }),
  'memory.write_batch': (ids) => ({
    ...store(ids),
    body: { items: [{ content: 'One' }, { content: 'Two', options: { tenant_id: 'team' } }] },
  }),
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
  'memory.flush': (ids) => ({ ...store(ids), body: {} }),
  'memory.ingestion_stats': store,
  'memory.stats': store,
  'memory.reembed': (ids) => ({ ...store(ids), body: { embedder: 'none' } }),
  'memory.memories': (ids) => ({ ...store(ids), query: { limit: 10, offset: 0 } }),
  'memory.memory': ({ store_id, ref }) => ({ params: { store_id, ref } }),
  'memory.export': store,
  'memory.import': (ids) => ({
    ...store(ids),
    raw: IMPORT_LINES.map((line) => `${JSON.stringify(line)}\n`).join(''),
    headers: { 'content-type': 'application/x-ndjson' },
  }),
  'memory.delete': (ids) => ({ ...store(ids), body: { ref: ids.ref } }),
  'memory.delete_store': store,

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
  'decisions.redact': (ids) => ({ ...decision(ids), body: { legal_basis: 'contract' } }),

  'erasure.issue': ({ ref }) => ({ body: { fact_ref: ref, requested_by: 'data_subject' } }),
  'erasure.stats': nothing,
  'erasure.get': certificate,
  'erasure.verify': certificate,
  'erasure.by_fact': ({ erased_ref }) => ({ params: { fact_ref: erased_ref } }),
  'erasure.list': () => ({ query: { limit: 10, offset: 0 } }),

  'gcrumbs.public_key': nothing,
  'gcrumbs.verify_key': nothing,
  'gcrumbs.roll': () => ({ body: {} }),
  'gcrumbs.breadcrumbs': () => ({ query: { limit: 10, offset: 0 } }),
  'gcrumbs.epochs': () => ({ query: { limit: 10, offset: 0 } }),
  'gcrumbs.epoch': epoch,
  'gcrumbs.proof': (ids) => ({ ...epoch(ids), query: { seq: ids.seq } }),
  'gcrumbs.consistency': (ids) => ({ ...epoch(ids), query: { from: ids.epoch_number - 1 } }),
  'gcrumbs.verify': () => ({ query: { full: true } }),
  'gcrumbs.verify_envelope': () => ({ body: { type: 'epoch', epoch: {} } }),
  'gcrumbs.stats': nothing,

  'governance.stats': nothing,
  'governance.policy_types': nothing,
  'governance.create_policy': () => ({
    body: {
      name: 'Small models',
      policy_type: 'model_allowlist',
      config: { models: ['model-a'] },
      // Tests go on to use other operations of the tenant.
      enabled: false,
    },
  }),
  'governance.list_policies': () => ({ query: { enabled_only: false, limit: 10, offset: 0 } }),
  'governance.get_policy': policy,
  'governance.update_policy': (ids) => ({ ...policy(ids), body: { priority: 7 } }),
  'governance.delete_policy': policy,
  'governance.evaluate': () => ({
    body: { operation: 'inference', context: { model_id: 'model-a', query: 'Where is home?' } },
  }),
  'governance.seed_defaults': () => ({ body: {} }),
  'governance.logs': () => ({ query: { limit: 10, offset: 0 } }),

  'provenance.register': () => ({
    body: {
      name: 'support mails',
      sources: [
        { id: 'mails-2024', license: 'CC-BY-4.0', record_count: 12 },
        { id: 'mails-2025', lawful_basis: 'contract', team: 'blue' },
      ],
      attestations: { representativeness: 'by region', bias_examination: 'in 2025' },
      processing: ['deduplicated'],
      metadata: { owner: 'data team' },
    },
  }),
  'provenance.list': () => ({ query: { limit: 10, offset: 0 } }),
  'provenance.stats': nothing,
  'provenance.get': corpus,
  'provenance.verify': corpus,
  'provenance.proof': (ids) => ({ ...corpus(ids), query: { source_id: 'mails-2024' } }),
  'provenance.block': corpus,

  'compositions.compose': () => ({
    body: {
      composition_kind: 'stack',
      members: [
        { ref_id: 'adapters/support', license: 'MIT OR GPL-2.0-or-later', certified: true },
        { ref_id: 'models/base', license: 'Apache-2.0', certified: true },
      ],
      target_ref: 'stacks/support',
      authority: { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'trusted' },
      required_trust_tier: 'basic',
    },
  }),
  'compositions.list': () => ({ query: { limit: 10, offset: 0 } }),
  'compositions.stats': nothing,
  'compositions.get': composition,
  'compositions.verify': composition,
  'compositions.artifact': composition,
  'compositions.approve': waitingComposition,
  'compositions.reject': waitingComposition,

  'artifacts.register': () => ({
    body: {
      artifact_ref: 'adapters/mail',
      base_model_ref: 'models/base-7b',
      layers: [
        { media_type: 'application/octet-stream', digest: `sha256:${'c3'.repeat(32)}`, size: 12 },
      ],
      kind: 'lora',
      metadata: { license: 'MIT' },
    },
  }),
  'artifacts.stats': nothing,
  'artifacts.list': () => ({ query: { limit: 10, offset: 0 } }),
  'artifacts.get': artifact,
  'artifacts.verify': artifact,
  'artifacts.integrity': (ids) => ({
    ...artifact(ids),
    body: { layer_hashes: ['a1'.repeat(32)] },
  }),
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
    body: { approver: 'Ben', reason: 'as agreed' },
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
  'approvals.update_approver': (ids) => ({ ...approver(ids), body: { role: 'legal' } }),
  'approvals.revoke': approver,
  'approvals.settings': nothing,
  'approvals.change_settings': () => ({ body: { expires_after_seconds: 3_600 } }),

  'world_model.register_type': () => ({
    body: {
      kind: 'object',
      name: 'Shipment',
      spec: {
        type: 'object',
        properties: { weight: { type: 'number', minimum: 0 }, to: { $ref: '#/$defs/place' } },
        required: ['weight'],
        $defs: { place: { enum: ['Lisbon', 'Porto'] } },
      },
    },
  }),
  'world_model.list_types': () => ({ query: { kind: 'object', limit: 10, offset: 0 } }),
  'world_model.get_type': (ids) => ({ ...type(ids), query: { version: 1 } }),
  'world_model.verify_type': (ids) => ({ ...type(ids), query: { version: 1 } }),
  'world_model.validate_object': () => ({
    body: { type_name: 'Invoice', instance: { invoice_ref: 'INV-1', amount: 12.5 } },
  }),
  'world_model.validate_link': () => ({
    body: {
      ...{ link_name: 'owns', from_type: 'Client', to_type: 'Invoice' },
      ...{ from_id: 'C-1', to_id: 'INV-1', existing: [{ from_id: 'C-1', to_id: 'INV-2' }] },
    },
  }),
  'world_model.invoke': () => ({ body: INVOCATION }),
  'world_model.list_actions': () => ({ query: { limit: 10, offset: 0 } }),
  'world_model.action_stats': nothing,
  'world_model.get_action': action,
  'world_model.verify_action': action,
  'world_model.approve_action': waitingAction,
  'world_model.reject_action': waitingAction,
  'templates.list': nothing,
  'templates.install': () => ({ body: { template_id: 'healthcare' } }),

  'cgr.decide': () => ({
    body: {
      decision: 'certify',
      reason: 'the amounts agree',
      invoice_id: 'INV-1',
      context: { amount: 12 },
      agent_handle: 'certifier@example',
      agent_tier: 0.5,
    },
  }),
  'cgr.outcome': () => ({
    body: { invoice_ref: 'INV-2', outcome: 'paid', outcome_date: '2026-01-01T00:00:00Z' },
  }),
  'cgr.outcomes': () => ({
    body: [
      { invoice_ref: 'INV-3', outcome: 'default', amount_recovered: 1.5 },
      { invoice_ref: 'INV-4', outcome: 'late' },
    ],
  }),
  'cgr.review': () => ({
    body: { invoice_ref: 'INV-2', reviewer_handle: 'reviewer@example', rating: 0.75 },
  }),
  'cgr.reviews': () => ({
    body: [{ invoice_ref: 'INV-3', reviewer_handle: 'reviewer@example', rating: 0.25 }],
  }),
  'cgr.scores': () => ({ query: { limit: 10, offset: 0 } }),
  'cgr.score': agent,
  'cgr.issuer': nothing,
  'cgr.attest': ({ agent_handle }) => ({ body: { agent_handle } }),
  'cgr.attestations': () => ({ query: { limit: 10, offset: 0 } }),
  'cgr.attestation': agent,
  'cgr.rotate': () => ({ body: LINK }),
  'cgr.rotations': () => ({ query: { limit: 10, offset: 0 } }),
  'cgr.settings': nothing,
  'cgr.change_settings': () => ({
    body: { compare_credentials: false, judgments_final: false },
  }),

  'manifold.field': nothing,
  'manifold.picture': nothing,
  'manifold.export': nothing,
  'manifold.locate': ({ decision_id }) => ({ params: { step_id: decision_id } }),
  'manifold.clear_cache': nothing,

  'reports.stats': nothing,
  'reports.frameworks': nothing,
  'reports.generate': () => ({ body: { framework: 'gdpr', period_days: 7, title: 'Weekly' } }),
  'reports.list': () => ({ query: { include_deleted: true, limit: 10, offset: 0 } }),
  'reports.get': report,
  'reports.download': (ids) => ({ ...report(ids), query: { format: 'json' } }),
  'reports.delete': report,

  ...subjectExamples,

  'jobs.get': ({ job_id }) => ({ params: { job_id } }),
  'jobs.cancel': ({ open_job_id }) => ({ params: { job_id: open_job_id } }),

  ...assuranceExamples,

  'tenants.create': () => ({ body: { name: 'Another', plan: 'pro' } }),
  'tenants.list': nothing,
  'tenants.get': tenant,
  'tenants.rotate_key': tenant,
  'tenants.usage': (ids) => ({ ...tenant(ids), query: { period: 'current_month' } }),
  'tenants.current_usage': nothing,

  'keys.create': () => ({ body: { name: 'deputy', scopes: ['keys:admin'] } }),
  'keys.list': () => ({ query: { limit: 10, offset: 0 } }),
  'keys.revoke': ({ key_id }) => ({ params: { key_id } }),

  'monitoring.stats': nothing,
}

export function exampleOf(id: string, ids: Ids): Sent {
  const example = examples[id]
  if (example === undefined) throw new Error(`examples.ts has no example of ${id}`)
  return example(ids)
}
