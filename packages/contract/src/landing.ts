// Landing certificates (interface 4.6): what an artifact is, whence, under whom, and for what.

import Type, { type Static } from 'typebox'
import { Base64, Hex32, JsonObject, Label, Nullable, page } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { CORPUS_SOURCES_MAX, SOURCE_ID_CHARS_MAX } from './provenance.ts'
import {
  APPROVING_REFUSES,
  Authority,
  DECIDING_REFUSES,
  Digest,
  RecordedAuthority,
  RecordId,
  ResumeRequest,
  recordFields,
  recordPage,
  rejectedReply,
  StatusCounts,
  waiting,
} from './records.ts'

export const PERMITTED_ACTIONS_MAX = 1_000
/** Of `data_provenance` as JSON; of `conformance` it is `metadata_bytes`. */
export const PROVENANCE_BYTES_MAX = 512 * 1024
/** In a list, larger documents and the sources of larger corpora are left out. */
export const LISTED_CERTIFICATE_BYTES_MAX = 64 * 1024

const ArtifactRef = Type.String({ ...Label, maxLength: limits.ref_chars })
const CheckResult = Type.Enum(['pass', 'fail', 'not_checked'])
const LayerHashes = Type.Array(Digest, { minItems: 1, maxItems: limits.layers_per_artifact })

/** What the service is to look for; the block of a corpus fits as it is. */
const DataProvenance = Type.Object(
  {
    /** 64 hex characters; without it the provenance is unsealed and nothing is issued. */
    merkle_root: Type.Optional(Type.Unknown()),
    corpus_hash: Type.Optional(Nullable(Digest)),
    corpus_id: Type.Optional(Nullable(Label)),
    sources: Type.Optional(
      Nullable(
        Type.Array(Type.String({ ...Label, maxLength: SOURCE_ID_CHARS_MAX }), {
          maxItems: CORPUS_SOURCES_MAX,
        }),
      ),
    ),
  },
  { description: 'Further members are recorded as given.' },
)

/** Hashed, compared with `layer_hashes` in order, and kept nowhere. */
const LayerBytes = Type.Optional(
  Nullable(Type.Array(Base64, { maxItems: limits.layers_per_artifact })),
)

const ConformanceRequest = Type.Object({
  artifact_ref: ArtifactRef,
  layer_hashes: LayerHashes,
  data_provenance: DataProvenance,
  base_model_ref: Type.Optional(Nullable(ArtifactRef)),
  kind: Type.Optional(Nullable(Label)),
  authority: Type.Optional(Nullable(Authority)),
  layer_bytes: LayerBytes,
})
export type ConformanceRequest = Static<typeof ConformanceRequest>

const IssueLandingRequest = Type.Object({
  artifact_ref: ArtifactRef,
  base_model_ref: ArtifactRef,
  layer_hashes: LayerHashes,
  data_provenance: DataProvenance,
  authority: Authority,
  /** The caller's own finding: recorded beside what is computed, never believed. */
  conformance: Type.Object({
    result: CheckResult,
    harness_version: Type.Optional(Nullable(Label)),
    /** In words of their own; `fail` and false claim that a check fails. */
    per_policy: Type.Optional(
      Nullable(Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]))),
    ),
  }),
  permitted_actions: Type.Array(Label, { maxItems: PERMITTED_ACTIONS_MAX }),
  /** Default: `lora+rag`. */
  kind: Type.Optional(Nullable(Label)),
  layer_bytes: LayerBytes,
})
export type IssueLandingRequest = Static<typeof IssueLandingRequest>

const PerPolicy = Type.Object({
  artifact_integrity: CheckResult,
  data_provenance: CheckResult,
  authority: CheckResult,
})

const Evidence = Type.Object({
  /** The registered artifact of this very content. */
  artifact_id: Nullable(Type.String()),
  /** The sealed corpus that agrees with `data_provenance`. */
  corpus_id: Nullable(Type.String()),
  layer_bytes: Type.Enum(['not_sent', 'match', 'differ']),
})

const conformanceFields = {
  harness_version: Type.String(),
  /**
   * `fail` when a check failed; `pass` when a record here or bytes agreed and none failed;
   * otherwise `not_checked`: what an authority says of itself is no agreement.
   */
  result: CheckResult,
  per_policy: PerPolicy,
  evidence: Evidence,
}

const Conformance = Type.Object(conformanceFields)

/** The signed record; RFC 8785 and Ed25519 under `custos/landing/v1`. */
export const LandingDocument = Type.Object({
  certificate_id: RecordId,
  schema_version: Type.String(),
  version: Type.String(),
  artifact: Type.Object({
    artifact_ref: Type.String(),
    base_model_ref: Type.String(),
    kind: Type.String(),
    layer_hashes: Type.Array(Hex32),
    manifest_digest: Hex32,
  }),
  data_provenance: JsonObject,
  authority: RecordedAuthority,
  conformance: Conformance,
  claimed_conformance: JsonObject,
  permitted_actions: Type.Array(Type.String()),
  /** What nobody looked at. */
  not_checked: Type.Array(Type.String()),
  signed_bytes: Base64,
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
})
export type LandingDocument = Static<typeof LandingDocument>

export const LandingCertificate = Type.Object({
  certificate_id: RecordId,
  ...recordFields,
  artifact_ref: Type.String(),
  base_model_ref: Type.String(),
  kind: Type.String(),
  layer_hashes: Type.Array(Hex32),
  data_provenance: JsonObject,
  authority: RecordedAuthority,
  /** As computed when it was issued; null where it was not. */
  conformance: Nullable(Conformance),
  claimed_conformance: JsonObject,
  permitted_actions: Type.Array(Type.String()),
})
export type LandingCertificate = Static<typeof LandingCertificate>

const Verification = Type.Object({
  passed: Type.Boolean(),
  /**
   * Among others `signature`, `authority_present` and `conformance_pass`, in whose place
   * `conformance_not_failed` stands where nothing agreed and nothing failed; all false if unsigned.
   */
  checks: Type.Record(Type.String(), Type.Boolean()),
  /** The first check that failed, in words. */
  reason: Nullable(Type.String()),
  /** Empty where nothing was issued. */
  reconstruction: Type.Object({
    what: Type.Optional(Type.String()),
    from_where: Type.Optional(Type.String()),
    under_whom: Type.Optional(Type.String()),
    cleared_how: Type.Optional(Type.String()),
    may_do: Type.Optional(Type.Array(Type.String())),
  }),
  status: recordFields.status,
  not_checked: Type.Array(Type.String()),
})

const CertificateParams = Type.Object({ certificate_id: RecordId })
const reading = { access: 'tenant', scope: 'compliance:read', method: 'GET', status: 200 } as const
const changing = { access: 'tenant', scope: 'compliance:admin', method: 'POST' } as const

export const landing = {
  conformance: operation({
    ...changing,
    id: 'landing.conformance',
    path: '/v1/landing/conformance',
    summary: 'What the service itself finds of an artifact, its data and an authority',
    description:
      'The checks of `issue`, with nothing stored: the registered artifact of this content and ' +
      'the sealed corpus of this root are looked up, bytes of layers are hashed if sent. What ' +
      'cannot be looked up is `not_checked`, never passed.',
    body: ConformanceRequest,
    status: 200,
    reply: Type.Object({
      ...conformanceFields,
      /** Why a check failed. */
      reasons: Type.Array(Type.String()),
      not_checked: Type.Array(Type.String()),
    }),
    refuses: ['rejected'],
  }),
  issue: operation({
    ...changing,
    id: 'landing.issue',
    path: '/v1/landing/issue',
    summary: 'Issues a signed certificate, or waits for an approval where a policy asks for one',
    description:
      'Conformance is computed here; the one in the request is recorded beside it. Where a check ' +
      'fails, or the claim says or contradicts that, nothing is issued or stored (422 ' +
      '`rejected`). A registered artifact of the same content becomes `certified` with it.',
    body: IssueLandingRequest,
    status: 201,
    reply: LandingDocument,
    accepted: waiting('certificate_id'),
    refuses: ['rejected', 'policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  stats: operation({
    ...reading,
    id: 'landing.stats',
    path: '/v1/landing/stats',
    summary: 'How many certificates there are of each status',
    reply: StatusCounts,
    refuses: [],
  }),
  list: operation({
    ...reading,
    id: 'landing.list',
    path: '/v1/landing',
    summary: 'Certificates of every status, newest first',
    description:
      'A `document` of more than 64 KiB is null here, and so long a `data_provenance` comes ' +
      'without its sources; read the certificate to have them.',
    query: recordPage,
    reply: page('certificates', LandingCertificate),
    refuses: ['rejected'],
  }),
  get: operation({
    ...reading,
    id: 'landing.get',
    path: '/v1/landing/{certificate_id}',
    summary: 'A certificate, or what was asked for and waits or was denied',
    params: CertificateParams,
    reply: LandingCertificate,
    refuses: ['landing_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'landing.verify',
    path: '/v1/landing/{certificate_id}/verify',
    summary: 'Recomputes everything a certificate says, and what it answers',
    params: CertificateParams,
    reply: Verification,
    refuses: ['landing_not_found'],
  }),
  approve: operation({
    ...changing,
    id: 'landing.approve',
    path: '/v1/landing/{certificate_id}/approve',
    summary: 'Issues a certificate that waits; policies and conformance are evaluated again',
    params: CertificateParams,
    body: ResumeRequest,
    status: 200,
    reply: LandingDocument,
    refuses: ['landing_not_found', ...APPROVING_REFUSES, 'rejected'],
    idempotent: true,
  }),
  reject: operation({
    ...changing,
    id: 'landing.reject',
    path: '/v1/landing/{certificate_id}/reject',
    summary: 'Denies a certificate that waits',
    params: CertificateParams,
    body: ResumeRequest,
    status: 200,
    reply: rejectedReply('certificate_id'),
    refuses: ['landing_not_found', ...DECIDING_REFUSES],
    idempotent: true,
  }),
} as const
