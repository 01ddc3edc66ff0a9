// Records of reputation: decisions, outcomes, reviews, scores, attestations and key rotations.

import Type, { type Static, type TSchema } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Count,
  count,
  dateOrTime,
  Hex16,
  Hex32,
  integer,
  JsonObject,
  Label,
  label,
  labelOr,
  Nullable,
  number,
  OptionalNullable,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'

export const JUDGMENTS = ['certify', 'reject'] as const
export const VERIFIABILITY_TAGS = ['judgment', 'rule'] as const
/** `paid` and `default` resolve a decision; with the others it stays pending. */
export const OUTCOMES = ['paid', 'default', 'disputed', 'late', 'written_off'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The default dimension of a decision and of everything that refers to it. */
export const DIMENSION_DEFAULT = 'receivables'

/** The most items in one bulk request. The general limit of a body applies too. */
export const CGR_BULK_ITEMS_MAX = 10_000
/** The most reviews per referent, and the most agents that may judge one. */
export const REVIEWS_PER_REFERENT_MAX = 1_000
export const JUDGMENTS_PER_REFERENT_MAX = 32
/** The most pairs of a judgment and a review that one bulk request may affect. */
export const CGR_BULK_PAIRS_MAX = 50_000
/** Size limit of `context` as JSON. */
export const CGR_CONTEXT_BYTES_MAX = 64 * 1024
const CGR_REASON_CHARS_MAX = 10_000
export const CGR_ROTATIONS_PER_CHAIN_MAX = 100

export const Judgment = Type.Enum(JUDGMENTS, {
  title: 'Judgment',
  description: 'What the agent decided',
})
export const OutcomeName = Type.Enum(OUTCOMES, {
  title: 'Outcome',
  description: '`paid` and `default` resolve a decision; under the others it stays pending',
})
const tag = {
  title: 'VerifiabilityTag',
  description: '`judgment` can earn reputation; `rule` is recorded and earns none',
}
export const VerifiabilityTag = Type.Enum(VERIFIABILITY_TAGS, tag)

/** An agent or a reviewer: any label, `/` and `@` included. */
export const Handle = Label
/** What a decision is about: an invoice, a change, a case. */
export const Referent = label({
  title: 'Referent',
  description: 'What the decision is about, for example an invoice',
  maxLength: limits.ref_chars,
})
export const Dimension = Type.Optional(
  Type.String({
    title: 'Dimension',
    description: 'Subject area; decisions, outcomes and reviews are joined within one',
    pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$',
    default: DIMENSION_DEFAULT,
  }),
)
/** An Ed25519 public key, 32 bytes in hexadecimal of either case. Replies use lower case. */
export const PublicKeyHex = Type.String({
  title: 'PublicKeyHex',
  description: 'Ed25519 public key in hexadecimal',
  pattern: '^[0-9a-fA-F]{64}$',
})
export const SignatureHex = Type.String({
  title: 'SignatureHex',
  description: 'Ed25519 signature in hexadecimal',
  pattern: '^[0-9a-fA-F]{128}$',
})
const Source = Type.Optional(labelOr('manual', 'Where the information comes from'))

const signedAt = (description: string) => OptionalNullable(time(description))

export const GovernedDecisionRequest = Type.Object({
  decision: Judgment,
  reason: Type.Optional(text('Why', { maxLength: CGR_REASON_CHARS_MAX, default: '' })),
  invoice_id: OptionalNullable(
    about(Referent, 'What the decision is about; without it no outcome can be joined'),
  ),
  context: Type.Optional(
    about(JsonObject, 'The data the decision was based on: encrypted, never on the audit log'),
  ),
  model_id: Type.Optional(labelOr('kapwork-verify-agent-v1', 'Model that decided')),
  agent_handle: Type.Optional(
    labelOr('invoice-certifier@kapwork-receivables', 'Handle of the agent'),
  ),
  verifiability_tag: Type.Optional(Type.Enum(VERIFIABILITY_TAGS, { ...tag, default: 'judgment' })),
  agent_tier: OptionalNullable(
    number('Tier of the agent as stated by the caller; does not influence the score', {
      minimum: 0,
      maximum: 1,
    }),
  ),
  agent_key: OptionalNullable(about(PublicKeyHex, 'Key of the agent')),
  agent_signature: OptionalNullable(
    about(
      SignatureHex,
      'By `agent_key` over the decision: proves possession; without it the agent is unproven',
    ),
  ),
  signed_at: signedAt('Part of the signed bytes; an older statement never replaces a newer one'),
  dimension: Dimension,
})
export type GovernedDecisionRequest = Static<typeof GovernedDecisionRequest>

export const OutcomeRequest = Type.Object(
  {
    invoice_ref: Referent,
    outcome: OutcomeName,
    outcome_date: OptionalNullable(
      dateOrTime('When it happened, stored as data; of two outcomes the later arrival counts'),
    ),
    amount_recovered: OptionalNullable(number('Amount recovered')),
    source: Source,
    reporter_key: OptionalNullable(
      about(PublicKeyHex, 'Key of the reporter; refused if it decided on the referent'),
    ),
    reporter_signature: OptionalNullable(about(SignatureHex, 'By `reporter_key` over the outcome')),
    signed_at: signedAt('Part of the signed bytes; an older statement never replaces a newer one'),
    dimension: Dimension,
  },
  { title: 'OutcomeRequest', description: 'An outcome to record' },
)
export type OutcomeRequest = Static<typeof OutcomeRequest>

export const ReviewRequest = Type.Object(
  {
    invoice_ref: Referent,
    reviewer_handle: about(
      Handle,
      'Handle of the reviewer; a later review of the same referent replaces an earlier one',
    ),
    rating: number('Rating of the decisions, from 0 to 1', { minimum: 0, maximum: 1 }),
    agent_handle: OptionalNullable(
      about(Handle, 'Whose decision is reviewed; default: all agents that certified the referent'),
    ),
    decision_id: OptionalNullable(about(Hex16, 'The decision that is reviewed')),
    review_date: OptionalNullable(dateOrTime('When the review was made')),
    source: Source,
    dimension: Dimension,
  },
  { title: 'ReviewRequest', description: 'A review to record' },
)
export type ReviewRequest = Static<typeof ReviewRequest>

const INVOICE_REASONS = [
  'amount_or_po_missing',
  'amount_exceeds_po',
  'no_debtor_approval',
  'duplicate',
  'clean',
] as const

export const DecisionRecord = Type.Object(
  {
    decision_id: Hex16,
    tenant_id: Type.String(),
    invoice_id: Nullable(
      text('Pseudonym of the referent: `OUT-` and 24 hexadecimal digits; accepted in its place'),
    ),
    decision: Judgment,
    reason: text('Why'),
    reason_code: Nullable(
      about(
        Type.Enum(INVOICE_REASONS, { title: 'InvoiceReason', description: 'Why, as a code' }),
        'The decisive rule of `verify-batch`; null for any other decision',
      ),
    ),
    agent_handle: text('Handle of the agent'),
    verifiability_tag: VerifiabilityTag,
    agent_tier: Nullable(number('As given')),
    model_id: text('Model that decided'),
    raw_output: text('Decision and reason as a JSON text'),
    dimension: text('Subject area'),
    proven: boolean('Whether possession of `agent_key` was proven'),
    created_at: Timestamp,
    log_seq: Type.Integer(),
    signature: Nullable(text('Signature in base64; null where governed decisions are not signed')),
    public_key: Nullable(text('Key that signed, in base64')),
  },
  { title: 'GovernedDecision', description: 'A governed decision on record' },
)
export type DecisionRecord = Static<typeof DecisionRecord>

const hash = (description: string) => about(Hex32, `BLAKE2b-256 of ${description}`)

export const ExecutionReceipt = Type.Object(
  {
    receipt_id: about(Hex16, 'BLAKE2b-128 of the fields from `step_id` to `completed_at`'),
    step_id: about(Hex16, 'Random id of the step'),
    workflow_id: text('`governed:` with the pseudonym of the referent, or with the tenant'),
    tenant_id: Type.String(),
    step_number: count('Position in the workflow, from 0'),
    previous_receipt_hash: Nullable(hash('the previous `receipt_id` of the workflow')),
    input_hash: hash('`context`, as JSON with sorted keys in the form of Python'),
    memory_snapshot_hash: hash('the memories used: none, so of the empty text'),
    policy_evaluation_hash: hash('`[{decision, reason}]`, in the same form'),
    model_id: text('Model that decided'),
    model_version: Type.Null({ description: 'Reserved' }),
    tool_call_hashes: Type.Array(Hex32, { description: 'Hashes of tool calls: there are none' }),
    output_hash: hash('`raw_output`'),
    decision_id: Hex16,
    started_at: time('When the request was read'),
    completed_at: time('When the decision was recorded'),
    signature: about(Base64, 'Ed25519 over the 16 bytes of `receipt_id`'),
    public_key: about(Base64, 'Key that signed, published for the purpose `receipt`'),
    key_id: Type.String(),
  },
  {
    title: 'ExecutionReceipt',
    description: 'A signed receipt of one decision, which anybody can verify',
  },
)
export type ExecutionReceipt = Static<typeof ExecutionReceipt>

const policySwitch = (description: string) =>
  Type.Boolean({ default: true, description: `${description}; default: true` })
const policyField = (fallback: string, description: string) =>
  labelOr(fallback, `Field with ${description}; default: \`${fallback}\``)

const InvoicePolicy = Type.Object(
  {
    require_amount_within_po: policySwitch('Whether the amount must not exceed the order'),
    invoice_amount_field: policyField('invoice_amount', 'the amount'),
    po_amount_field: policyField('po_amount', 'the amount of the purchase order'),
    require_approval: policySwitch('Whether the debtor must have approved'),
    approval_field: policyField('approval_status', 'the approval'),
    approved_value: Type.Union([Label, Type.Number(), Type.Boolean()], {
      default: 'approved',
      description: 'Value of an approval; default: `approved`',
    }),
    reject_duplicates: policySwitch('Whether an id is certified once in a batch'),
    invoice_id_field: policyField('invoice_id', 'the id'),
    vendor_field: policyField('vendor', 'the vendor'),
    debtor_field: policyField('debtor', 'the debtor'),
  },
  { title: 'InvoicePolicy', description: 'Rules for the invoices' },
)
export type InvoicePolicy = Static<typeof InvoicePolicy>

export const invoicePolicyDefaults = {
  require_amount_within_po: true,
  invoice_amount_field: 'invoice_amount',
  po_amount_field: 'po_amount',
  require_approval: true,
  approval_field: 'approval_status',
  approved_value: 'approved',
  reject_duplicates: true,
  invoice_id_field: 'invoice_id',
  vendor_field: 'vendor',
  debtor_field: 'debtor',
} satisfies InvoicePolicy

/** The most invoices in one batch. The general limit of a body applies too. */
export const VERIFY_BATCH_MAX = 500

export const VerifyBatchRequest = Type.Object({
  invoices: Type.Array(about(JsonObject, 'An invoice; fields that begin with `_` are ignored'), {
    maxItems: VERIFY_BATCH_MAX,
    description: 'The invoices, each of which becomes a governed decision',
  }),
  policy: Type.Optional(
    Type.Partial(InvoicePolicy, {
      additionalProperties: false,
      description: 'Rules for the invoices; absent fields have their defaults',
    }),
  ),
  model_id: Type.Optional(labelOr('kapwork-verify-agent-v1', 'Name of what decided')),
  agent_handle: Type.Optional(
    labelOr('invoice-rules-engine@kapwork-receivables', 'Handle of the agent'),
  ),
  agent_tier: OptionalNullable(
    number('Tier of the agent as stated by the caller; does not influence the score', {
      minimum: 0,
      maximum: 1,
    }),
  ),
  agent_key: OptionalNullable(about(PublicKeyHex, 'Key of the agent')),
  dimension: Dimension,
})

export const VerifyBatchReply = Type.Object({
  summary: Type.Object(
    {
      total: count('Invoices'),
      certified: count('Invoices that were certified'),
      rejected: count('Invoices that were rejected'),
    },
    { description: 'Number of invoices by decision' },
  ),
  policy: about(InvoicePolicy, 'The policy that was applied'),
  results: Type.Array(
    Type.Object({
      invoice_id: Type.Unknown({ description: 'As given; null: absent' }),
      vendor: Type.Unknown({ description: 'As given; null: absent' }),
      debtor: Type.Unknown({ description: 'As given; null: absent' }),
      decision: Judgment,
      reason: text('The decisive rule, as text'),
      reason_code: Type.Enum(INVOICE_REASONS, { description: 'The decisive rule' }),
      decision_record: about(DecisionRecord, 'The record'),
      execution_receipt: Nullable(
        about(
          ExecutionReceipt,
          'The receipt; null for a redacted record or one of an earlier version',
        ),
      ),
    }),
    { description: 'The results, in the order of `invoices`' },
  ),
})

const recorded = {
  recorded_at: time('When it was recorded'),
  superseded_prior: boolean('Whether it replaced an earlier record, which no longer counts'),
  idempotent: boolean('Whether exactly this was on record already, so nothing was written'),
}

export const RecordedOutcome = Type.Object(
  {
    invoice_ref: text('Pseudonym of the referent'),
    outcome: OutcomeName,
    ...recorded,
  },
  { title: 'RecordedOutcome', description: 'An outcome on record' },
)
export type RecordedOutcome = Static<typeof RecordedOutcome>

export const RecordedReview = Type.Object(
  {
    invoice_ref: text('Pseudonym of the referent'),
    reviewer_handle: text('Handle of the reviewer'),
    rating: number('Rating, rounded to millionths'),
    ...recorded,
  },
  { title: 'RecordedReview', description: 'A review on record' },
)
export type RecordedReview = Static<typeof RecordedReview>

export const bulkReply = <T extends TSchema>(item: T) =>
  Type.Object({
    count: integer('Items recorded'),
    recorded: Type.Array(item, { description: 'The records' }),
    collapsed_in_batch: integer('Items replaced by a later item of the same request'),
  })

const Tier = Type.Enum(['gold', 'silver', 'bronze', 'unproven'], {
  title: 'AgentTier',
  description: 'Tier of the agent',
})

const tierGateFields = {
  agent_handle: text('Handle of the agent'),
  subject_key: Nullable(text('Current key of the agent; null: known by its handle only')),
  subject_did: Nullable(text('`did:key` of the first key of its rotations')),
  dimension: text('Subject area'),
  tier: Tier,
  cgr_score: number('Score: the mean of the posterior'),
  confidence: number('Weight of the posterior'),
  n_resolved: count('Resolved decisions'),
  capability_tier: Type.Null({ description: 'Reserved' }),
  as_of: time('Time of the score'),
  rationale: text('Reason for the tier'),
}

const scoreFields = {
  agent_handle: text('Handle of the agent'),
  cgr_score: number('Score: the mean of the posterior'),
  confidence: number('Weight of the posterior: `n_resolved` + 2 while no review counts'),
  n_resolved: count('Certifying judgments with the outcome `paid` or `default`'),
  n_pending: count('Certifying judgments without `paid` or `default`, including `n_unscored`'),
  capability_tier: Type.Null({ description: 'Reserved' }),
  as_of: time('Time of the score'),
  dimension: text('Subject area'),
  subject_key: Nullable(text('Current key of the agent; null: known by its handle only')),
  subject_did: Nullable(text('`did:key` of the first key of its rotations')),
  post_alpha: number('Alpha of the Beta posterior'),
  post_beta: number('Beta of the Beta posterior'),
  cgr_lower: number('Value that the posterior exceeds with 95 %'),
  n_unscored: count('Pending judgments whose outcome is `disputed`, `late` or `written_off`'),
  proven: boolean('Whether every decision counted was signed with the key of the agent'),
  log_seq: Nullable(integer('Newest log entry that is counted; null: the audit log is empty')),
}

export const ScoreObject = Type.Object(scoreFields, {
  title: 'Score',
  description: 'The score of an agent in a dimension',
})
export type ScoreObject = Static<typeof ScoreObject>

export const AgentScore = Type.Object({
  ...scoreFields,
  score: about(ScoreObject, 'The same score, for clients that read it here'),
  tiergate: Type.Object(tierGateFields, { description: 'The tier of the agent' }),
  same_handle: about(
    Count,
    'Number of other agents with the same handle; list them with `agent_handle`',
  ),
})
export type AgentScore = Static<typeof AgentScore>

export const Attestation = Type.Object(
  {
    ...tierGateFields,
    schema: text('Name and version of the attestation format'),
    issuer: text('Who attests'),
    issuer_key_id: text('Id of the key of the issuer'),
    signature: text('Ed25519 signature in hexadecimal over the RFC 8785 bytes of the fields above'),
    evidence_ref: Nullable(text('Log entry that records the attestation')),
  },
  { title: 'Attestation', description: 'A signed score' },
)
export type Attestation = Static<typeof Attestation>

export const Rotation = Type.Object({
  prev_key: text('Key that ends'),
  new_key: text('Key that follows'),
  seq: integer('Position in the chain of rotations, from 1'),
  not_before: Nullable(text('From when the new key applies')),
  sig: text('Signature by `prev_key`'),
})
export type Rotation = Static<typeof Rotation>

export const CgrSettings = Type.Object(
  {
    compare_credentials: boolean(
      'Whether outcomes and reviews by the credential of the decision are refused',
    ),
    judgments_final: boolean(
      'Whether a judgment is final once its outcome is `paid` or `default`; another one gets 409',
    ),
  },
  { title: 'CgrSettings', description: 'What the tenant requires of judgments and reviews' },
)
export type CgrSettings = Static<typeof CgrSettings>
