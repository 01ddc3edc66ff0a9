// Landing certificates (interface 4.6): an artifact's identity, data, authority and permissions.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  Hex32,
  JsonObject,
  Label,
  Nullable,
  OptionalNullable,
  page,
  text,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { ArtifactKind, ArtifactRef } from './artifacts.ts'
import { CORPUS_SOURCES_MAX, SourceId } from './provenance.ts'
import {
  APPROVAL_REFUSALS,
  Authority,
  CheckResults,
  DECISION_REFUSALS,
  Digest,
  RecordedAuthority,
  RecordId,
  ResumeRequest,
  recordFields,
  recordPageQuery,
  rejectedReply,
  resumeExample,
  StatusCounts,
  waitingReply,
} from './records.ts'

export const PERMITTED_ACTIONS_MAX = 1_000
/** Size limit of `data_provenance` as JSON. The limit of `conformance` is `metadata_bytes`. */
export const PROVENANCE_BYTES_MAX = 512 * 1024
/** Lists omit documents larger than this, and the sources of corpora larger than this. */
export const LISTED_CERTIFICATE_BYTES_MAX = 64 * 1024

const ConformanceResult = Type.Enum(['pass', 'fail', 'not_checked'], {
  title: 'ConformanceResult',
  description: '`not_checked`: there was nothing to compare with, which is not a pass',
})
const LayerHashes = Type.Array(Digest, {
  minItems: 1,
  maxItems: limits.layers_per_artifact,
  description: 'SHA-256 of each layer, in order',
})

/** The members that the service looks up. The `block` of a corpus has this form. */
const DataProvenance = Type.Object(
  {
    merkle_root: Type.Optional(
      Type.Unknown({
        description: '64 hexadecimal characters; without it nothing is issued',
      }),
    ),
    corpus_hash: OptionalNullable(
      about(Digest, 'SHA-256 over name, sources, processing, attestations and root'),
    ),
    corpus_id: OptionalNullable(about(Label, 'Id of the corpus')),
    sources: OptionalNullable(
      Type.Array(SourceId, {
        maxItems: CORPUS_SOURCES_MAX,
        description: 'Ids of the sources, in the order of the leaves',
      }),
    ),
  },
  {
    title: 'DataProvenance',
    description: 'The corpus the artifact was trained on. Further fields are recorded as given.',
    additionalProperties: true,
  },
)

/** Bytes of layers. They are hashed, compared with `layer_hashes` in order, and not stored. */
const LayerBytes = OptionalNullable(
  Type.Array(Base64, {
    maxItems: limits.layers_per_artifact,
    description: 'The layers themselves, compared with `layer_hashes` and not stored',
  }),
)

const ConformanceRequest = Type.Object({
  artifact_ref: about(ArtifactRef, 'Name of the artifact'),
  layer_hashes: LayerHashes,
  data_provenance: DataProvenance,
  base_model_ref: OptionalNullable(about(ArtifactRef, 'Name of the base model')),
  kind: OptionalNullable(about(ArtifactKind, 'Kind of artifact')),
  authority: OptionalNullable(Authority),
  layer_bytes: LayerBytes,
})
export type ConformanceRequest = Static<typeof ConformanceRequest>

const IssueLandingRequest = Type.Object({
  artifact_ref: about(ArtifactRef, 'Name of the artifact'),
  base_model_ref: about(ArtifactRef, 'Name of the base model'),
  layer_hashes: LayerHashes,
  data_provenance: DataProvenance,
  authority: Authority,
  conformance: OptionalNullable(
    Type.Object(
      {
        result: OptionalNullable(
          about(ConformanceResult, "The caller's result; default: `not_checked`"),
        ),
        harness_version: OptionalNullable(about(Label, 'Version of the harness that was used')),
        per_policy: OptionalNullable(
          Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]), {
            description: 'Results by policy; `fail` and false claim that a check failed',
          }),
        ),
      },
      {
        description:
          "The caller's own finding, if there is one: recorded beside what is computed, never " +
          'relied on. Absent, `not_checked` is recorded.',
        additionalProperties: true,
      },
    ),
  ),
  permitted_actions: Type.Array(Label, {
    maxItems: PERMITTED_ACTIONS_MAX,
    description: 'What the artifact may do',
  }),
  kind: OptionalNullable(about(ArtifactKind, 'Kind of artifact; default: `lora+rag`')),
  layer_bytes: LayerBytes,
})
export type IssueLandingRequest = Static<typeof IssueLandingRequest>

const conformanceFields = {
  harness_version: text('Version of the checks'),
  result: about(
    ConformanceResult,
    '`fail` if a check failed; `pass` if a record or the layers agreed and no check failed; ' +
      'otherwise `not_checked`',
  ),
  per_policy: Type.Object(
    {
      artifact_integrity: about(ConformanceResult, 'Whether the layers are the registered ones'),
      data_provenance: about(ConformanceResult, 'Whether a sealed corpus agrees'),
      authority: about(ConformanceResult, 'Whether the authority is sufficient'),
    },
    { title: 'ConformanceChecks', description: 'Result of each check' },
  ),
  evidence: Type.Object(
    {
      artifact_id: Nullable(text('Id of the registered artifact with this content')),
      corpus_id: Nullable(text('Id of the sealed corpus that agrees with `data_provenance`')),
      layer_bytes: Type.Enum(['not_sent', 'match', 'differ'], {
        description: 'Comparison of the layers with `layer_hashes`',
      }),
    },
    { title: 'ConformanceEvidence', description: 'What the result is based on' },
  ),
}

const Conformance = Type.Object(conformanceFields, {
  title: 'Conformance',
  description: 'What the service itself found',
})

/** The signed record: RFC 8785 and Ed25519 in the domain `custos/landing/v1`. */
export const LandingDocument = Type.Object(
  {
    certificate_id: RecordId,
    schema_version: text('Version of the record format'),
    version: text('Same as `schema_version`'),
    artifact: Type.Object(
      {
        artifact_ref: text('Name of the artifact'),
        base_model_ref: text('Name of the base model'),
        kind: text('Kind of artifact'),
        layer_hashes: Type.Array(Hex32, { description: 'SHA-256 of each layer, in order' }),
        manifest_digest: about(Hex32, 'SHA-256 over base model, kind and the digests in order'),
      },
      { description: 'The artifact' },
    ),
    data_provenance: about(JsonObject, 'The corpus the artifact was trained on'),
    authority: RecordedAuthority,
    conformance: Conformance,
    claimed_conformance: about(JsonObject, "The caller's own finding"),
    permitted_actions: Type.Array(Type.String(), { description: 'What the artifact may do' }),
    not_checked: Type.Array(Type.String(), { description: 'What was not checked' }),
    signed_bytes: Base64,
    signature: Base64,
    public_key: Base64,
    key_id: Type.String(),
  },
  { title: 'LandingDocument', description: 'A signed landing certificate' },
)
export type LandingDocument = Static<typeof LandingDocument>

export const LandingCertificate = Type.Object(
  {
    certificate_id: RecordId,
    ...recordFields,
    artifact_ref: text('Name of the artifact'),
    base_model_ref: text('Name of the base model'),
    kind: text('Kind of artifact'),
    layer_hashes: Type.Array(Hex32, { description: 'SHA-256 of each layer, in order' }),
    data_provenance: about(JsonObject, 'The corpus the artifact was trained on'),
    authority: RecordedAuthority,
    conformance: Nullable(
      about(Conformance, 'What the service found; null where no certificate was issued'),
    ),
    claimed_conformance: about(JsonObject, "The caller's own finding"),
    permitted_actions: Type.Array(Type.String(), { description: 'What the artifact may do' }),
  },
  { title: 'LandingCertificate', description: 'The record of a landing certificate' },
)
export type LandingCertificate = Static<typeof LandingCertificate>

const Verification = Type.Object({
  passed: Type.Boolean({ description: 'Whether every check passed' }),
  checks: about(
    CheckResults,
    'Checks by name, among them `signature`, `authority_present` and `conformance_pass`, or ' +
      '`conformance_not_failed` where there was nothing to compare with; all false if unsigned',
  ),
  reason: Nullable(text('The first check that failed, in words; null if all passed')),
  reconstruction: Type.Object(
    {
      what: Type.Optional(text('What the artifact is')),
      from_where: Type.Optional(text('Which data it was trained on')),
      under_whom: Type.Optional(text('Under whose authority')),
      cleared_how: Type.Optional(text('How it was checked')),
      may_do: Type.Optional(Type.Array(Type.String(), { description: 'What it may do' })),
    },
    { description: 'What the certificate says in words; empty where none was issued' },
  ),
  status: recordFields.status,
  not_checked: Type.Array(Type.String()),
})

const params = Type.Object({ certificate_id: RecordId })
const reading = { access: 'tenant', scope: 'compliance:read', method: 'GET', status: 200 } as const
const changing = { access: 'tenant', scope: 'compliance:admin', method: 'POST' } as const
const deciding = {
  ...changing,
  params,
  body: ResumeRequest,
  example: resumeExample,
  status: 200,
  idempotent: true,
} as const

const EXAMPLE_HASH = `sha256:${'a1'.repeat(32)}`
const EXAMPLE_ROOT = '5'.repeat(64)

export const landing = {
  conformance: operation({
    ...changing,
    id: 'landing.conformance',
    safe: true,
    path: '/v1/landing/conformance',
    summary: 'Checks an artifact, its data and an authority without storing anything',
    description:
      'Use it before `issue`, which makes the same checks: it looks up the registered artifact ' +
      'with this content and the sealed corpus with this root, and hashes the layers if they are ' +
      'sent. What cannot be looked up is `not_checked`, never passed.',
    body: ConformanceRequest,
    example: {
      artifact_ref: 'adapters/support',
      layer_hashes: [EXAMPLE_HASH],
      data_provenance: { merkle_root: EXAMPLE_ROOT },
    },
    status: 200,
    reply: Type.Object({
      ...conformanceFields,
      reasons: Type.Array(Type.String(), { description: 'Why checks failed' }),
      not_checked: Type.Array(Type.String(), { description: 'What was not checked' }),
    }),
    refuses: ['rejected'],
  }),
  issue: operation({
    ...changing,
    id: 'landing.issue',
    path: '/v1/landing/issue',
    summary: 'Issues a signed landing certificate, or waits for an approval',
    description:
      'Use it before an artifact goes into production. The service computes conformance itself ' +
      'and records the claimed one beside it. If a check fails, or the claim states or ' +
      'contradicts that, nothing is issued or stored (422 `rejected`). A registered artifact of ' +
      'the same content becomes `certified`.',
    body: IssueLandingRequest,
    example: {
      artifact_ref: 'adapters/support',
      base_model_ref: 'models/base-7b',
      layer_hashes: [EXAMPLE_HASH],
      data_provenance: { merkle_root: EXAMPLE_ROOT },
      authority: { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'verified' },
      permitted_actions: ['answer'],
    },
    status: 201,
    reply: LandingDocument,
    accepted: waitingReply('certificate_id'),
    refuses: ['rejected', 'policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  stats: operation({
    ...reading,
    id: 'landing.stats',
    path: '/v1/landing/stats',
    summary: 'Counts landing certificates by status',
    description: 'Use it for an overview of the registry.',
    reply: StatusCounts,
    refuses: [],
  }),
  list: operation({
    ...reading,
    id: 'landing.list',
    path: '/v1/landing',
    summary: 'Lists landing certificates of every status, newest first',
    description:
      'Use it to browse the registry. A `document` larger than 64 KiB is null in the list, and a ' +
      '`data_provenance` of that size comes without its sources; read the certificate by its id.',
    query: recordPageQuery,
    reply: page('certificates', LandingCertificate),
    refuses: ['rejected'],
  }),
  get: operation({
    ...reading,
    id: 'landing.get',
    path: '/v1/landing/{certificate_id}',
    summary: 'Returns one landing certificate of any status',
    description: 'Use it to read a certificate, or a request that waits or was denied.',
    params,
    reply: LandingCertificate,
    refuses: ['landing_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'landing.verify',
    path: '/v1/landing/{certificate_id}/verify',
    summary: 'Verifies the signed document of a landing certificate and everything derived in it',
    description: 'Use it before relying on a certificate.',
    params,
    reply: Verification,
    refuses: ['landing_not_found'],
  }),
  approve: operation({
    ...deciding,
    id: 'landing.approve',
    path: '/v1/landing/{certificate_id}/approve',
    summary: 'Approves a landing certificate that waits for an approval, and issues it',
    description:
      'Use it to release an escalated certificate. Policies and conformance are evaluated again.',
    reply: LandingDocument,
    refuses: ['landing_not_found', ...APPROVAL_REFUSALS, 'rejected'],
  }),
  reject: operation({
    ...deciding,
    id: 'landing.reject',
    path: '/v1/landing/{certificate_id}/reject',
    summary: 'Rejects a landing certificate that waits for an approval',
    description: 'Use it to end an escalated certificate.',
    reply: rejectedReply('certificate_id'),
    refuses: ['landing_not_found', ...DECISION_REFUSALS],
  }),
} as const
