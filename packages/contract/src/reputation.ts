// Reputation (interface 4.15): decisions, outcomes and reviews, and the scores that follow.

import Type, { type TSchema } from 'typebox'
import { Cursor, Hex32, Label, Limit, Nullable, Offset, page, Timestamp } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import {
  AgentScore,
  Attestation,
  CGR_BULK_ITEMS_MAX,
  CgrSettings,
  Count,
  DecisionRecord,
  Dimension,
  GovernedDecisionRequest,
  Handle,
  OutcomeRequest,
  optional,
  PublicKeyHex,
  RecordedOutcome,
  RecordedReview,
  ReviewRequest,
  Rotation,
  recordedBulk,
  ScoreObject,
  SignatureHex,
} from './reputation-records.ts'

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
  'outcomes join decisions of the same `dimension` by `invoice_ref`, which is stored and ' +
  'answered as a pseudonym only. '

export const reputation = {
  decide: operation({
    ...writing,
    id: 'cgr.decide',
    path: '/v1/governed/decisions',
    summary: 'Records a governed decision of an agent',
    description:
      'One judgment counts for each agent and referent. The same decision again answers the one ' +
      'there is with `idempotent`; another one takes its place until the referent has its ' +
      'outcome. Signed by `agent_key` the decision counts for the key; without the signature it ' +
      'counts for an unproven agent of its own, so that nobody can add to the record of a key ' +
      'they lack.',
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
    refuses: ['possession_unproven', 'self_report', 'older_statement', 'idempotency_key_reused'],
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
      'Links of a chain come in order: the next number, from the key now at its end, to a key ' +
      'that has no record of its own, and not before the link in front of it. From `not_before` ' +
      'on the new key decides and the old one no longer does; all of them count as one agent.',
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
    summary: 'What the tenant asks of judgments, outcomes and reviews',
    reply: CgrSettings,
    refuses: [],
  }),
  change_settings: operation({
    id: 'cgr.change_settings',
    access: 'tenant',
    scope: 'governance:admin',
    method: 'PUT',
    path: '/v1/cgr/settings',
    summary: 'Changes what the tenant asks of judgments, outcomes and reviews',
    body: Type.Partial(CgrSettings),
    status: 200,
    reply: CgrSettings,
    refuses: [],
  }),
} as const
