// What the registries share: statuses, digests, authority, and the members of every row.

import Type, { type Static, type TProperties } from 'typebox'
import { JsonObject, Label, Limit, Nullable, Offset, Timestamp } from './common.ts'
import { TRUST_TIERS } from './keys.ts'
import { limits } from './limits.ts'
import type { RefusalCode } from './refusals.ts'

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
] as const
export type RecordStatus = (typeof RECORD_STATUSES)[number]

export const TrustTier = Type.Enum(TRUST_TIERS)
export type TrustTier = Static<typeof TrustTier>

/** An id of a registry record. */
export const RecordId = Type.String({ pattern: '^[0-9a-f]{32}$' })

/** SHA-256 of bytes, with or without the name of the hash in front. */
export const Digest = Type.String({
  pattern: '^(sha256:)?[0-9a-fA-F]{64}$',
  examples: [`sha256:${'0'.repeat(64)}`],
})

/** Who asks, as the caller says it. */
export const Authority = Type.Object({
  delegation_ref: Type.Optional(Nullable(Label)),
  human_principal: Type.Optional(Nullable(Label)),
  /** Capped by what the credential may claim. */
  trust_tier: Type.Optional(TrustTier),
})
export type Authority = Static<typeof Authority>

/** How an authority stands in a record. */
export const RecordedAuthority = Type.Object({
  delegation_ref: Nullable(Type.String()),
  human_principal: Nullable(Type.String()),
  /** As claimed; null: no claim was made. */
  claimed_tier: Nullable(TrustTier),
  /** What holds: the claim within the ceiling of the credential. */
  trust_tier: TrustTier,
})
export type RecordedAuthority = Static<typeof RecordedAuthority>

export const ResumeRequest = Type.Object({
  /** Who decides; never the principal of the request. */
  approver: Label,
  reason: Type.Optional(Type.String({ maxLength: limits.reason_chars, format: 'label' })),
})
export type ResumeRequest = Static<typeof ResumeRequest>

export const ApprovalShown = Type.Object({
  request_id: Type.String(),
  approver: Type.String(),
  approver_id: Nullable(Type.String()),
  decided_by: Type.String(),
  decided_at: Timestamp,
  reason: Nullable(Type.String()),
  proposal_digest: Type.String(),
})

/** Members of every registry's rows. */
export const recordFields = {
  tenant_id: Type.String(),
  status: Type.Enum(RECORD_STATUSES),
  /** The signed record with its signed bytes; null where nothing was issued. */
  document: Nullable(JsonObject),
  proposal_digest: Type.String(),
  approval_request_id: Nullable(Type.String()),
  /** Who decided, where somebody had to. */
  approval: Nullable(ApprovalShown),
  /** Why it was not issued. */
  reason: Nullable(Type.String()),
  /** Id of the key that asked. */
  requested_by: Type.String(),
  /** Base64. */
  signature: Nullable(Type.String()),
  public_key: Nullable(Type.String()),
  /** The same under the name that existing clients read. */
  signer_public_key: Nullable(Type.String()),
  key_id: Nullable(Type.String()),
  created_at: Timestamp,
} as const satisfies TProperties

/** The body of a 202: the record waits for a person. */
export const waiting = <const K extends string>(id_field: K) =>
  Type.Object({
    detail: Type.Object({
      status: Type.Literal('waiting_hitl'),
      request_id: Type.String(),
      expires_at: Timestamp,
      [id_field]: Type.String(),
    } as { [P in K]: ReturnType<typeof Type.String> } & {
      status: ReturnType<typeof Type.Literal<'waiting_hitl'>>
      request_id: ReturnType<typeof Type.String>
      expires_at: typeof Timestamp
    }),
  })

/** What both ways of deciding refuse, beside a record that is not there. */
export const DECIDING_REFUSES = [
  'not_waiting',
  'approval_expired',
  'self_approval',
  'attestation_required',
  'no_signing_key',
  'idempotency_key_reused',
] as const satisfies readonly RefusalCode[]

/** What an approval refuses besides: policies are asked again. */
export const APPROVING_REFUSES = [
  ...DECIDING_REFUSES,
  'policy_denied',
  'approval_required',
] as const satisfies readonly RefusalCode[]

/** The answer to a rejection. */
export const rejectedReply = <const K extends string>(id_field: K) =>
  Type.Object({
    status: Type.Literal('denied'),
    approver: Type.String(),
    [id_field]: Type.String(),
  } as { [P in K]: ReturnType<typeof Type.String> } & {
    status: ReturnType<typeof Type.Literal<'denied'>>
    approver: ReturnType<typeof Type.String>
  })

export const recordPage = Type.Object({
  limit: Limit(limits.records_page),
  offset: Offset,
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
})

/** Records by status; what there is none of is left out. */
export const StatusCounts = Type.Record(Type.String(), Type.Integer())
