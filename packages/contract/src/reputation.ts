// Reputation (interface 4.15): governed decisions, their outcomes and reviews, scores, attestations.

import Type, { type Static, type TSchema } from 'typebox'
import {
  Cursor,
  Hex16,
  Hex32,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Timestamp,
} from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

export const JUDGMENTS = ['certify', 'reject'] as const
export const VERIFIABILITY_TAGS = ['judgment', 'rule'] as const
/** `paid` and `default` resolve a decision; under the others it stays pending. */
export const OUTCOMES = ['paid', 'default', 'disputed', 'late', 'written_off'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Of a decision and of everything that is joined to it. */
export const DIMENSION_DEFAULT = 'receivables'

/** Items of one bulk request; the general limit of a body holds too. */
export const CGR_BULK_ITEMS_MAX = 10_000
/** Reviews that one referent takes, and agents that may have judged it. */
export const REVIEWS_PER_REFERENT_MAX = 1_000
export const JUDGMENTS_PER_REFERENT_MAX = 100
/** Pairs of a judgment and a review that one bulk request may touch. */
export const CGR_BULK_PAIRS_MAX = 1_000_000
/** Bytes of `context` as JSON. */
export const CGR_CONTEXT_BYTES_MAX = 64 * 1024
export const CGR_REASON_CHARS_MAX = 10_000
export const CGR_ROTATIONS_PER_CHAIN_MAX = 1_000

const optional = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema))

/** An agent, a reviewer: any label, `/` and `@` included. */
const Handle = Label
/** The invoice, the change, the case: what the decision is about. */
const Referent = Type.String({ ...Label, maxLength: limits.ref_chars })
const Dimension = Type.Optional(
  Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$', default: DIMENSION_DEFAULT }),
)
/** 32 bytes of Ed25519 in hex, either case; answered in lower case. */
const PublicKeyHex = Type.String({ pattern: '^[0-9a-fA-F]{64}$' })
/** 64 bytes of Ed25519 in hex. */
const SignatureHex = Type.String({ pattern: '^[0-9a-fA-F]{128}$' })
const Source = Type.Optional(Type.String({ ...Label, default: 'manual' }))

export const GovernedDecisionRequest = Type.Object({
  decision: Type.Enum(JUDGMENTS),
  reason: Type.Optional(Type.String({ maxLength: CGR_REASON_CHARS_MAX, default: '' })),
  /** What the decision is about; without it no outcome can ever join. */
  invoice_id: optional(Referent),
  /** The fields the decision was made on: sealed, never on the log. */
  context: Type.Optional(JsonObject),
  model_id: Type.Optional(Type.String({ ...Label, default: 'kapwork-verify-agent-v1' })),
  agent_handle: Type.Optional(
    Type.String({ ...Label, default: 'invoice-certifier@kapwork-receivables' }),
  ),
  /** `judgment` can earn reputation, `rule` is recorded and earns nothing. */
  verifiability_tag: Type.Optional(Type.Enum(VERIFIABILITY_TAGS, { default: 'judgment' })),
  /** Recorded; it has no influence on a score. */
  agent_tier: optional(Type.Number({ minimum: 0, maximum: 1 })),
  agent_key: optional(PublicKeyHex),
  /** By `agent_key` over the decision: proves possession. Without it the agent stays unproven. */
  agent_signature: optional(SignatureHex),
  /** Part of what is signed; on one referent an older statement never replaces a newer one. */
  signed_at: optional(Timestamp),
  dimension: Dimension,
})
export type GovernedDecisionRequest = Static<typeof GovernedDecisionRequest>

export const OutcomeRequest = Type.Object({
  invoice_ref: Referent,
  outcome: Type.Enum(OUTCOMES),
  /** Kept as data: of two outcomes the one that arrived later counts. Default: now. */
  outcome_date: optional(Timestamp),
  amount_recovered: optional(Type.Number()),
  source: Source,
  /** Who reports. Equal to the key of a decision on the referent it is refused. */
  reporter_key: optional(PublicKeyHex),
  /** By `reporter_key` over the outcome. */
  reporter_signature: optional(SignatureHex),
  /** Part of what is signed. */
  signed_at: optional(Timestamp),
  dimension: Dimension,
})
export type OutcomeRequest = Static<typeof OutcomeRequest>

export const ReviewRequest = Type.Object({
  invoice_ref: Referent,
  /** With `invoice_ref` what a later review replaces an earlier one by. */
  reviewer_handle: Handle,
  rating: Type.Number({ minimum: 0, maximum: 1 }),
  /** Whose decision is reviewed; absent: everybody's who certified the referent. */
  agent_handle: optional(Handle),
  decision_id: optional(Hex16),
  review_date: optional(Timestamp),
  source: Source,
  dimension: Dimension,
})
export type ReviewRequest = Static<typeof ReviewRequest>

export const DecisionRecord = Type.Object({
  decision_id: Hex16,
  tenant_id: Type.String(),
  /** A pseudonym of what was sent, `OUT-` and 24 hex digits; it can be sent in its place. */
  invoice_id: Nullable(Type.String()),
  decision: Type.Enum(JUDGMENTS),
  reason: Type.String(),
  reason_code: Type.Null(),
  agent_handle: Type.String(),
  verifiability_tag: Type.Enum(VERIFIABILITY_TAGS),
  agent_tier: Nullable(Type.Number()),
  model_id: Type.String(),
  /** JSON text of decision and reason. */
  raw_output: Type.String(),
  dimension: Type.String(),
  /** Whether possession of `agent_key` was proven. */
  proven: Type.Boolean(),
  created_at: Timestamp,
  log_seq: Type.Integer(),
  /** Base64; null where governed decisions are not signed. */
  signature: Nullable(Type.String()),
  public_key: Nullable(Type.String()),
})
export type DecisionRecord = Static<typeof DecisionRecord>

const recorded = {
  recorded_at: Timestamp,
  /** Whether an earlier record stood in its place; that one counts no more. */
  superseded_prior: Type.Boolean(),
  /** Whether the very same stood there already: nothing was written. */
  idempotent: Type.Boolean(),
}

export const RecordedOutcome = Type.Object({
  invoice_ref: Type.String(),
  outcome: Type.Enum(OUTCOMES),
  ...recorded,
})
export type RecordedOutcome = Static<typeof RecordedOutcome>

export const RecordedReview = Type.Object({
  invoice_ref: Type.String(),
  reviewer_handle: Type.String(),
  /** In whole millionths. */
  rating: Type.Number(),
  ...recorded,
})
export type RecordedReview = Static<typeof RecordedReview>

const recordedBulk = <T extends TSchema>(item: T) =>
  Type.Object({
    count: Type.Integer(),
    recorded: Type.Array(item),
    /** Items that a later one of the same request took the place of. */
    collapsed_in_batch: Type.Integer(),
  })

const Count = Type.Integer({ minimum: 0 })

const TierGate = Type.Object({
  agent_handle: Type.String(),
  subject_key: Nullable(Type.String()),
  subject_did: Nullable(Type.String()),
  dimension: Type.String(),
  tier: Type.Enum(['gold', 'silver', 'bronze', 'unproven']),
  cgr_score: Type.Number(),
  confidence: Type.Number(),
  n_resolved: Count,
  capability_tier: Type.Null(),
  as_of: Timestamp,
  rationale: Type.String(),
})

const scoreFields = {
  agent_handle: Type.String(),
  /** Mean of the posterior. */
  cgr_score: Type.Number(),
  /** Mass of the posterior: `n_resolved` + 2 while no review is live. */
  confidence: Type.Number(),
  n_resolved: Count,
  /** Judgment-certifies without `paid` or `default`, those in `n_unscored` included. */
  n_pending: Count,
  /** Reserved. */
  capability_tier: Type.Null(),
  as_of: Timestamp,
  dimension: Type.String(),
  /** The key now in use; null: known by its handle only. */
  subject_key: Nullable(Type.String()),
  /** `did:key` of the first key of its rotations. */
  subject_did: Nullable(Type.String()),
  post_alpha: Type.Number(),
  post_beta: Type.Number(),
  /** The value that the posterior exceeds with 95 %. */
  cgr_lower: Type.Number(),
  /** Of the pending: their outcome is known and scores nothing (disputed, late, written off). */
  n_unscored: Count,
  /** Whether every decision in it was signed by the agent's key. */
  proven: Type.Boolean(),
  /** The newest entry of the log this takes account of; null: the log is empty. */
  log_seq: Nullable(Type.Integer()),
}

export const ScoreObject = Type.Object(scoreFields)
export type ScoreObject = Static<typeof ScoreObject>

const AgentScore = Type.Object({
  ...scoreFields,
  /** The same once more, as existing clients read it. */
  score: ScoreObject,
  tiergate: TierGate,
  /** Other agents that go by the same handle; list them with `agent_handle`. */
  same_handle: Count,
})
export type AgentScore = Static<typeof AgentScore>

export const Attestation = Type.Object({
  ...TierGate.properties,
  schema: Type.String(),
  issuer: Type.String(),
  issuer_key_id: Type.String(),
  /** Ed25519 in hex over the RFC 8785 bytes of the members above. */
  signature: Type.String(),
  /** The entry of the log that says it was issued. */
  evidence_ref: Nullable(Type.String()),
})
export type Attestation = Static<typeof Attestation>

const Rotation = Type.Object({
  prev_key: Type.String(),
  new_key: Type.String(),
  seq: Type.Integer(),
  not_before: Nullable(Type.String()),
  sig: Type.String(),
})
export type Rotation = Static<typeof Rotation>

export const CgrSettings = Type.Object({
  /** Refuses outcomes and reviews that come with the credential of the decision. */
  compare_credentials: Type.Boolean(),
})
export type CgrSettings = Static<typeof CgrSettings>

const reading = { access: 'tenant', scope: 'cgr:read', method: 'GET', status: 200 } as const
const writing = { access: 'tenant', scope: 'cgr:write', method: 'POST', status: 200 } as const

const AgentParams = Type.Object({ agent_handle: Handle })
const subjectQuery = {
  dimension: Dimension,
  /** Which of several agents of one handle. */
  subject_key: Type.Optional(PublicKeyHex),
}
const bulk = <T extends TSchema>(item: T) => Type.Array(item, { maxItems: CGR_BULK_ITEMS_MAX })

const LATEST =
  'Of two records the one that arrived later counts; its date is kept as data. Reviews and ' +
  'outcomes join decisions of the same `dimension` by `invoice_ref`, which is stored and answered ' +
  'as a pseudonym only. '

export const reputation = {
  decide: operation({
    ...writing,
    id: 'cgr.decide',
    path: '/v1/governed/decisions',
    summary: 'Records a governed decision of an agent',
    description:
      'One judgment counts for each agent and referent. The same decision again answers the one ' +
      'there is with `idempotent`; another one takes its place until the referent has its outcome. ' +
      'Signed by `agent_key` the decision counts for the key; without the signature it counts for ' +
      'an unproven agent of its own, so that nobody can add to the record of a key they lack.',
    body: GovernedDecisionRequest,
    reply: Type.Object({
      decision_record: DecisionRecord,
      superseded_prior: Type.Boolean(),
      idempotent: Type.Boolean(),
    }),
    refuses: [
      'rejected',
      'possession_unproven',
      'rotation_refused',
      'outcome_known',
      'older_statement',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  outcome: operation({
    ...writing,
    id: 'cgr.outcome',
    path: '/v1/governed/outcomes',
    summary: 'Records what became of a referent',
    description:
      `${LATEST}\`paid\` and \`default\` resolve the decisions on it; \`disputed\`, \`late\` and ` +
      '`written_off` leave them pending and are counted as `n_unscored`.',
    body: OutcomeRequest,
    reply: RecordedOutcome,
    refuses: ['rejected', 'possession_unproven', 'self_report', 'idempotency_key_reused'],
    idempotent: true,
  }),
  outcomes: operation({
    ...writing,
    id: 'cgr.outcomes',
    path: '/v1/governed/outcomes/bulk',
    summary: 'Records many outcomes, all or none',
    description: `${LATEST}Of several items of one referent the last one is recorded.`,
    body: bulk(OutcomeRequest),
    reply: recordedBulk(RecordedOutcome),
    refuses: ['rejected', 'possession_unproven', 'self_report', 'idempotency_key_reused'],
    idempotent: true,
  }),
  review: operation({
    ...writing,
    id: 'cgr.review',
    path: '/v1/governed/reviews',
    summary: 'Records what a reviewer thinks of the decisions on a referent',
    description:
      `${LATEST}It weighs until the referent has its outcome; from then on it tells how well the ` +
      'reviewer rates.',
    body: ReviewRequest,
    reply: RecordedReview,
    refuses: ['rejected', 'self_review', 'idempotency_key_reused'],
    idempotent: true,
  }),
  reviews: operation({
    ...writing,
    id: 'cgr.reviews',
    path: '/v1/governed/reviews/bulk',
    summary: 'Records many reviews, all or none',
    description: `${LATEST}Of several items of one referent and reviewer the last one is recorded.`,
    body: bulk(ReviewRequest),
    reply: recordedBulk(RecordedReview),
    refuses: ['rejected', 'self_review', 'idempotency_key_reused'],
    idempotent: true,
  }),
  scores: operation({
    ...reading,
    id: 'cgr.scores',
    path: '/v1/cgr/scores',
    summary: 'Scores of all agents in a dimension, highest first',
    description: '`limit` and `offset` page the agents; a score takes account of everything.',
    query: Type.Object({
      dimension: Dimension,
      /** Only agents that have used this handle. */
      agent_handle: Type.Optional(Handle),
      limit: Limit({ min: 1, max: 1_000, default: 500 }),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: Type.Object({
      scores: Type.Array(ScoreObject),
      count: Count,
      as_of: Timestamp,
      dimension: Type.String(),
      limit: Type.Integer(),
      offset: Type.Integer(),
      next_cursor: Nullable(Type.String()),
    }),
    refuses: ['rejected'],
  }),
  score: operation({
    ...reading,
    id: 'cgr.score',
    path: '/v1/cgr/scores/{agent_handle}',
    greedy: true,
    summary: 'The score of one agent, by its handle',
    description:
      'Where several agents go by one handle, the proven one that used it first is answered, or ' +
      'the one of `subject_key`; `same_handle` says that there are others.',
    params: AgentParams,
    query: Type.Object(subjectQuery),
    reply: AgentScore,
    refuses: ['score_not_found'],
  }),
  issuer: operation({
    id: 'cgr.issuer',
    access: 'public',
    method: 'GET',
    path: '/v1/cgr/issuer',
    summary: 'Who signs attestations, and with which key',
    status: 200,
    reply: Type.Object({
      issuer: Type.String(),
      issuer_key_id: Hex32,
      /** Hex. */
      public_key: Hex32,
      schema: Type.String(),
    }),
    refuses: ['no_signing_key'],
  }),
  attest: operation({
    ...writing,
    id: 'cgr.attest',
    path: '/v1/cgr/attestations',
    summary: 'Signs the score an agent has now',
    description:
      'What says the same as the newest attestation of the agent, on the same day, is not signed ' +
      'again: that one is answered.',
    body: Type.Object({
      agent_handle: Handle,
      subject_key: optional(PublicKeyHex),
      dimension: Dimension,
    }),
    reply: Attestation,
    refuses: ['score_not_found', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  attestations: operation({
    ...reading,
    id: 'cgr.attestations',
    path: '/v1/cgr/attestations',
    summary: 'Attestations that were issued, newest first; signs nothing',
    query: Type.Object({ limit: Limit(limits.records_page), offset: Offset, cursor: Cursor }),
    reply: page('attestations', Attestation),
    refuses: ['rejected'],
  }),
  attestation: operation({
    ...reading,
    id: 'cgr.attestation',
    path: '/v1/cgr/attestation/{agent_handle}',
    greedy: true,
    summary: 'The newest attestation of an agent; signs nothing',
    params: AgentParams,
    query: Type.Object(subjectQuery),
    reply: Attestation,
    refuses: ['score_not_found', 'attestation_not_found'],
  }),
  rotate: operation({
    ...writing,
    id: 'cgr.rotate',
    path: '/v1/cgr/rotation',
    summary: 'Records that a key is followed by another, signed by the key that ends',
    description:
      'Links of a chain come in order: the next number, from the key now at its end, to a key that ' +
      'has no record of its own, and not before the link in front of it. From `not_before` on the ' +
      'new key decides and the old one no longer does; all of them count as one agent.',
    body: Type.Object({
      prev_key: PublicKeyHex,
      new_key: PublicKeyHex,
      seq: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })),
      /** Signed as it is sent; left out, the empty text is what is signed. */
      not_before: optional(Timestamp),
      /** Hex, by `prev_key` over the RFC 8785 bytes of the four members above. */
      sig: SignatureHex,
      /** The same by `new_key`: it agrees. */
      new_sig: optional(SignatureHex),
      source: Type.Optional(Type.String({ ...Label, default: 'agent' })),
    }),
    reply: Type.Object({
      prev_key: Type.String(),
      new_key: Type.String(),
      seq: Type.Integer(),
      not_before: Nullable(Timestamp),
      recorded: Type.Literal(true),
    }),
    refuses: ['rejected', 'possession_unproven', 'rotation_refused', 'idempotency_key_reused'],
    idempotent: true,
  }),
  rotations: operation({
    ...reading,
    id: 'cgr.rotations',
    path: '/v1/cgr/rotations',
    summary: 'Rotations of keys, oldest first',
    query: Type.Object({
      /** The first key of a chain. */
      anchor: Type.Optional(PublicKeyHex),
      /** Any key of a chain. */
      current: Type.Optional(PublicKeyHex),
      limit: Limit(limits.page),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: page('rotations', Rotation),
    refuses: ['rejected'],
  }),
  settings: operation({
    ...reading,
    id: 'cgr.settings',
    path: '/v1/cgr/settings',
    summary: 'What the tenant asks of outcomes and reviews',
    reply: CgrSettings,
    refuses: [],
  }),
  change_settings: operation({
    id: 'cgr.change_settings',
    access: 'tenant',
    scope: 'governance:admin',
    method: 'PUT',
    path: '/v1/cgr/settings',
    summary: 'Changes what the tenant asks of outcomes and reviews',
    body: Type.Object({ compare_credentials: Type.Optional(Type.Boolean()) }),
    status: 200,
    reply: CgrSettings,
    refuses: [],
  }),
} as const
