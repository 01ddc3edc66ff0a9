// Reputation (interface 4.15): decisions, outcomes and reviews, and the scores that follow.

import Type, { type TSchema } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  Hex32,
  integer,
  Limit,
  labelOr,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import {
  AgentScore,
  Attestation,
  bulkReply,
  CGR_BULK_ITEMS_MAX,
  CgrSettings,
  DecisionRecord,
  Dimension,
  ExecutionReceipt,
  GovernedDecisionRequest,
  Handle,
  OutcomeRequest,
  PublicKeyHex,
  RecordedOutcome,
  RecordedReview,
  ReviewRequest,
  Rotation,
  ScoreObject,
  SignatureHex,
  VerifyBatchReply,
  VerifyBatchRequest,
} from './reputation-records.ts'

const reading = { access: 'tenant', scope: 'cgr:read', method: 'GET', status: 200 } as const
const writing = { access: 'tenant', scope: 'cgr:write', method: 'POST', status: 200 } as const

const AgentParams = Type.Object({ agent_handle: about(Handle, 'Handle of the agent') })
const subjectQuery = {
  dimension: Dimension,
  subject_key: Type.Optional(about(PublicKeyHex, 'Key of the agent, if several share the handle')),
}
const bulk = <T extends TSchema>(item: T) => Type.Array(item, { maxItems: CGR_BULK_ITEMS_MAX })

const LATEST =
  'Of two records the later arrival counts; its date is stored as data. Reviews and outcomes are ' +
  'joined to decisions of the same `dimension` by `invoice_ref`, which is stored and returned ' +
  'only as a pseudonym. '

export const reputation = {
  decide: operation({
    ...writing,
    id: 'cgr.decide',
    path: '/v1/governed/decisions',
    summary: 'Records a governed decision of an agent',
    description:
      'Use it when an agent certifies or rejects something. One judgment counts per agent and ' +
      'referent: the same decision again returns the existing record with `idempotent`, ' +
      'another one replaces it, with `judgments_final` of `PUT /v1/cgr/settings` only until ' +
      'the referent is `paid` or `default`. Signed by `agent_key`, the decision counts for ' +
      'the key; without the signature it counts for a separate unproven agent, so that nobody ' +
      'can add to the record of a key they do not have. The reply carries a signed receipt, ' +
      'which `POST /v1/gcrumbs/verify` and the offline verifier check.',
    body: GovernedDecisionRequest,
    example: {
      decision: 'certify',
      reason: 'the amounts agree',
      invoice_id: 'INV-1',
      context: { amount: 12 },
      agent_handle: 'certifier@example',
      agent_tier: 0.5,
    },
    reply: Type.Object({
      decision_record: about(DecisionRecord, 'The record'),
      execution_receipt: Nullable(
        about(
          ExecutionReceipt,
          'The receipt; null for a redacted record or one of an earlier version',
        ),
      ),
      superseded_prior: boolean('Whether it replaced an earlier judgment'),
      idempotent: boolean('Whether exactly this was on record already'),
    }),
    refuses: [
      'rejected',
      'possession_unproven',
      'rotation_refused',
      'outcome_known',
      'older_statement',
      'free_ceiling_reached',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  verify_batch: operation({
    ...writing,
    id: 'cgr.verify_batch',
    path: '/v1/governed/verify-batch',
    summary: 'Checks up to 500 invoices by rules and records a governed decision for each',
    description:
      'Use it to certify invoices by fixed rules: the amount within the purchase order, the ' +
      'approval of the debtor, no duplicate in the batch. The decisions are recorded ' +
      'atomically, with the tag `rule`, which earns no reputation; each has a signed receipt. ' +
      'An invoice with the same earlier decision of the agent keeps its record.',
    body: VerifyBatchRequest,
    example: {
      invoices: [
        {
          invoice_id: 'INV-7',
          vendor: 'Acme',
          debtor: 'Globex',
          invoice_amount: 90,
          po_amount: 100,
          approval_status: 'approved',
        },
        { invoice_id: 'INV-8', invoice_amount: 120, po_amount: 100 },
      ],
      policy: { require_approval: true },
    },
    reply: VerifyBatchReply,
    refuses: [
      'rejected',
      'outcome_known',
      'free_ceiling_reached',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  outcome: operation({
    ...writing,
    id: 'cgr.outcome',
    path: '/v1/governed/outcomes',
    summary: 'Records the outcome of a referent',
    description:
      `Use it when the outcome of a decision is known. ${LATEST}\`paid\` and \`default\` resolve ` +
      'the decisions on it; `disputed`, `late` and `written_off` leave them pending and are ' +
      'counted as `n_unscored`.',
    body: OutcomeRequest,
    example: { invoice_ref: 'INV-2', outcome: 'paid', outcome_date: '2026-01-01T00:00:00Z' },
    reply: RecordedOutcome,
    refuses: ['possession_unproven', 'self_report', 'older_statement', 'idempotency_key_reused'],
    idempotent: true,
  }),
  outcomes: operation({
    ...writing,
    id: 'cgr.outcomes',
    path: '/v1/governed/outcomes/bulk',
    summary: 'Records up to 10,000 outcomes, all or none',
    description:
      `Use it to load outcomes from another system. ${LATEST}Of several items for one referent ` +
      'the last one is recorded.',
    body: bulk(OutcomeRequest),
    example: [
      { invoice_ref: 'INV-3', outcome: 'default', amount_recovered: 1.5 },
      { invoice_ref: 'INV-4', outcome: 'late' },
    ],
    reply: bulkReply(RecordedOutcome),
    refuses: [
      'rejected',
      'possession_unproven',
      'self_report',
      'older_statement',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  review: operation({
    ...writing,
    id: 'cgr.review',
    path: '/v1/governed/reviews',
    summary: 'Records a review of the decisions on a referent',
    description:
      `Use it when a reviewer rates a decision. ${LATEST}It influences the score until the ` +
      'referent has an outcome; afterwards it shows how well the reviewer rates.',
    body: ReviewRequest,
    example: { invoice_ref: 'INV-2', reviewer_handle: 'reviewer@example', rating: 0.75 },
    reply: RecordedReview,
    refuses: ['rejected', 'self_review', 'idempotency_key_reused'],
    idempotent: true,
  }),
  reviews: operation({
    ...writing,
    id: 'cgr.reviews',
    path: '/v1/governed/reviews/bulk',
    summary: 'Records up to 10,000 reviews, all or none',
    description:
      `Use it to load reviews from another system. ${LATEST}Of several items for one referent ` +
      'and reviewer the last one is recorded.',
    body: bulk(ReviewRequest),
    example: [{ invoice_ref: 'INV-3', reviewer_handle: 'reviewer@example', rating: 0.25 }],
    reply: bulkReply(RecordedReview),
    refuses: ['rejected', 'self_review', 'idempotency_key_reused'],
    idempotent: true,
  }),
  scores: operation({
    ...reading,
    id: 'cgr.scores',
    path: '/v1/cgr/scores',
    summary: 'Lists the scores of all agents in a dimension, highest first',
    description:
      'Use it to compare agents. `limit` and `offset` page the agents; each score counts all ' +
      'records.',
    query: Type.Object({
      dimension: Dimension,
      agent_handle: Type.Optional(about(Handle, 'Returns only agents that used this handle')),
      limit: Limit({ min: 1, max: 1_000, default: 500 }),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: Type.Object({
      scores: Type.Array(ScoreObject, { description: 'The scores' }),
      count: count('Number of items in this page'),
      as_of: time('Time of the scores'),
      dimension: text('Subject area'),
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
    summary: 'Returns the score of one agent by its handle',
    description:
      'Use it before relying on an agent. If several agents share the handle, it returns the ' +
      'proven one that used it first, or the one of `subject_key`; `same_handle` counts the ' +
      'others.',
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
    summary: 'Returns the issuer of attestations and its key',
    description: 'Use it to verify attestations.',
    status: 200,
    reply: Type.Object({
      issuer: text('Who attests'),
      issuer_key_id: about(Hex32, 'Id of the key'),
      public_key: about(Hex32, 'Ed25519 public key'),
      schema: text('Name and version of the attestation format'),
    }),
    refuses: ['no_signing_key'],
  }),
  attest: operation({
    ...writing,
    id: 'cgr.attest',
    path: '/v1/cgr/attestations',
    summary: 'Signs the current score of an agent',
    description:
      'Use it to present the score to third parties. If nothing has changed since the latest ' +
      'attestation of the same day, that attestation is returned.',
    body: Type.Object({
      agent_handle: about(Handle, 'Handle of the agent'),
      subject_key: OptionalNullable(
        about(PublicKeyHex, 'Key of the agent, if several share the handle'),
      ),
      dimension: Dimension,
    }),
    example: { agent_handle: 'certifier@example' },
    reply: Attestation,
    refuses: ['score_not_found', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  attestations: operation({
    ...reading,
    id: 'cgr.attestations',
    path: '/v1/cgr/attestations',
    summary: 'Lists issued attestations, newest first',
    description: 'Use it to review what was attested. It signs nothing.',
    query: Type.Object({ limit: Limit(limits.records_page), offset: Offset, cursor: Cursor }),
    reply: page('attestations', Attestation),
    refuses: ['rejected'],
  }),
  attestation: operation({
    ...reading,
    id: 'cgr.attestation',
    path: '/v1/cgr/attestation/{agent_handle}',
    greedy: true,
    summary: 'Returns the newest attestation of an agent',
    description: 'Use it to read an attestation without issuing a new one.',
    params: AgentParams,
    query: Type.Object(subjectQuery),
    reply: Attestation,
    refuses: ['score_not_found', 'attestation_not_found'],
  }),
  rotate: operation({
    ...writing,
    id: 'cgr.rotate',
    path: '/v1/cgr/rotation',
    summary: 'Records that a key of an agent is replaced by another, signed by the old key',
    description:
      'Use it when an agent changes its key and should keep its reputation. Rotations are ' +
      'recorded in order: with the next number, from the current key of the chain, to a key ' +
      'without a record of its own, and not before the previous rotation. From `not_before` on ' +
      'only the new key may decide; all keys count as one agent.',
    body: Type.Object({
      prev_key: about(PublicKeyHex, 'Key that ends'),
      new_key: about(PublicKeyHex, 'Key that follows'),
      seq: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          default: 1,
          description: 'Position in the chain of rotations',
        }),
      ),
      not_before: OptionalNullable(
        time('From when the new key applies; signed as sent, and as an empty text if absent'),
      ),
      sig: about(SignatureHex, 'By `prev_key` over the RFC 8785 bytes of the four fields above'),
      new_sig: OptionalNullable(
        about(SignatureHex, 'By `new_key` over the same bytes, as its consent'),
      ),
      source: Type.Optional(labelOr('agent', 'Where the information comes from')),
    }),
    example: {
      prev_key: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
      new_key: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
      seq: 1,
      sig: '0'.repeat(128),
    },
    reply: Type.Object({
      prev_key: text('Key that ends'),
      new_key: text('Key that follows'),
      seq: integer('Position in the chain of rotations'),
      not_before: Nullable(time('From when the new key applies')),
      recorded: Type.Literal(true, { description: 'Always true' }),
    }),
    refuses: ['rejected', 'possession_unproven', 'rotation_refused', 'idempotency_key_reused'],
    idempotent: true,
  }),
  rotations: operation({
    ...reading,
    id: 'cgr.rotations',
    path: '/v1/cgr/rotations',
    summary: 'Lists rotations of keys, oldest first',
    description: 'Use it to follow the keys of an agent.',
    query: Type.Object({
      anchor: Type.Optional(about(PublicKeyHex, 'Returns only the chain with this first key')),
      current: Type.Optional(about(PublicKeyHex, 'Returns only the chain with this key')),
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
    summary: 'Returns what the tenant requires of judgments, outcomes and reviews',
    description: 'Use it to find out which records are refused.',
    reply: CgrSettings,
    refuses: [],
  }),
  change_settings: operation({
    id: 'cgr.change_settings',
    access: 'tenant',
    scope: 'governance:admin',
    method: 'PUT',
    path: '/v1/cgr/settings',
    summary: 'Changes what the tenant requires of judgments, outcomes and reviews',
    description: 'Use it to make scores harder to manipulate. Absent fields stay the same.',
    body: Type.Partial(CgrSettings),
    example: { compare_credentials: false, judgments_final: false },
    status: 200,
    reply: CgrSettings,
    refuses: [],
  }),
} as const
