// One request for every operation that succeeds for the tenant whose ids it is built from.

import type { Sent } from './testing/table.ts'
import type { Ids } from './testing/world.ts'

const store = ({ store_id }: Ids) => ({ params: { store_id } })
const decision = ({ decision_id }: Ids) => ({ params: { decision_id } })
const certificate = ({ certificate_id }: Ids) => ({ params: { certificate_id } })
const epoch = ({ epoch_number }: Ids) => ({ params: { epoch_number } })
const tenant = ({ tenant_id }: Ids) => ({ params: { tenant_id } })
const policy = ({ policy_id }: Ids) => ({ params: { policy_id } })
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

  'jobs.get': ({ job_id }) => ({ params: { job_id } }),

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

/** Operations whose example takes something away: each run needs things of its own. */
export const CONSUMING: ReadonlySet<string> = new Set([
  'memory.supersede',
  'memory.delete',
  'memory.delete_store',
  'decisions.scrub',
  'decisions.redact',
  'erasure.issue',
  'governance.delete_policy',
  'tenants.rotate_key',
  'keys.revoke',
])

export function exampleOf(id: string, ids: Ids): Sent {
  const example = examples[id]
  if (example === undefined) throw new Error(`examples.ts has no example of ${id}`)
  return example(ids)
}
