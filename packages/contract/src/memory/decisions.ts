// The decision trail (interface 2.1, 4.3): decisions of agents, with the memories they used.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Cursor,
  dateOrTime,
  Hex16,
  Hex32,
  integer,
  JsonObject,
  Label,
  Limit,
  Nullable,
  number,
  Offset,
  page,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { erasureReasons, IssuedCertificate } from '../erasure/erasure.ts'

const SafeCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Refs = Type.Array(Ref, { maxItems: limits.refs_per_decision })
const Scores = Type.Array(Type.Number(), { maxItems: limits.refs_per_decision })
const Text = Type.String()
const Latency = Nullable(
  number('Milliseconds the model took', { minimum: 0, maximum: limits.latency_ms }),
)

/**
 * A decision to log. The last four fields are aliases that existing clients send; the canonical
 * name takes precedence. `output` is required under one of its names. `retrieved_contents` and
 * `retrieved_scores` are empty or have one item for each ref.
 */
export const LogDecisionRequest = Type.Object({
  store_id: about(Label, 'Store the agent read from'),
  model_id: about(Label, 'Model that decided'),
  query: text('What the model was asked'),
  output: Type.Optional(text('What the model answered; required here or as `raw_output`')),
  session_id: Type.Optional(Nullable(about(Label, 'Session of the agent'))),
  retrieved_refs: Type.Optional({ ...Refs, description: 'Memories in the context of the model' }),
  retrieved_contents: Type.Optional(
    Type.Array(Text, {
      maxItems: limits.refs_per_decision,
      description: 'Their contents as the model saw them: none, or one for each ref',
    }),
  ),
  retrieved_scores: Type.Optional({
    ...Scores,
    description: 'Their scores: none, or one for each ref',
  }),
  token_count: Type.Optional(Nullable({ ...SafeCount, description: 'Tokens of the output' })),
  latency_ms: Type.Optional(Latency),
  parameters: Type.Optional(Nullable(about(JsonObject, 'Parameters of the model'))),
  memory_seq: Type.Optional(
    Nullable({
      ...SafeCount,
      description: 'Log position the context was read at; default: the current one',
    }),
  ),
  raw_output: Type.Optional(text('Same as `output`')),
  retrieved_fact_refs: Type.Optional({ ...Refs, description: 'Same as `retrieved_refs`' }),
  retrieval_scores: Type.Optional({ ...Scores, description: 'Same as `retrieved_scores`' }),
  output_tokens: Type.Optional(Nullable({ ...SafeCount, description: 'Same as `token_count`' })),
})
export type LogDecisionRequest = Static<typeof LogDecisionRequest>

const Redaction = Type.Object({
  field: text('Field in which text was replaced by the redaction marker'),
  count: integer('Number of places'),
  ref: Nullable(about(Ref, "The erased memory; null when the decision's own text was redacted")),
})

/** A decision. `signature` covers the 16 raw bytes of `decision_id`. No alias contains content. */
export const Decision = Type.Object(
  {
    decision_id: Hex16,
    tenant_id: Type.String(),
    store_id: Type.String(),
    session_id: Nullable(text('Session of the agent')),
    model_id: text('Model that decided'),
    query: text('What the model was asked'),
    retrieved_refs: Type.Array(Ref, { description: 'Memories in the context of the model' }),
    retrieved_contents: Type.Array(Text, { description: 'Their contents as the model saw them' }),
    retrieved_scores: Type.Array(Type.Number(), { description: 'Their scores' }),
    output: text('What the model answered'),
    token_count: Nullable({ ...SafeCount, description: 'Tokens of the output' }),
    latency_ms: Latency,
    timestamp: time('When the decision was recorded'),
    parameters: Nullable(about(JsonObject, 'Parameters of the model')),
    signature: about(Base64, 'Ed25519 signature over the 16 bytes of `decision_id`'),
    public_key: Base64,
    key_id: Type.String(),
    record_digest: about(Hex32, 'SHA-256 of the record, which the audit log holds'),
    memory_seq: { ...SafeCount, description: 'Log position the context was read at' },
    log_seq: SafeCount,
    redacted: boolean('Whether text of the decision was redacted'),
    redactions: Type.Array(Redaction, { description: 'What was redacted' }),
    created_at: Timestamp,
    retrieved_fact_refs: Type.Array(Ref, { description: 'Same as `retrieved_refs`' }),
    retrieval_scores: Type.Array(Type.Number(), { description: 'Same as `retrieved_scores`' }),
    output_tokens: Nullable({ ...SafeCount, description: 'Same as `token_count`' }),
  },
  { title: 'Decision', description: 'A recorded decision of an agent' },
)
export type Decision = Static<typeof Decision>

const MemoryAtDecision = Type.Object(
  {
    ref: Ref,
    content: Nullable(
      text('Content; null, like the next two fields, once it is erased or has expired'),
    ),
    written_at: Nullable(Timestamp),
    tenant_id: Nullable(text('The tenant `T`, or `T/x` in the namespace x')),
    valid_from: Nullable(Timestamp),
    valid_until: Nullable(Timestamp),
    erased: boolean('Whether the memory has been erased since'),
    expired: boolean('Whether the memory has expired and is not erased yet'),
  },
  { title: 'MemoryAtDecision', description: 'A memory as it was on record at the decision' },
)
export type MemoryAtDecision = Static<typeof MemoryAtDecision>

const UsedMemory = Type.Object({
  ref: Ref,
  content: Nullable(Text),
  score: Nullable(Type.Number()),
  state: Type.Enum(['live', 'superseded', 'expired', 'erased', 'unknown'], {
    description:
      'Current state of the memory. `expired`: it is not erased yet, but its content is hidden, ' +
      'here and in the decision, as that of an erased one.',
  }),
})
export type UsedMemory = Static<typeof UsedMemory>

const memoryState = {
  description: 'The store at `memory_seq`: up to 1,000 memories, ordered by number',
}

const DecisionReplay = Type.Object({
  decision: Decision,
  memory_state: Type.Array(MemoryAtDecision, memoryState),
  memory_state_truncated: boolean('Whether the store had more than 1,000 memories'),
  facts_used: Type.Array(UsedMemory, { description: 'Memories in the context of the model' }),
  facts_since_deleted: Type.Array(Ref, { description: 'Those of them that have been erased' }),
  memory_seq: { ...SafeCount, description: 'Log position the context was read at' },
  memory_state_at_decision: Type.Array(MemoryAtDecision, {
    description: 'Same as `memory_state`',
  }),
})
export type DecisionReplay = Static<typeof DecisionReplay>

const DecisionStats = Type.Object({
  total: integer('Decisions on record'),
  total_decisions: integer('Same as `total`'),
  models_used: integer('Number of different models'),
  stores_used: integer('Number of different stores'),
  sessions: integer('Number of different sessions'),
  avg_latency_ms: Nullable(number('Mean latency of the decisions that state it')),
  total_tokens: integer('Sum of the tokens of the decisions that state them'),
  first_decision: Nullable(time('When the first decision was recorded')),
  last_decision: Nullable(time('When the last decision was recorded')),
})

const Period = {
  from: Type.Optional(dateOrTime('Only decisions from this date or time on')),
  to: Type.Optional(dateOrTime('Only decisions up to and including this date or time')),
}
// Any text is valid. One that is not a decision id of the tenant is answered with 404.
const DecisionParams = Type.Object({ decision_id: Type.String() })

const read = { access: 'tenant', scope: 'decisions:read', method: 'GET', status: 200 } as const

export const decisions = {
  log: operation({
    id: 'decisions.log',
    method: 'POST',
    path: '/v1/decisions/log',
    summary: 'Records one decision, encrypted and signed, with its digest on the audit log',
    description: 'Use it after each decision of an agent that should be explainable later.',
    access: 'tenant',
    scope: 'decisions:write',
    body: LogDecisionRequest,
    tolerated: [
      'body.retrieval_options',
      'body.prompt_template_hash',
      'body.parsed_output',
      'body.parent_decision_id',
      'body.signing_key',
    ],
    example: {
      store_id: 'default',
      model_id: 'model-a',
      query: 'Where is home?',
      output: 'Porto',
      retrieved_refs: [1],
      retrieved_contents: ['home is in Porto'],
      retrieved_scores: [0.5],
    },
    status: 200,
    reply: Decision,
    refuses: [
      'lengths_differ',
      'rejected',
      'no_signing_key',
      'store_not_found',
      'policy_denied',
      'approval_required',
      'free_ceiling_reached',
    ],
    idempotent: true,
  }),
  list: operation({
    ...read,
    id: 'decisions.list',
    path: '/v1/decisions',
    summary: 'Lists decisions, newest first',
    description:
      'Use it to review decisions of a store, session, model or period. A page of very large ' +
      'decisions may have fewer items than `limit`; `next_cursor` continues it.',
    query: Type.Object({
      store_id: Type.Optional(text('Only decisions of this store')),
      session_id: Type.Optional(text('Only decisions of this session')),
      model_id: Type.Optional(text('Only decisions of this model')),
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
    summary: 'Returns totals over all decisions',
    description: 'Use it for reports on the use of models.',
    reply: DecisionStats,
    refuses: [],
  }),
  export: operation({
    ...read,
    id: 'decisions.export',
    path: '/v1/decisions/export',
    summary: 'Streams every decision as NDJSON, oldest first',
    description: 'Use it to download the decision trail. The reply is sent as a file.',
    query: Type.Object(Period),
    reply: Decision,
    reply_type: 'application/x-ndjson',
    refuses: [],
  }),
  get: operation({
    ...read,
    id: 'decisions.get',
    path: '/v1/decisions/{decision_id}',
    summary: 'Returns one decision',
    description: 'Use it to read a decision whose id is known.',
    params: DecisionParams,
    reply: Decision,
    refuses: ['decision_not_found'],
  }),
  replay: operation({
    ...read,
    id: 'decisions.replay',
    path: '/v1/decisions/{decision_id}/replay',
    summary: 'Returns a decision with the memories that were on record at the time',
    description:
      'Use it to explain why an agent decided as it did, and to see which of the memories it ' +
      'used have been superseded or erased since, or have expired.',
    params: DecisionParams,
    reply: DecisionReplay,
    refuses: ['decision_not_found'],
  }),
  scrub: operation({
    id: 'decisions.scrub',
    method: 'DELETE',
    path: '/v1/decisions/scrub/{fact_ref}',
    summary: 'Redacts the content of a memory in every decision that used it',
    description:
      'Use it to remove copies of a memory from decisions while the memory itself is kept; an ' +
      'erasure does this by itself.',
    access: 'tenant',
    scope: 'erasure:execute',
    params: Type.Object({ fact_ref: Ref }),
    status: 200,
    reply: Type.Object({
      fact_ref: Ref,
      decisions_affected: integer('Decisions that this request changed'),
      decision_ids: Type.Array(Hex16, { description: 'Ids of those decisions' }),
    }),
    refuses: ['legal_hold'],
  }),
} as const

/** Redacting a decision's own text is an erasure, so its handler is in the erasure slice. */
export const decisionErasure = {
  redact: operation({
    id: 'decisions.redact',
    method: 'POST',
    path: '/v1/decisions/{decision_id}/redact',
    summary: 'Erases the text of a decision and certifies it',
    description:
      'Use it when a decision itself contains personal data. It erases query, output, ' +
      'parameters, session id and contents that are not stored memories; the memories it used ' +
      'are erased separately.',
    access: 'tenant',
    scope: 'erasure:execute',
    params: DecisionParams,
    body: Type.Object(erasureReasons),
    body_optional: true,
    example: { legal_basis: 'contract' },
    status: 200,
    reply: IssuedCertificate,
    refuses: ['decision_not_found', 'legal_hold', 'no_signing_key'],
    idempotent: true,
  }),
} as const
