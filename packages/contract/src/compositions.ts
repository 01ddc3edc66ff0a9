// Compositions: members under one target, what their licences allow, who stands for it.

import Type, { type Static } from 'typebox'
import { Label, Nullable, page } from './common.ts'
import { operation } from './operation.ts'
import {
  APPROVING_REFUSES,
  Authority,
  DECIDING_REFUSES,
  RECORD_STATUSES,
  RecordedAuthority,
  RecordId,
  ResumeRequest,
  recordFields,
  recordPage,
  rejectedReply,
  StatusCounts,
  TrustTier,
  waiting,
} from './records.ts'

export const COMPOSITION_MEMBERS_MAX = 200
export const LICENSE_CHARS_MAX = 1_000
/** Of all licences that are claimed, and of all that the records found state. */
export const COMPOSITION_LICENSES_BYTES_MAX = 64 * 1024
/** What the members and their licences make of the signed record. */
export const COMPOSITION_SIGNED_BYTES_MAX = 256 * 1024
/** A larger document is left out of a list. */
export const LISTED_COMPOSITION_BYTES_MAX = 64 * 1024

const Member = Type.Object({
  /** Of a record of the registries: its id, for an artifact also its artifact_ref; or any name. */
  ref_id: Label,
  license: Type.String({
    ...Label,
    maxLength: LICENSE_CHARS_MAX,
    description: 'An SPDX licence expression; other words are taken, and shown as not SPDX',
    examples: ['Apache-2.0', 'MIT OR GPL-2.0-or-later', 'GPL-3.0-only WITH GCC-exception-3.1'],
  }),
  certified: Type.Boolean(),
})

export const ComposeRequest = Type.Object({
  composition_kind: Label,
  members: Type.Array(Member, { minItems: 1, maxItems: COMPOSITION_MEMBERS_MAX }),
  target_ref: Label,
  authority: Type.Optional(Authority),
  required_trust_tier: Type.Optional({ ...TrustTier, default: 'verified' }),
})
export type ComposeRequest = Static<typeof ComposeRequest>

const Conflict = Type.Object({
  rule: Type.String(),
  /** Ids of the members concerned. */
  members: Type.Array(Type.String()),
  licenses: Type.Array(Type.String()),
  detail: Type.String(),
  /** Where the rule comes from. */
  source: Nullable(Type.String()),
})

const Verdict = Type.Object({
  compatible: Type.Boolean(),
  detail: Type.String(),
  /** What applies to the whole, as one SPDX expression; null where something in it is not SPDX. */
  expression: Nullable(Type.String()),
  /** The same term by term, after a choice among alternatives. */
  terms: Type.Array(Type.String()),
  reasons: Type.Array(Conflict),
  /**
   * Licences that no rule knows, and pairs (`A with B`) that no rule judges: in nobody's way, and
   * not cleared either.
   */
  reported: Type.Array(
    Type.Object({
      license: Type.String(),
      members: Type.Array(Type.String()),
      why: Type.String(),
    }),
  ),
})

const FOUND_KINDS = ['artifact', 'landing', 'corpus', 'composition'] as const
const Found = Type.Object({
  kind: Type.Enum([...FOUND_KINDS]),
  id: Type.String(),
  /** As it was then. */
  status: Type.String(),
  /** What it, and the records it rests on, say of licences: they apply beside the claim. */
  licenses: Type.Array(Type.String()),
})

const ShownMember = Type.Object({
  ref_id: Type.String(),
  license: Type.String(),
  certified: Type.Boolean(),
  /** The record it is in the registries; null: the caller alone says so. */
  found: Nullable(Found),
})

export const Composition = Type.Object({
  composition_id: Type.String(),
  composition_kind: Type.String(),
  target_ref: Type.String(),
  member_count: Type.Integer(),
  /** As claimed, and as found when it was proposed. */
  members: Type.Array(ShownMember),
  /** Null until it is signed, and of a large one in a list. */
  license_verdict: Nullable(Verdict),
  authority: RecordedAuthority,
  required_trust_tier: TrustTier,
  ...recordFields,
})
export type Composition = Static<typeof Composition>

const Params = Type.Object({ composition_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', status: 200 } as const
const changing = { access: 'tenant', scope: 'artifacts:admin' } as const

export const compositions = {
  compose: operation({
    ...changing,
    id: 'compositions.compose',
    method: 'POST',
    path: '/v1/compositions',
    summary: 'Governs a composition: members, licences, trust tier, policies; then signs it',
    description:
      'Members that are in the registries of the tenant are looked up, and a claim that ' +
      'contradicts what is found is refused; the others stand as claimed and are shown as ' +
      '`unverified_members`. Licences that their records state join those that are claimed. At ' +
      'most 64 KiB of licences, and 256 KiB to be signed. 422 `rejected` names every ' +
      'reason; 202 where a policy asks for a person first.',
    body: ComposeRequest,
    status: 201,
    reply: Composition,
    accepted: waiting('composition_id'),
    refuses: ['rejected', 'policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...reading,
    id: 'compositions.list',
    method: 'GET',
    path: '/v1/compositions',
    summary: 'The compositions of the tenant, newest first',
    description:
      'Where a document is larger than 64 KiB, it and the verdict are null here, and the members ' +
      'an empty list; read the composition by its id.',
    query: recordPage,
    reply: page('compositions', Composition),
    refuses: ['rejected'],
  }),
  stats: operation({
    ...reading,
    id: 'compositions.stats',
    method: 'GET',
    path: '/v1/compositions/stats',
    summary: 'How many compositions there are of each status',
    reply: StatusCounts,
    refuses: [],
  }),
  get: operation({
    ...reading,
    id: 'compositions.get',
    method: 'GET',
    path: '/v1/compositions/{composition_id}',
    summary: 'A composition with its signed document',
    params: Params,
    reply: Composition,
    refuses: ['composition_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'compositions.verify',
    method: 'GET',
    path: '/v1/compositions/{composition_id}/verify',
    summary: 'Recomputes everything that the document of a composition says',
    params: Params,
    reply: Type.Object({
      passed: Type.Boolean(),
      /** By name; `signature`, `members_consistent` and `licenses_compatible` are among them. */
      checks: Type.Record(Type.String(), Type.Boolean()),
      attestation: Type.Object({
        kind: Type.String(),
        members: Type.Array(Type.String()),
        target: Type.String(),
        by: Nullable(Type.String()),
        licenses: Type.Array(Type.String()),
      }),
      status: Type.Enum(RECORD_STATUSES),
      /** Members that only the caller vouched for. */
      unverified_members: Type.Array(Type.String()),
      /** What the document alone cannot show. */
      not_checked: Type.Array(Type.String()),
      /** The first failure in words; null when passed. */
      reason: Nullable(Type.String()),
    }),
    refuses: ['composition_not_found'],
  }),
  artifact: operation({
    ...reading,
    id: 'compositions.artifact',
    method: 'GET',
    path: '/v1/compositions/{composition_id}/artifact',
    summary: 'What to register the composed result as; nulls unless it is governed',
    params: Params,
    reply: Type.Object({
      artifact_ref: Nullable(Type.String()),
      composition_id: Type.String(),
      members: Nullable(Type.Array(Type.String())),
      kind: Nullable(Type.String()),
      status: Type.Enum(RECORD_STATUSES),
    }),
    refuses: ['composition_not_found'],
  }),
  approve: operation({
    ...changing,
    id: 'compositions.approve',
    method: 'POST',
    path: '/v1/compositions/{composition_id}/approve',
    summary: 'Approves a composition that waits: everything is checked again, then it is signed',
    params: Params,
    body: ResumeRequest,
    status: 200,
    reply: Composition,
    refuses: ['composition_not_found', ...APPROVING_REFUSES, 'rejected'],
    idempotent: true,
  }),
  reject: operation({
    ...changing,
    id: 'compositions.reject',
    method: 'POST',
    path: '/v1/compositions/{composition_id}/reject',
    summary: 'Rejects a composition that waits',
    params: Params,
    body: ResumeRequest,
    status: 200,
    reply: rejectedReply('composition_id'),
    refuses: ['composition_not_found', ...DECIDING_REFUSES],
    idempotent: true,
  }),
} as const
