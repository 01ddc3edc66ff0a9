// Pure: a decision as every read shows it.

import type { Decision } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { DecisionRow } from './decisions.sql.ts'
import type { DecisionDocument } from './document.ts'

export interface Shown {
  readonly tenant_id: string
  readonly decision_id: string
  readonly row: Omit<DecisionRow, 'sealed' | 'decision_id' | 'session_label'>
  readonly document: DecisionDocument
  /** Empty, or one for each ref. */
  readonly contents: readonly string[]
}

/** The record (interface 2.1), then the aliases of its fields without content. */
export function showDecision({ tenant_id, decision_id, row, document, contents }: Shown): Decision {
  const timestamp = formatTime(row.logged_us)
  const refs = [...document.refs]
  const scores = [...document.scores]
  return {
    decision_id,
    tenant_id,
    store_id: row.store_id,
    session_id: document.session_id,
    model_id: row.model_id,
    query: document.query,
    retrieved_refs: refs,
    retrieved_contents: [...contents],
    retrieved_scores: scores,
    output: document.output,
    token_count: row.token_count,
    latency_ms: row.latency_ms,
    timestamp,
    parameters: document.parameters,
    signature: document.signature,
    public_key: document.public_key,
    key_id: document.key_id,
    record_digest: document.record_digest,
    memory_seq: row.memory_seq,
    log_seq: row.seq,
    redacted: document.redactions.length > 0,
    redactions: document.redactions.map((note) => ({ ...note })),
    created_at: timestamp,
    retrieved_fact_refs: refs,
    retrieval_scores: scores,
    output_tokens: row.token_count,
  }
}
