// What reputation records and answers: decisions, outcomes, reviews, scores, attestations.

import Type, { type Static, type TSchema } from 'typebox'
import { Hex16, JsonObject, Label, Nullable, Timestamp } from './common.ts'
import { limits } from './limits.ts'

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
export const JUDGMENTS_PER_REFERENT_MAX = 32
/** Pairs of a judgment and a review that one bulk request may touch. */
export const CGR_BULK_PAIRS_MAX = 50_000
/** Bytes of `context` as JSON. */
export const CGR_CONTEXT_BYTES_MAX = 64 * 1024
export const CGR_REASON_CHARS_MAX = 10_000
export const CGR_ROTATIONS_PER_CHAIN_MAX = 100

export const optional = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema))

/** An agent, a reviewer: any label, `/` and `@` included. */
export const Handle = Label
/** The invoice, the change, the case: what the decision is about. */
const Referent = Type.String({ ...Label, maxLength: limits.ref_chars })
export const Dimension = Type.Optional(
  Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$', default: DIMENSION_DEFAULT }),
)
/** 32 bytes of Ed25519 in hex, either case; answered in lower case. */
export const PublicKeyHex = Type.String({ pattern: '^[0-9a-fA-F]{64}$' })
/** 64 bytes of Ed25519 in hex. */
export const SignatureHex = Type.String({ pattern: '^[0-9a-fA-F]{128}$' })
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
  /** Part of what is signed; an older statement of a reporter never replaces a newer one. */
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

export const recordedBulk = <T extends TSchema>(item: T) =>
  Type.Object({
    count: Type.Integer(),
    recorded: Type.Array(item),
    /** Items that a later one of the same request took the place of. */
    collapsed_in_batch: Type.Integer(),
  })

export const Count = Type.Integer({ minimum: 0 })

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

export const AgentScore = Type.Object({
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

export const Rotation = Type.Object({
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
  /** A judgment stands once its outcome is `paid` or `default`: another one is 409. */
  judgments_final: Type.Boolean(),
})
export type CgrSettings = Static<typeof CgrSettings>
