// Requests that are well formed and wrong in one field, with the refusal each gets.

import type { RefusalCode } from '@custos/contract'
import type { Sent } from './table.ts'
import type { Ids } from './world.ts'

type WrongField = readonly [id: string, sent: Sent, code: RefusalCode]

const NAIVE = '2026-01-01T00:00:00'
const BIG = '9223372036854775807'

/** A body as text, with a number in it that no JavaScript number can hold. */
const withBig = (body: Readonly<Record<string, unknown>>): Sent => ({
  raw: JSON.stringify(body).replaceAll('"BIG"', BIG),
})

export const wrongFields = (ids: Ids): WrongField[] => [
  ...inWrites(ids),
  ...inRetrieval(ids),
  ...inDecisions(),
  ...inErasure(ids),
  ...inSettings(),
  ...inGovernance(ids),
  ...inReputation(),
  ...inLists(ids),
]

function inWrites({ store_id, ref }: Ids): WrongField[] {
  const params = { store_id }
  const write = (options: unknown): Sent => ({ params, body: { content: 'x', options } })
  const batch = (items: unknown): Sent => ({ params, body: { items } })
  const supersede = (old_ref: unknown, options?: unknown): Sent => ({
    params,
    body: { old_ref, content: 'x', options },
  })
  return [
    ['memory.write', write({ valid_from: NAIVE }), 'validation'],
    ['memory.write', write({ metadata: [] }), 'validation'],
    ['memory.write', write({ tenant_id: 'a\nb' }), 'validation'],
    ['memory.write', write({ tenant_id: 'a', namespace: 'b' }), 'rejected'],
    ['memory.write_batch', batch([{ content: 'x' }, {}]), 'validation'],
    ['memory.write_batch', batch({ content: 'x' }), 'validation'],
    ['memory.supersede', supersede(ref, { valid_from: '2020-01-01T00:00:00Z' }), 'order_inverted'],
    ['memory.supersede', supersede(ref, { valid_from: NAIVE }), 'validation'],
    ['memory.supersede', supersede(-1), 'validation'],
    ['memory.supersede', supersede(1.5), 'validation'],
    ['memory.supersede', { params, ...withBig({ old_ref: 'BIG', content: 'x' }) }, 'validation'],
  ]
}

function inRetrieval({ store_id }: Ids): WrongField[] {
  const retrieve = (more: object): Sent => ({ params: { store_id }, body: { query: 'x', ...more } })
  return [
    ['memory.retrieve', retrieve({ options: { as_of: NAIVE } }), 'validation'],
    ['memory.retrieve', retrieve({ known_at: NAIVE }), 'validation'],
    ['memory.retrieve', retrieve({ top_k: 0 }), 'validation'],
    ['memory.retrieve', retrieve({ limit: -1 }), 'validation'],
    ['memory.retrieve', retrieve({ budget_tokens: 1.5 }), 'validation'],
  ]
}

function inDecisions(): WrongField[] {
  const plain = { store_id: 's', model_id: 'm', query: 'q', output: 'o' }
  const log = (more: object): Sent => ({ body: { ...plain, ...more } })
  const { output: _, ...without } = plain
  return [
    ['decisions.log', { body: without }, 'validation'],
    ['decisions.log', withBig({ ...plain, retrieved_refs: ['BIG'] }), 'validation'],
    ['decisions.log', log({ retrieved_refs: [1], retrieved_scores: [1, 2] }), 'lengths_differ'],
    ['decisions.log', log({ retrieved_refs: [], retrieved_contents: ['a'] }), 'lengths_differ'],
    ['decisions.log', log({ latency_ms: -1 }), 'validation'],
    ['decisions.log', log({ memory_seq: 1_000_000 }), 'rejected'],
  ]
}

function inErasure({ store_id }: Ids): WrongField[] {
  const params = { store_id }
  return [
    ['memory.delete', { params, ...withBig({ ref: 'BIG' }) }, 'validation'],
    ['memory.delete', { params, body: { ref: '1' } }, 'validation'],
    ['erasure.issue', withBig({ fact_ref: 'BIG' }), 'validation'],
    ['erasure.issue', { body: { fact_ref: null } }, 'validation'],
    ['erasure.issue', { body: { fact_ref: 1, requested_by: 'a\u0007' } }, 'validation'],
  ]
}

function inSettings(): WrongField[] {
  const store = (body: object): Sent => ({ body })
  return [
    ['memory.create_store', store({ capabilities: ['time_travel'] }), 'validation'],
    ['memory.create_store', store({ capabilities: ['bi_temporal'] }), 'rejected'],
    ['memory.create_store', store({ tokenizer: 'words' }), 'validation'],
    ['memory.create_store', store({ embedder: 'onnx' }), 'rejected'],
    ['memory.create_store', store({ embedder: 'words' }), 'validation'],
    ['keys.create', { body: { expires_at: NAIVE } }, 'validation'],
    ['keys.create', { body: { expires_at: '2020-01-01T00:00:00Z' } }, 'rejected'],
    ['keys.create', { body: { scopes: ['memory:everything'] } }, 'validation'],
    ['keys.create', { body: { class: 'operator' } }, 'validation'],
    ['keys.create', { body: { scopes: ['admin:platform'] } }, 'scope_missing'],
  ]
}

function inGovernance({ policy_id }: Ids): WrongField[] {
  const policy = (policy_type: string, config: unknown): Sent => ({
    body: { name: 'x', policy_type, config },
  })
  const params = { policy_id }
  return [
    ['governance.create_policy', policy('cedar', {}), 'validation'],
    ['governance.create_policy', policy('content_filter', {}), 'validation'],
    ['governance.create_policy', policy('content_filter', { patterns: ['('] }), 'validation'],
    ['governance.create_policy', policy('rate_limit', { max_requests: 0 }), 'validation'],
    ['governance.create_policy', { body: { name: 'x', policy_type: 7 } }, 'validation'],
    ['governance.update_policy', { params, body: { action: 'warn' } }, 'validation'],
    ['governance.update_policy', { params, body: { config: { patterns: [] } } }, 'validation'],
    ['governance.evaluate', { body: { operation: 'two words' } }, 'validation'],
    ['governance.evaluate', { body: { operation: 'memory.wirte' } }, 'validation'],
    ['governance.evaluate', { body: { operation: 'inference', context: [] } }, 'validation'],
    ['governance.logs', { query: { result: 'refused' } }, 'validation'],
    ['governance.logs', { query: { policy_id: 'x' } }, 'validation'],
  ]
}

function inReputation(): WrongField[] {
  const decide = (more: object): Sent => ({ body: { decision: 'certify', ...more } })
  const outcome = (more: object): Sent => ({
    body: { invoice_ref: 'INV-1', outcome: 'paid', ...more },
  })
  const review = { invoice_ref: 'INV-1', reviewer_handle: 'r', rating: 1 }
  return [
    ['cgr.decide', decide({ decision: 'Certify' }), 'validation'],
    ['cgr.decide', decide({ agent_key: 'f'.repeat(63) }), 'validation'],
    ['cgr.decide', decide({ agent_key: '0'.repeat(64) }), 'validation'],
    ['cgr.verify_batch', { body: { invoices: [7] } }, 'validation'],
    ['cgr.verify_batch', { body: { invoices: [], policy: { require: true } } }, 'validation'],
    ['cgr.verify_batch', { body: { invoices: [{ invoice_id: 'a\nb' }] } }, 'validation'],
    ['gcrumbs.verify_envelope', { body: { receipts: 7 } }, 'validation'],
    ['gcrumbs.verify_envelope', { body: { receipts: [], public_key_b64: 'AA==' } }, 'validation'],
    ['cgr.outcome', outcome({ outcome: 'lost' }), 'validation'],
    ['cgr.outcome', outcome({ outcome_date: '2026-02-30' }), 'validation'],
    ['cgr.outcome', outcome({ reporter_signature: 'f'.repeat(128) }), 'validation'],
    ['cgr.outcomes', { body: [outcome({}).body, outcome({ outcome: 1 }).body] }, 'validation'],
    ['cgr.review', { body: { ...review, rating: 1.5 } }, 'validation'],
    ['cgr.review', { body: { ...review, decision_id: 'f'.repeat(32) } }, 'rejected'],
    ['cgr.reviews', { body: [review, { ...review, review_date: 'now' }] }, 'validation'],
    ['cgr.scores', { query: { limit: 0 } }, 'validation'],
    ['cgr.scores', { query: { dimension: 'No dimension' } }, 'validation'],
  ]
}

function inLists({ store_id }: Ids): WrongField[] {
  const params = { store_id }
  const query = { cursor: 'not-a-cursor' }
  const epoch = (epoch_number: number, more: Record<string, number>): Sent => ({
    params: { epoch_number },
    query: more,
  })
  return [
    ['decisions.list', { query: { from: 'yesterday' } }, 'validation'],
    ['decisions.list', { query }, 'rejected'],
    ['decisions.export', { query: { to: 'tomorrow' } }, 'validation'],
    ['memory.list_stores', { query }, 'rejected'],
    ['memory.memories', { params, query }, 'rejected'],
    ['memory.audit', { params, query }, 'rejected'],
    ['erasure.list', { query }, 'rejected'],
    ['governance.list_policies', { query }, 'rejected'],
    ['governance.logs', { query }, 'rejected'],
    ['gcrumbs.breadcrumbs', { query }, 'rejected'],
    ['gcrumbs.epochs', { query }, 'rejected'],
    ['keys.list', { query }, 'rejected'],
    ['gcrumbs.proof', epoch(1, { seq: -1 }), 'validation'],
    ['gcrumbs.proof', epoch(0, { seq: 0 }), 'validation'],
    ['gcrumbs.consistency', epoch(1, { from: 2 }), 'rejected'],
    ['gcrumbs.verify', { query: { full: 'yes' } }, 'validation'],
  ]
}
