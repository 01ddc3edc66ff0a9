// Compositions: artifacts and data combined for one target, with the licences that apply.

import Type, { type Static } from 'typebox'
import { TrustTier } from '../access/keys.ts'
import { about, boolean, integer, Label, label, Nullable, page, text } from '../core/common.ts'
import { operation } from '../core/operation.ts'
import {
  APPROVAL_REFUSALS,
  Authority,
  CheckResults,
  DECISION_REFUSALS,
  RecordedAuthority,
  RecordId,
  RecordStatus,
  ResumeRequest,
  recordFields,
  recordPageQuery,
  rejectedReply,
  resumeExample,
  StatusCounts,
  waitingReply,
} from './records.ts'

export const COMPOSITION_MEMBERS_MAX = 200
export const LICENSE_CHARS_MAX = 1_000
/** Size limit of all claimed licences together, and of all licences in the members' records. */
export const COMPOSITION_LICENSES_BYTES_MAX = 64 * 1024
/** Size limit of members and licences together in the signed record. */
export const COMPOSITION_SIGNED_BYTES_MAX = 256 * 1024
/** Lists omit documents larger than this. */
export const LISTED_COMPOSITION_BYTES_MAX = 64 * 1024

const Member = Type.Object({
  ref_id: about(
    Label,
    'Id of a record of the registries, for an artifact also its `artifact_ref`; or any name',
  ),
  license: label({
    maxLength: LICENSE_CHARS_MAX,
    description: 'An SPDX licence expression; other texts are accepted and reported as not SPDX',
    examples: ['Apache-2.0', 'MIT OR GPL-2.0-or-later', 'GPL-3.0-only WITH GCC-exception-3.1'],
  }),
  certified: boolean('Whether the member is certified, as claimed'),
})

export const ComposeRequest = Type.Object({
  composition_kind: about(Label, 'Kind of composition'),
  members: Type.Array(Member, {
    minItems: 1,
    maxItems: COMPOSITION_MEMBERS_MAX,
    description: 'What is combined',
  }),
  target_ref: about(Label, 'Name of the result'),
  authority: Type.Optional(Authority),
  required_trust_tier: Type.Optional({
    ...about(TrustTier, 'Trust tier the authority must have'),
    default: 'verified',
  }),
})
export type ComposeRequest = Static<typeof ComposeRequest>

const memberIds = (description: string) => Type.Array(Type.String(), { description })

const Conflict = Type.Object({
  rule: text('The rule that is violated'),
  members: memberIds('Ids of the members concerned'),
  licenses: Type.Array(Type.String(), { description: 'The licences concerned' }),
  detail: text('The conflict in words'),
  source: Nullable(text('Where the rule comes from')),
})

const Verdict = Type.Object(
  {
    compatible: boolean('Whether the licences can be combined'),
    detail: text('The verdict in words'),
    expression: Nullable(
      text('The licence of the whole as one SPDX expression; null if a part is not SPDX'),
    ),
    terms: Type.Array(Type.String(), {
      description: 'The same, term by term, after a choice among alternatives',
    }),
    reasons: Type.Array(Conflict, { description: 'Conflicts between licences' }),
    reported: Type.Array(
      Type.Object({
        license: text('A licence, or a pair `A with B`'),
        members: memberIds('Ids of the members concerned'),
        why: text('Why no rule decides it'),
      }),
      {
        description:
          'Licences and pairs of licences that no rule covers: they block nothing and are not ' +
          'cleared either',
      },
    ),
  },
  { title: 'LicenseVerdict', description: 'What the licences of the members allow together' },
)

const MEMBER_KINDS = ['artifact', 'landing', 'corpus', 'composition'] as const
const MemberRecord = Type.Object(
  {
    kind: Type.Enum([...MEMBER_KINDS], { description: 'Kind of record' }),
    id: text('Id of the record'),
    status: text('Status of the record at the time'),
    licenses: Type.Array(Type.String(), {
      description: 'Licences stated by it and the records it builds on; they apply besides',
    }),
  },
  { description: 'The record in the registries; null: only the caller claims it' },
)

const ResolvedMember = Type.Object({
  ref_id: text('The member as claimed'),
  license: text('Its licence as claimed'),
  certified: boolean('Whether it is certified, as claimed'),
  found: Nullable(MemberRecord),
})

export const Composition = Type.Object(
  {
    composition_id: Type.String(),
    composition_kind: text('Kind of composition'),
    target_ref: text('Name of the result'),
    member_count: integer('Number of members'),
    members: Type.Array(ResolvedMember, {
      description: 'Members as claimed, and as found when the composition was proposed',
    }),
    license_verdict: Nullable(
      about(Verdict, 'What the licences allow; null until signed, and in a list if large'),
    ),
    authority: RecordedAuthority,
    required_trust_tier: about(TrustTier, 'Trust tier the authority must have'),
    ...recordFields,
  },
  { title: 'Composition', description: 'A composition' },
)
export type Composition = Static<typeof Composition>

const params = Type.Object({ composition_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', method: 'GET', status: 200 } as const
const changing = { access: 'tenant', scope: 'artifacts:admin', method: 'POST' } as const
const deciding = {
  ...changing,
  params,
  body: ResumeRequest,
  example: resumeExample,
  status: 200,
  idempotent: true,
} as const

export const compositions = {
  compose: operation({
    ...changing,
    id: 'compositions.compose',
    path: '/v1/compositions',
    summary: 'Checks members, licences, trust tier and policies of a composition and signs it',
    description:
      'Use it before combined artifacts and data are released. Members in the registries of the ' +
      'tenant are looked up, and a claim that contradicts the record is refused; other members ' +
      'are recorded as claimed and listed as `unverified_members`. Licences stated by records of ' +
      'members apply besides the claimed ones. At most 64 KiB of licences and 256 KiB of signed ' +
      'content. 422 `rejected` lists every reason; 202 means that a policy asks for an approval.',
    body: ComposeRequest,
    example: {
      composition_kind: 'stack',
      members: [
        { ref_id: 'adapters/support', license: 'MIT OR GPL-2.0-or-later', certified: true },
        { ref_id: 'models/base', license: 'Apache-2.0', certified: true },
      ],
      target_ref: 'stacks/support',
      authority: { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'trusted' },
      required_trust_tier: 'basic',
    },
    status: 201,
    reply: Composition,
    accepted: waitingReply('composition_id'),
    refuses: ['rejected', 'policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...reading,
    id: 'compositions.list',
    path: '/v1/compositions',
    summary: 'Lists compositions, newest first',
    description:
      'Use it to browse the registry. If a document is larger than 64 KiB, it and the verdict ' +
      'are null and `members` is empty in the list; read the composition by its id.',
    query: recordPageQuery,
    reply: page('compositions', Composition),
    refuses: ['rejected'],
  }),
  stats: operation({
    ...reading,
    id: 'compositions.stats',
    path: '/v1/compositions/stats',
    summary: 'Counts compositions by status',
    description: 'Use it for an overview of the registry.',
    reply: StatusCounts,
    refuses: [],
  }),
  get: operation({
    ...reading,
    id: 'compositions.get',
    path: '/v1/compositions/{composition_id}',
    summary: 'Returns one composition',
    description: 'Use it to read a composition with its signed document.',
    params,
    reply: Composition,
    refuses: ['composition_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'compositions.verify',
    path: '/v1/compositions/{composition_id}/verify',
    summary: 'Verifies the signed document of a composition and everything derived in it',
    description: 'Use it before relying on a composition.',
    params,
    reply: Type.Object({
      passed: boolean('Whether every check passed'),
      checks: about(
        CheckResults,
        'Checks by name, among them `signature`, `members_consistent` and `licenses_compatible`',
      ),
      attestation: Type.Object(
        {
          kind: text('Kind of composition'),
          members: memberIds('Ids of the members'),
          target: text('Name of the result'),
          by: Nullable(text('The person on whose behalf it was done')),
          licenses: Type.Array(Type.String(), { description: 'Licences of the members' }),
        },
        { description: 'What the document attests' },
      ),
      status: RecordStatus,
      unverified_members: memberIds('Members that only the caller claimed'),
      not_checked: Type.Array(Type.String()),
      reason: Nullable(text('The first check that failed, in words; null if all passed')),
    }),
    refuses: ['composition_not_found'],
  }),
  artifact: operation({
    ...reading,
    id: 'compositions.artifact',
    path: '/v1/compositions/{composition_id}/artifact',
    summary: 'Returns the artifact to register for the composed result',
    description:
      'Use it after a composition is governed. The fields are null while it is not governed.',
    params,
    reply: Type.Object({
      artifact_ref: Nullable(text('Name to register')),
      composition_id: Type.String(),
      members: Nullable(memberIds('Ids of the members')),
      kind: Nullable(text('Kind to register')),
      status: RecordStatus,
    }),
    refuses: ['composition_not_found'],
  }),
  approve: operation({
    ...deciding,
    id: 'compositions.approve',
    path: '/v1/compositions/{composition_id}/approve',
    summary: 'Approves a composition that waits for an approval, and signs it',
    description: 'Use it to release an escalated composition. Everything is checked again.',
    reply: Composition,
    refuses: ['composition_not_found', ...APPROVAL_REFUSALS, 'rejected'],
  }),
  reject: operation({
    ...deciding,
    id: 'compositions.reject',
    path: '/v1/compositions/{composition_id}/reject',
    summary: 'Rejects a composition that waits for an approval',
    description: 'Use it to end an escalated composition.',
    reply: rejectedReply('composition_id'),
    refuses: ['composition_not_found', ...DECISION_REFUSALS],
  }),
} as const
