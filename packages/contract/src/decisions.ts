// The decision trail (interface 2.1, 4.3): what an agent decided, with what, and what it read.

import Type, { type Static } from 'typebox'
import {
  Base64,
  Cursor,
  Hex16,
  Hex32,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Ref,
  Timestamp,
} from './common.ts'
import { erasureReasons, IssuedCertificate } from './erasure.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const Seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Refs = Type.Array(Ref, { maxItems: limits.refs_per_decision })
const Scores = Type.Array(Type.Number(), { maxItems: limits.refs_per_decision })
const Text = Type.String()
const Latency = Nullable(Type.Number({ minimum: 0, maximum: limits.latency_ms }))

/**
 * Names on the right are aliases existing clients send; the canonical name wins where both come.
 * `output` is required under one of its names. `retrieved_contents` and `retrieved_scores` are
 * empty or have one item for each ref. Any other field is ignored.
 */
export const LogDecisionRequest = Type.Object({
  store_id: Label,
  model_id: Label,
  query: Text,
  output: Type.Optional(Text),
  session_id: Type.Optional(Nullable(Label)),
  retrieved_refs: Type.Optional(Refs),
  retrieved_contents: Type.Optional(Type.Array(Text, { maxItems: limits.refs_per_decision })),
  retrieved_scores: Type.Optional(Scores),
  token_count: Type.Optional(Nullable(Count)),
  latency_ms: Type.Optional(Latency),
  parameters: Type.Optional(Nullable(JsonObject)),
  memory_seq: Type.Optional(Nullable(Seq)),
  raw_output: Type.Optional(Text),
  retrieved_fact_refs: Type.Optional(Refs),
  retrieval_scores: Type.Optional(Scores),
  output_tokens: Type.Optional(Nullable(Count)),
})
export type LogDecisionRequest = Static<typeof LogDecisionRequest>

/** Where text of a record was replaced by the marker, and how often. */
const Redaction = Type.Object({
  field: Type.String(),
  count: Type.Integer(),
  /** The fact that was removed; null when the decision's own text was. */
  ref: Nullable(Ref),
})

/** `signature` is over the 16 raw bytes of `decision_id`. Aliases follow; none holds content. */
export const Decision = Type.Object({
  decision_id: Hex16,
  tenant_id: Type.String(),
  store_id: Type.String(),
  session_id: Nullable(Type.String()),
  model_id: Type.String(),
  query: Text,
  retrieved_refs: Type.Array(Ref),
  retrieved_contents: Type.Array(Text),
  retrieved_scores: Type.Array(Type.Number()),
  output: Text,
  token_count: Nullable(Count),
  latency_ms: Latency,
  timestamp: Timestamp,
  parameters: Nullable(JsonObject),
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
  record_digest: Hex32,
  memory_seq: Seq,
  log_seq: Seq,
  redacted: Type.Boolean(),
  redactions: Type.Array(Redaction),
  created_at: Timestamp,
  retrieved_fact_refs: Type.Array(Ref),
  retrieval_scores: Type.Array(Type.Number()),
  output_tokens: Nullable(Count),
})
export type Decision = Static<typeof Decision>

const MemoryAtDecision = Type.Object({
  ref: Ref,
  /** Null, as the two after it: erased since, and only its tombstone is left. */
  content: Nullable(Text),
  written_at: Nullable(Timestamp),
  tenant_id: Nullable(Type.String()),
  valid_from: Nullable(Timestamp),
  valid_until: Nullable(Timestamp),
  erased: Type.Boolean(),
})
export type MemoryAtDecision = Static<typeof MemoryAtDecision>

const FactUsed = Type.Object({
  ref: Ref,
  content: Nullable(Text),
  score: Nullable(Type.Number()),
  state: Type.Enum(['live', 'superseded', 'erased', 'unknown']),
})
export type FactUsed = Static<typeof FactUsed>

const DecisionReplay = Type.Object({
  decision: Decision,
  /** The store as it was known at `memory_seq`: at most 1,000 memories, in the order of refs. */
  memory_state: Type.Array(MemoryAtDecision),
  memory_state_truncated: Type.Boolean(),
  facts_used: Type.Array(FactUsed),
  facts_since_deleted: Type.Array(Ref),
  memory_seq: Seq,
  memory_state_at_decision: Type.Array(MemoryAtDecision),
})
export type DecisionReplay = Static<typeof DecisionReplay>

const DecisionStats = Type.Object({
  total: Type.Integer(),
  total_decisions: Type.Integer(),
  models_used: Type.Integer(),
  stores_used: Type.Integer(),
  sessions: Type.Integer(),
  /** Over the decisions that state it; null when none does. */
  avg_latency_ms: Nullable(Type.Number()),
  total_tokens: Type.Integer(),
  first_decision: Nullable(Timestamp),
  last_decision: Nullable(Timestamp),
})

const Period = { from: Type.Optional(Timestamp), to: Type.Optional(Timestamp) }
// Any text: what is not one of the tenant's ids is not found, whatever it looks like.
const DecisionParams = Type.Object({ decision_id: Type.String() })

const read = { access: 'tenant', scope: 'decisions:read', method: 'GET', status: 200 } as const

export const decisions = {
  log: operation({
    id: 'decisions.log',
    method: 'POST',
    path: '/v1/decisions/log',
    summary: 'Records one decision, sealed and signed, and puts its digest on the log',
    access: 'tenant',
    scope: 'decisions:write',
    body: LogDecisionRequest,
    status: 200,
    reply: Decision,
    refuses: [
      'lengths_differ',
      'rejected',
      'no_signing_key',
      'store_not_found',
      'policy_denied',
      'approval_required',
    ],
    idempotent: true,
  }),
  list: operation({
    ...read,
    id: 'decisions.list',
    path: '/v1/decisions',
    summary: 'Decisions, newest first; `from` and `to` are inclusive',
    description:
      'A page ends before its limit when its records are very large; next_cursor continues it.',
    query: Type.Object({
      store_id: Type.Optional(Type.String()),
      session_id: Type.Optional(Type.String()),
      model_id: Type.Optional(Type.String()),
      ...Period,
      limit: Limit(limits.page),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: page('decisions', Decision),
    refuses: ['rejected'],
  }),
  stats: operation({
    ...read,
    id: 'decisions.stats',
    path: '/v1/decisions/stats',
    summary: 'Totals over all decisions',
    reply: DecisionStats,
    refuses: [],
  }),
  export: operation({
    ...read,
    id: 'decisions.export',
    path: '/v1/decisions/export',
    summary: 'Every decision as NDJSON, oldest first, as a download',
    query: Type.Object(Period),
    reply: Decision,
    reply_type: 'application/x-ndjson',
    refuses: [],
  }),
  get: operation({
    ...read,
    id: 'decisions.get',
    path: '/v1/decisions/{decision_id}',
    summary: 'One decision',
    params: DecisionParams,
    reply: Decision,
    refuses: ['decision_not_found'],
  }),
  replay: operation({
    ...read,
    id: 'decisions.replay',
    path: '/v1/decisions/{decision_id}/replay',
    summary: 'A decision with the memory as it was known then, and what was erased since',
    params: DecisionParams,
    reply: DecisionReplay,
    refuses: ['decision_not_found'],
  }),
  scrub: operation({
    id: 'decisions.scrub',
    method: 'DELETE',
    path: '/v1/decisions/scrub/{fact_ref}',
    summary: 'Replaces a fact by a redaction marker in every decision that used it',
    access: 'tenant',
    scope: 'erasure:execute',
    params: Type.Object({ fact_ref: Ref }),
    status: 200,
    reply: Type.Object({
      fact_ref: Ref,
      /** Decisions changed by this call; those scrubbed before are not counted again. */
      decisions_affected: Type.Integer(),
      decision_ids: Type.Array(Hex16),
    }),
    refuses: ['legal_hold'],
  }),
} as const

/** Removing a decision's own text is an erasure: its handler belongs to the erasure slice. */
export const decisionErasure = {
  redact: operation({
    id: 'decisions.redact',
    method: 'POST',
    path: '/v1/decisions/{decision_id}/redact',
    summary: 'Erases all text of a decision that is no stored memory, and certifies it',
    description:
      'Query, output, parameters, session id and contents that are not of a stored memory; the ' +
      'memories it used are erased one by one.',
    access: 'tenant',
    scope: 'erasure:execute',
    params: DecisionParams,
    body: Type.Object(erasureReasons),
    body_optional: true,
    status: 200,
    reply: IssuedCertificate,
    refuses: ['decision_not_found', 'legal_hold', 'no_signing_key'],
    idempotent: true,
  }),
} as const
