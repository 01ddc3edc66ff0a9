// Shared by the registries: statuses, digests, authority, and fields and operations of records.

import Type, { type Static, type TProperties } from 'typebox'
import { TrustTier } from '../access/keys.ts'
import {
  about,
  Counts,
  Cursor,
  Hex16,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  Reason,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import type { RefusalCode } from '../core/refusals.ts'

export const RECORD_STATUSES = [
  'waiting_hitl',
  'denied',
  'expired',
  'issued',
  'registered',
  'certified',
  'invoked',
  'sealed',
  'governed',
  'approved',
] as const
export type RecordStatus = (typeof RECORD_STATUSES)[number]

export const RecordStatus = Type.Enum(RECORD_STATUSES, {
  title: 'RecordStatus',
  description:
    '`waiting_hitl`: waits for an approval. `denied`, `expired`: refused, or not approved in ' +
    'time. All others: accepted, by the kind of record.',
})

/** An id of a registry record. */
export const RecordId = Hex16

/** SHA-256 of bytes, with or without the prefix `sha256:`. */
export const Digest = Type.String({
  title: 'Digest',
  description: 'SHA-256 in hexadecimal, with or without `sha256:` in front',
  pattern: '^(sha256:)?[0-9a-fA-F]{64}$',
  examples: [`sha256:${'0'.repeat(64)}`],
})

/** The authority that the caller claims. */
export const Authority = Type.Object(
  {
    delegation_ref: Type.Optional(Nullable(about(Label, 'Reference of the delegation'))),
    human_principal: Type.Optional(
      Nullable(about(Label, 'The person on whose behalf the caller acts')),
    ),
    trust_tier: Type.Optional(about(TrustTier, 'Claimed trust tier, capped by the credential')),
  },
  { title: 'Authority', description: 'Under whose authority the caller acts, as claimed' },
)
export type Authority = Static<typeof Authority>

/** The authority in a record. */
export const RecordedAuthority = Type.Object(
  {
    delegation_ref: Nullable(text('Reference of the delegation')),
    human_principal: Nullable(text('The person on whose behalf the caller acts')),
    claimed_tier: Nullable(about(TrustTier, 'Trust tier as claimed; null: none was claimed')),
    trust_tier: about(TrustTier, 'Trust tier that applies: the claim, capped by the credential'),
  },
  { title: 'RecordedAuthority', description: 'The authority that the caller claims' },
)
export type RecordedAuthority = Static<typeof RecordedAuthority>

export const ResumeRequest = Type.Object(
  {
    approver: about(Label, 'Who decides; never the principal of the request'),
    reason: Type.Optional(about(Reason, 'Why')),
  },
  { title: 'ResumeRequest', description: 'A decision on a record that waits for an approval' },
)
export type ResumeRequest = Static<typeof ResumeRequest>
export const resumeExample = { approver: 'ben', reason: 'as agreed' } as const

export const RecordApproval = Type.Object(
  {
    request_id: text('Id of the approval request'),
    approver: text('Name of the approver'),
    approver_id: Nullable(text('Id of the enrolled approver; null: only a name was given')),
    decided_by: text('Id of the key that decided'),
    decided_at: time('When it was decided'),
    reason: Nullable(text('Why')),
    proposal_digest: Type.String(),
  },
  { title: 'RecordApproval', description: 'An approval decision about a record' },
)

/** Fields of every registry record. */
export const recordFields = {
  tenant_id: Type.String(),
  status: RecordStatus,
  redacted: Type.Boolean({
    description: 'Whether its texts were erased; a certificate of erasure names it',
  }),
  document: Nullable(about(JsonObject, 'The signed record; null where nothing was issued')),
  proposal_digest: Type.String(),
  approval_request_id: Nullable(text('Id of the approval request; null: none was needed')),
  approval: Nullable(
    about(RecordApproval, 'The approval decision; null: none was needed, or none yet'),
  ),
  reason: Nullable(text('Why it was not issued')),
  requested_by: Type.String(),
  signature: Nullable(text('Ed25519 signature in base64')),
  public_key: Nullable(text('Key that signed, in base64')),
  signer_public_key: Nullable(text('Same as `public_key`')),
  key_id: Nullable(Type.String()),
  created_at: Timestamp,
} as const satisfies TProperties

/** The body of a 202: the record waits for an approval. */
export const waitingReply = <const K extends string>(id_field: K) =>
  Type.Object({
    detail: Type.Object(
      {
        status: Type.Literal('waiting_hitl', { description: 'Waits for an approval' }),
        request_id: text('Id of the approval request'),
        expires_at: time('When the approval request expires'),
        [id_field]: Type.String(),
      } as { [P in K]: ReturnType<typeof Type.String> } & {
        status: ReturnType<typeof Type.Literal<'waiting_hitl'>>
        request_id: ReturnType<typeof Type.String>
        expires_at: typeof Timestamp
      },
      { description: 'The approval request' },
    ),
  })

/** Refusals of both decisions, besides a record that does not exist. */
export const DECISION_REFUSALS = [
  'not_waiting',
  'approval_expired',
  'self_approval',
  'attestation_required',
  'no_signing_key',
  'idempotency_key_reused',
] as const satisfies readonly RefusalCode[]

/** Refusals of an approval, which evaluates the policies again. */
export const APPROVAL_REFUSALS = [
  ...DECISION_REFUSALS,
  'policy_denied',
  'approval_required',
] as const satisfies readonly RefusalCode[]

/** The reply to a rejection. */
export const rejectedReply = <const K extends string>(id_field: K) =>
  Type.Object(
    {
      status: Type.Literal('denied', { description: 'The record is denied' }),
      approver: text('Who rejected it'),
      [id_field]: Type.String(),
    } as { [P in K]: ReturnType<typeof Type.String> } & {
      status: ReturnType<typeof Type.Literal<'denied'>>
      approver: ReturnType<typeof Type.String>
    },
    { title: `Rejected${id_field.charAt(0).toUpperCase()}${id_field.slice(1, -3)}` },
  )

export const recordPageQuery = Type.Object({
  limit: Limit(limits.records_page),
  offset: Offset,
  cursor: Cursor,
})

/** Number of records by status. */
export const StatusCounts = Counts

/** Results of the checks of a record that is verified as a whole, by name. */
export const CheckResults = Type.Record(Type.String(), Type.Boolean(), {
  title: 'CheckResults',
  description: 'Whether each check passed, by name',
})
