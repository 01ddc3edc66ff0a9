// Approvals: the queue of what waits for a person, signed decisions, and who may sign them.

import Type, { type Static } from 'typebox'
import {
  Cursor,
  Hex16,
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
import { RECORD_STATUSES } from './records.ts'

export const APPROVAL_STATES = ['pending', 'approved', 'denied', 'expired'] as const
const ApprovalState = Type.Enum(APPROVAL_STATES)

/** For how long a request may wait. */
export const APPROVAL_SECONDS = { min: 60, max: 2_592_000, default: 86_400 } as const

export const APPROVERS_MAX = 1_000

const Escalation = Type.Object({ policy_id: Type.String(), version: Type.Integer() })

const requestFields = {
  request_id: Type.String(),
  /** Of the record that waits. */
  kind: Type.String(),
  record_id: Type.String(),
  /** As the policies name it, for example `artifact.register`. */
  action: Type.String(),
  /** The id of the record. */
  resource: Type.String(),
  issued_at: Timestamp,
  expires_at: Timestamp,
  status: ApprovalState,
  /** Id of the key that asked. */
  requested_by: Type.String(),
  /** What an approval is bound to. */
  proposal_digest: Type.String(),
  policy_set: Type.Integer(),
  /** The policies that asked for an approval. */
  escalations: Type.Array(Escalation),
}

export const ApprovalRequest = Type.Object(requestFields)
export type ApprovalRequest = Static<typeof ApprovalRequest>

export const ApprovalRequestWithContext = Type.Object({
  ...requestFields,
  /** What an approver signs, with the decision added. */
  context: JsonObject,
  /** The RFC 8785 bytes of `context`. */
  context_bytes_hex: Type.String(),
  /** The exact bytes to sign for either decision, base64. */
  signing_input: Type.Object({ approve: Type.String(), deny: Type.String() }),
  /** What was asked for, in full. */
  request: JsonObject,
  /** SHA-256 of its RFC 8785 bytes is `proposal_digest`: what is signed is what is shown. */
  proposal: JsonObject,
  /** The policies that asked, as they were then. */
  policies: Type.Array(
    Type.Object({
      policy_id: Type.String(),
      version: Type.Integer(),
      name: Type.String(),
      reason: Type.String(),
    }),
  ),
  /** The signed record of the decision, once there is one. */
  record: Nullable(JsonObject),
})
export type ApprovalRequestWithContext = Static<typeof ApprovalRequestWithContext>

const Verified = Type.Object({
  request_id: Type.String(),
  status: ApprovalState,
  passed: Type.Boolean(),
  checks: Type.Array(
    Type.Object({
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.Optional(Type.String()),
    }),
  ),
  /** The signed record of the decision; null: there was none. */
  record: Nullable(JsonObject),
  /** The enrolled approver who signed; null: a name was given, or nothing decided. */
  signer_id: Nullable(Type.String()),
  /** The approver's own signature, base64. */
  signature: Nullable(Type.String()),
  context_bytes_hex: Type.String(),
  /** What this cannot show. */
  not_checked: Type.Array(Type.String()),
})

const Name = Type.String({ ...Label, maxLength: limits.name_chars })
const PublicKey = Type.String({ pattern: '^[0-9a-fA-F]{64}$' })

export const Approver = Type.Object({
  approver_id: Type.String(),
  name: Type.String(),
  role: Nullable(Type.String()),
  /** 32 bytes of Ed25519, lower hex. */
  public_key: Type.String(),
  /** False: revoked, and kept because decisions name it. */
  active: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Approver = Static<typeof Approver>

export const ApprovalSettings = Type.Object({
  /** The key that decides is not the key that asked. */
  different_credential: Type.Boolean(),
  /** Enrolled approvers only, who sign what they decide. */
  attestation_required: Type.Boolean(),
  /** Of requests made from now on. */
  expires_after_seconds: Type.Integer(),
})
export type ApprovalSettings = Static<typeof ApprovalSettings>

const RequestParams = Type.Object({ request_id: Hex16 })
const ApproverParams = Type.Object({ approver_id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })
const reading = { access: 'tenant', scope: 'compliance:read', method: 'GET', status: 200 } as const
const changing = { access: 'tenant', scope: 'compliance:admin', status: 200 } as const

const paging = { limit: Limit(limits.records_page), offset: Offset, cursor: Cursor }

export const approvals = {
  requests: operation({
    ...reading,
    id: 'approvals.requests',
    path: '/v1/hitl/requests',
    summary: 'What waits for a person, or has waited, newest first',
    query: Type.Object({
      /** What waited longer than it may is `expired`, whatever has been noticed of it. */
      status: Type.Optional(Type.Enum([...APPROVAL_STATES, 'all'], { default: 'pending' })),
      ...paging,
    }),
    reply: page('requests', ApprovalRequest),
    refuses: ['rejected'],
  }),
  request: operation({
    ...reading,
    id: 'approvals.request',
    path: '/v1/hitl/requests/{request_id}',
    summary: 'A request for an approval, what it is for in full, and what an approver signs',
    params: RequestParams,
    reply: ApprovalRequestWithContext,
    refuses: ['request_not_found'],
  }),
  attest: operation({
    ...changing,
    id: 'approvals.attest',
    method: 'POST',
    path: '/v1/hitl/requests/{request_id}/attest',
    summary: "Decides with an enrolled approver's signature; the policies are asked again",
    description:
      'The signature is Ed25519 by the key of the approver `signer_id` over the bytes that ' +
      '`signing_input` of the request gives for this decision.',
    params: RequestParams,
    body: Type.Object({
      decision: Type.Enum(['approve', 'deny']),
      signer_id: Label,
      /** 64 bytes in hex or base64. */
      signature: Type.String({ pattern: '^([0-9a-fA-F]{128}|[A-Za-z0-9+/]{86}==)$' }),
      reason: Type.Optional(
        Nullable(Type.String({ maxLength: limits.reason_chars, format: 'label' })),
      ),
    }),
    reply: Type.Object({
      request_id: Type.String(),
      status: ApprovalState,
      kind: Type.String(),
      record_id: Type.String(),
      record_status: Type.Enum(RECORD_STATUSES),
    }),
    refuses: [
      'request_not_found',
      'approver_not_found',
      'attestation_invalid',
      'self_approval',
      'policy_denied',
      'approval_required',
      'not_waiting',
      'approval_expired',
      'rejected',
      'no_signing_key',
    ],
  }),
  verify: operation({
    ...reading,
    id: 'approvals.verify',
    path: '/v1/hitl/requests/{request_id}/verify',
    summary: 'Checks the signed record of a decision, and the approver’s signature in it',
    params: RequestParams,
    reply: Verified,
    refuses: ['request_not_found'],
  }),
  enroll: operation({
    ...changing,
    id: 'approvals.enroll',
    method: 'POST',
    path: '/v1/hitl/approvers',
    summary: 'Enrols an approver with an Ed25519 key of their own',
    body: Type.Object({
      name: Name,
      public_key: PublicKey,
      role: Type.Optional(Nullable(Name)),
    }),
    status: 201,
    reply: Approver,
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  approvers: operation({
    ...reading,
    id: 'approvals.approvers',
    path: '/v1/hitl/approvers',
    summary: 'The approvers, newest first, revoked ones included',
    query: Type.Object(paging),
    reply: page('approvers', Approver),
    refuses: ['rejected'],
  }),
  approver: operation({
    ...reading,
    id: 'approvals.approver',
    path: '/v1/hitl/approvers/{approver_id}',
    summary: 'An approver',
    params: ApproverParams,
    reply: Approver,
    refuses: ['approver_not_found'],
  }),
  update_approver: operation({
    ...changing,
    id: 'approvals.update_approver',
    method: 'PUT',
    path: '/v1/hitl/approvers/{approver_id}',
    summary: 'Changes an approver: what is absent or null stays; the key cannot change',
    params: ApproverParams,
    body: Type.Object({
      name: Type.Optional(Nullable(Name)),
      role: Type.Optional(Nullable(Name)),
      active: Type.Optional(Nullable(Type.Boolean())),
    }),
    reply: Approver,
    refuses: ['approver_not_found'],
  }),
  revoke: operation({
    ...changing,
    id: 'approvals.revoke',
    method: 'DELETE',
    path: '/v1/hitl/approvers/{approver_id}',
    summary: 'Revokes an approver at once; `revoked` is false when it already was',
    params: ApproverParams,
    reply: Type.Object({ approver_id: Type.String(), revoked: Type.Boolean() }),
    refuses: ['approver_not_found'],
  }),
  settings: operation({
    ...reading,
    id: 'approvals.settings',
    path: '/v1/hitl/settings',
    summary: 'What the tenant asks of an approval',
    reply: ApprovalSettings,
    refuses: [],
  }),
  change_settings: operation({
    ...changing,
    id: 'approvals.change_settings',
    method: 'PUT',
    path: '/v1/hitl/settings',
    summary: 'Changes what the tenant asks of an approval: what is absent or null stays',
    body: Type.Object({
      different_credential: Type.Optional(Nullable(Type.Boolean())),
      attestation_required: Type.Optional(Nullable(Type.Boolean())),
      expires_after_seconds: Type.Optional(
        Nullable(Type.Integer({ minimum: APPROVAL_SECONDS.min, maximum: APPROVAL_SECONDS.max })),
      ),
    }),
    reply: ApprovalSettings,
    refuses: [],
  }),
} as const
