// Approvals: the queue of records that wait for a person, signed decisions, and approvers.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  Hex12,
  Hex16,
  integer,
  JsonObject,
  Label,
  Limit,
  Name,
  NamedCheck,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Reason,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { RecordStatus } from './records.ts'

export const APPROVAL_STATES = ['pending', 'approved', 'denied', 'expired'] as const
const ApprovalState = Type.Enum(APPROVAL_STATES, {
  title: 'ApprovalState',
  description: 'State of an approval request',
})

/** How long an approval request may wait. */
export const APPROVAL_SECONDS = { min: 60, max: 2_592_000, default: 86_400 } as const

export const APPROVERS_MAX = 1_000

const Escalation = Type.Object(
  { policy_id: Type.String(), version: integer('Version of the policy') },
  { title: 'Escalation', description: 'A policy that required approval' },
)

const requestFields = {
  redacted: Type.Boolean({
    description: 'Whether its texts were erased; a certificate of erasure names it',
  }),
  request_id: text('Id of the approval request'),
  kind: text('Kind of the record that waits'),
  record_id: text('Id of the record that waits'),
  action: text('The operation as policies name it, for example `artifacts.register`'),
  resource: text('Same as `record_id`'),
  issued_at: time('When the approval was requested'),
  expires_at: time('When the approval request expires'),
  status: ApprovalState,
  requested_by: Type.String(),
  proposal_digest: text('SHA-256 of the proposal, which a decision is bound to'),
  policy_set: Type.Integer(),
  escalations: Type.Array(Escalation, { description: 'The policies that required approval' }),
}

export const ApprovalRequest = Type.Object(requestFields, {
  title: 'ApprovalRequest',
  description: 'A request for an approval',
})
export type ApprovalRequest = Static<typeof ApprovalRequest>

export const ApprovalRequestWithContext = Type.Object({
  ...requestFields,
  context: about(JsonObject, 'What an approver signs, with the decision added'),
  context_bytes_hex: text('RFC 8785 bytes of `context` in hexadecimal'),
  signing_input: Type.Object(
    {
      approve: text('Bytes to sign for an approval, in base64'),
      deny: text('Bytes to sign for a denial, in base64'),
    },
    { description: 'The exact bytes to sign for either decision' },
  ),
  request: about(JsonObject, 'What was requested, in full'),
  proposal: about(JsonObject, 'The proposal; SHA-256 of its RFC 8785 bytes is `proposal_digest`'),
  policies: Type.Array(
    Type.Object({
      policy_id: Type.String(),
      version: integer('Version of the policy'),
      name: text('Name of the policy'),
      reason: text('Reason code of the policy'),
    }),
    { description: 'The policies that required approval, in the versions that did' },
  ),
  record: Nullable(about(JsonObject, 'The signed decision; null until there is one')),
})
export type ApprovalRequestWithContext = Static<typeof ApprovalRequestWithContext>

const Verification = Type.Object({
  request_id: text('Id of the approval request'),
  status: ApprovalState,
  passed: boolean('Whether every check passed'),
  checks: Type.Array(NamedCheck, { description: 'The checks' }),
  record: Nullable(about(JsonObject, 'The signed decision; null: there was none')),
  signer_id: Nullable(text('Id of the approver who signed; null: nobody signed')),
  signature: Nullable(text('Signature of the approver in base64')),
  context_bytes_hex: text('RFC 8785 bytes of what the approver signed, in hexadecimal'),
  not_checked: Type.Array(Type.String()),
})

const PublicKey = Type.String({
  pattern: '^[0-9a-fA-F]{64}$',
  description: 'Ed25519 public key in hexadecimal',
})

export const Approver = Type.Object(
  {
    approver_id: text('Id of the approver'),
    name: text('Name of the approver'),
    role: Nullable(text('Role of the approver')),
    public_key: text('Ed25519 public key in lower-case hexadecimal'),
    active: boolean('False: revoked, and kept because decisions name the approver'),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Approver', description: 'A person who may sign decisions' },
)
export type Approver = Static<typeof Approver>

export const ApprovalSettings = Type.Object(
  {
    different_credential: boolean('Whether the key that decides must not be the key that asked'),
    attestation_required: boolean('Whether only enrolled approvers may decide, with a signature'),
    expires_after_seconds: integer('How long new approval requests may wait'),
  },
  { title: 'ApprovalSettings', description: 'What the tenant requires of approvals' },
)
export type ApprovalSettings = Static<typeof ApprovalSettings>

const RequestParams = Type.Object({ request_id: about(Hex16, 'Id of the approval request') })
const ApproverParams = Type.Object({ approver_id: about(Hex12, 'Id of the approver') })
const reading = { access: 'tenant', scope: 'compliance:read', method: 'GET', status: 200 } as const
const changing = { access: 'tenant', scope: 'compliance:admin', status: 200 } as const

const paging = { limit: Limit(limits.records_page), offset: Offset, cursor: Cursor }

export const approvals = {
  requests: operation({
    ...reading,
    id: 'approvals.requests',
    path: '/v1/hitl/requests',
    summary: 'Lists approval requests, newest first',
    description: 'Use it to show the queue of what waits for a person.',
    query: Type.Object({
      status: Type.Optional(
        Type.Enum([...APPROVAL_STATES, 'all'], {
          default: 'pending',
          description: 'Returns only requests in this state, as it is now',
        }),
      ),
      ...paging,
    }),
    reply: page('requests', ApprovalRequest),
    refuses: ['rejected'],
  }),
  request: operation({
    ...reading,
    id: 'approvals.request',
    path: '/v1/hitl/requests/{request_id}',
    summary: 'Returns an approval request with the full proposal and the bytes to sign',
    description: 'Use it to show an approver the proposal.',
    params: RequestParams,
    reply: ApprovalRequestWithContext,
    refuses: ['request_not_found'],
  }),
  attest: operation({
    ...changing,
    id: 'approvals.attest',
    method: 'POST',
    path: '/v1/hitl/requests/{request_id}/attest',
    summary: "Approves or denies a request with an enrolled approver's signature",
    description:
      'Use it where decisions must be provable. `signature` is Ed25519, by the key of the ' +
      'approver `signer_id`, over the bytes that `signing_input` of the request gives for this ' +
      'decision. On an approval the policies are evaluated again.',
    params: RequestParams,
    body: Type.Object({
      decision: Type.Enum(['approve', 'deny'], { description: 'The decision' }),
      signer_id: about(Label, 'Id of the approver'),
      signature: Type.String({
        pattern: '^([0-9a-fA-F]{128}|[A-Za-z0-9+/]{86}==)$',
        description: 'Ed25519 signature, 64 bytes in hexadecimal or base64',
      }),
      reason: OptionalNullable(about(Reason, 'Why')),
    }),
    example: {
      decision: 'approve',
      signer_id: '0'.repeat(24),
      signature: '0'.repeat(128),
      reason: 'as agreed',
    },
    reply: Type.Object({
      request_id: text('Id of the approval request'),
      status: ApprovalState,
      kind: text('Kind of the record'),
      record_id: text('Id of the record'),
      record_status: about(RecordStatus, 'Status of the record'),
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
    summary: 'Verifies the signed record of a decision and the approver’s signature in it',
    description: 'Use it to check who decided and what exactly was decided.',
    params: RequestParams,
    reply: Verification,
    refuses: ['request_not_found'],
  }),
  enroll: operation({
    ...changing,
    id: 'approvals.enroll',
    method: 'POST',
    path: '/v1/hitl/approvers',
    summary: 'Enrols an approver with an Ed25519 key',
    description: 'Use it once for each person who signs decisions; the person keeps the key.',
    body: Type.Object({
      name: about(Name, 'Name of the approver'),
      public_key: PublicKey,
      role: OptionalNullable(about(Name, 'Role of the approver')),
    }),
    example: {
      name: 'Ana',
      role: 'release manager',
      public_key: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    },
    status: 201,
    reply: Approver,
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  approvers: operation({
    ...reading,
    id: 'approvals.approvers',
    path: '/v1/hitl/approvers',
    summary: 'Lists approvers, newest first, including revoked ones',
    description: 'Use it to review who may sign decisions.',
    query: Type.Object(paging),
    reply: page('approvers', Approver),
    refuses: ['rejected'],
  }),
  approver: operation({
    ...reading,
    id: 'approvals.approver',
    path: '/v1/hitl/approvers/{approver_id}',
    summary: 'Returns one approver',
    description: 'Use it to find out who signed a decision.',
    params: ApproverParams,
    reply: Approver,
    refuses: ['approver_not_found'],
  }),
  update_approver: operation({
    ...changing,
    id: 'approvals.update_approver',
    method: 'PUT',
    path: '/v1/hitl/approvers/{approver_id}',
    summary: 'Changes the name, the role or the state of an approver',
    description:
      'Use it when a person changes roles. Fields that are absent or null stay the same. The key ' +
      'cannot be changed: enrol a new approver.',
    params: ApproverParams,
    body: Type.Object({
      name: OptionalNullable(about(Name, 'Name of the approver')),
      role: OptionalNullable(about(Name, 'Role of the approver')),
      active: OptionalNullable(boolean('Whether the approver may decide')),
    }),
    example: { role: 'legal' },
    reply: Approver,
    refuses: ['approver_not_found'],
  }),
  revoke: operation({
    ...changing,
    id: 'approvals.revoke',
    method: 'DELETE',
    path: '/v1/hitl/approvers/{approver_id}',
    summary: 'Revokes an approver with immediate effect',
    description: 'Use it when a person leaves or a key may have leaked.',
    params: ApproverParams,
    reply: Type.Object({
      approver_id: text('Id of the approver'),
      revoked: boolean('False when the approver had been revoked before'),
    }),
    refuses: ['approver_not_found'],
  }),
  settings: operation({
    ...reading,
    id: 'approvals.settings',
    path: '/v1/hitl/settings',
    summary: 'Returns what the tenant requires of approvals',
    description: 'Use it to find out how a request has to be decided.',
    reply: ApprovalSettings,
    refuses: [],
  }),
  change_settings: operation({
    ...changing,
    id: 'approvals.change_settings',
    method: 'PUT',
    path: '/v1/hitl/settings',
    summary: 'Changes what the tenant requires of approvals',
    description:
      'Use it to require another key, or a signature, for decisions. Fields that are absent or ' +
      'null stay the same.',
    body: Type.Object({
      different_credential: OptionalNullable(
        boolean('Whether the key that decides must not be the key that asked'),
      ),
      attestation_required: OptionalNullable(
        boolean('Whether only enrolled approvers may decide, with a signature'),
      ),
      expires_after_seconds: OptionalNullable(
        integer('How long new approval requests may wait', {
          minimum: APPROVAL_SECONDS.min,
          maximum: APPROVAL_SECONDS.max,
        }),
      ),
    }),
    example: { expires_after_seconds: 3_600 },
    reply: ApprovalSettings,
    refuses: [],
  }),
} as const
