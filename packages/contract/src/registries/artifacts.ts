// The artifact registry: models and adapters, identified by the digests of their layers.

import Type from 'typebox'
import {
  about,
  boolean,
  Hex16,
  JsonObject,
  Label,
  label,
  NOT_BLANK,
  Nullable,
  page,
  text,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import {
  APPROVAL_REFUSALS,
  CheckResults,
  DECISION_REFUSALS,
  Digest,
  RecordId,
  ResumeRequest,
  recordFields,
  recordPageQuery,
  rejectedReply,
  resumeExample,
  StatusCounts,
  waitingReply,
} from './records.ts'

/** Lists omit documents larger than this. */
export const LISTED_ARTIFACT_BYTES_MAX = 64 * 1024

/** The name of an artifact or of a base model. */
export const ArtifactRef = label({
  title: 'ArtifactRef',
  description: 'A name of 1 to 512 characters without control characters, not blank',
  pattern: NOT_BLANK,
  maxLength: limits.ref_chars,
})

/** The kind of artifact, for example `lora+rag`. */
export const ArtifactKind = label({
  title: 'ArtifactKind',
  description: 'A text of 1 to 256 characters without control characters, not blank',
  pattern: NOT_BLANK,
})

const Layer = Type.Object({
  media_type: Type.Optional(Nullable(about(Label, 'Media type of the layer'))),
  digest: about(Digest, 'SHA-256 of the layer'),
  size: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Size of the layer in bytes',
      }),
    ),
  ),
})

export const RegisterArtifactRequest = Type.Object({
  artifact_ref: about(ArtifactRef, 'Name of the artifact'),
  base_model_ref: about(ArtifactRef, 'Name of the base model'),
  layers: Type.Array(Layer, {
    minItems: 1,
    maxItems: limits.layers_per_artifact,
    description: 'The layers, in order',
  }),
  kind: Type.Optional(about({ ...ArtifactKind, default: 'lora+rag' }, 'Kind of artifact')),
  metadata: Type.Optional(
    about(
      JsonObject,
      `Up to ${limits.metadata_bytes} bytes of JSON, ${limits.metadata_depth} levels deep`,
    ),
  ),
})

const Hashes = Type.Array(Type.String(), {
  description: 'SHA-256 of each layer in lower-case hexadecimal, in order',
})

export const Artifact = Type.Object(
  {
    artifact_id: Type.String(),
    artifact_ref: text('Name of the artifact'),
    base_model_ref: text('Name of the base model'),
    kind: text('Kind of artifact'),
    manifest_digest: text('SHA-256 over base model, kind and the digests in order'),
    layer_hashes: Hashes,
    metadata: about(JsonObject, 'Metadata given at registration'),
    certificate_id: Nullable(text('Id of the landing certificate that certifies it')),
    ...recordFields,
  },
  { title: 'Artifact', description: 'A registered artifact' },
)

const params = Type.Object({ artifact_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', status: 200 } as const
const admin = { access: 'tenant', scope: 'artifacts:admin', method: 'POST' } as const
const deciding = {
  ...admin,
  params,
  body: ResumeRequest,
  example: resumeExample,
  status: 200,
  idempotent: true,
} as const

export const artifacts = {
  register: operation({
    ...admin,
    id: 'artifacts.register',
    path: '/v1/artifacts/register',
    summary: 'Registers an artifact',
    description:
      'Use it before an artifact is deployed. Registering the same artifact again returns the ' +
      'existing record. The policies of the tenant are evaluated as `artifacts.register`: if one ' +
      'escalates, the artifact waits for an approval (202); if one denies, the artifact is ' +
      'recorded as denied.',
    body: RegisterArtifactRequest,
    // `compositions.artifact` returns these with the body for registering the composed result.
    tolerated: ['body.composition_id', 'body.members', 'body.status'],
    example: {
      artifact_ref: 'adapters/mail',
      base_model_ref: 'models/base-7b',
      layers: [
        { media_type: 'application/octet-stream', digest: `sha256:${'c3'.repeat(32)}`, size: 12 },
      ],
      kind: 'lora',
      metadata: { license: 'MIT' },
    },
    status: 201,
    reply: Artifact,
    accepted: waitingReply('artifact_id'),
    refuses: ['policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  stats: operation({
    ...reading,
    id: 'artifacts.stats',
    method: 'GET',
    path: '/v1/artifacts/stats',
    summary: 'Counts artifacts by status',
    description: 'Use it for an overview of the registry.',
    reply: StatusCounts,
    refuses: [],
  }),
  list: operation({
    ...reading,
    id: 'artifacts.list',
    method: 'GET',
    path: '/v1/artifacts',
    summary: 'Lists artifacts, newest first',
    description:
      'Use it to browse the registry. A document larger than 64 KiB is null in the list; read ' +
      'the artifact by its id.',
    query: recordPageQuery,
    reply: page('artifacts', Artifact),
    refuses: ['rejected'],
  }),
  get: operation({
    ...reading,
    id: 'artifacts.get',
    method: 'GET',
    path: '/v1/artifacts/{artifact_id}',
    summary: 'Returns one artifact',
    description: 'Use it to read an artifact with its signed document.',
    params,
    reply: Artifact,
    refuses: ['artifact_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'artifacts.verify',
    method: 'GET',
    path: '/v1/artifacts/{artifact_id}/verify',
    summary: 'Verifies the signed document of an artifact and everything derived in it',
    description: 'Use it before relying on an artifact.',
    params,
    reply: Type.Object({
      artifact_id: Type.String(),
      passed: boolean('Whether every check passed'),
      checks: about(CheckResults, 'Checks by name, among them `certificate` if it is certified'),
      manifest_digest: Nullable(text('Recomputed manifest digest')),
      status: text('Status of the record'),
      certificate_id: Nullable(text('Id of the landing certificate that certifies it')),
      not_checked: Type.Array(Type.String()),
      reason: Nullable(text('The first check that failed, in words')),
    }),
    refuses: ['artifact_not_found'],
  }),
  integrity: operation({
    ...reading,
    id: 'artifacts.integrity',
    safe: true,
    method: 'POST',
    path: '/v1/artifacts/{artifact_id}/integrity',
    summary: 'Compares digests of layers with the registered ones, in order and number',
    description: 'Use it when an artifact is loaded, to check that it is the registered one.',
    params,
    body: Type.Object({
      layer_hashes: Type.Array(Digest, {
        maxItems: limits.layers_per_artifact,
        description: 'SHA-256 of each layer, in order',
      }),
    }),
    example: { layer_hashes: ['a1'.repeat(32)] },
    reply: Type.Object({
      match: boolean('Whether they are the same'),
      registered: Type.Array(Type.String(), { description: 'The registered digests' }),
      supplied: Type.Array(Type.String(), { description: 'The digests of the request' }),
    }),
    refuses: ['artifact_not_found'],
  }),
  certify: operation({
    ...admin,
    id: 'artifacts.certify',
    path: '/v1/artifacts/{artifact_id}/certify',
    summary: 'Marks an artifact as certified by an issued landing certificate of the same artifact',
    description: 'Use it when the certificate was issued before the artifact was registered.',
    params,
    body: Type.Object({ certificate_id: about(Hex16, 'Id of the landing certificate') }),
    example: { certificate_id: '0'.repeat(32) },
    status: 200,
    reply: Artifact,
    refuses: [
      'artifact_not_found',
      'landing_not_found',
      'wrong_state',
      'rejected',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  approve: operation({
    ...deciding,
    id: 'artifacts.approve',
    path: '/v1/artifacts/{artifact_id}/approve',
    summary: 'Approves an artifact that waits for an approval',
    description: 'Use it to release an escalated registration. The policies are evaluated again.',
    reply: Artifact,
    refuses: ['artifact_not_found', ...APPROVAL_REFUSALS],
  }),
  reject: operation({
    ...deciding,
    id: 'artifacts.reject',
    path: '/v1/artifacts/{artifact_id}/reject',
    summary: 'Rejects an artifact that waits for an approval',
    description: 'Use it to end an escalated registration.',
    reply: rejectedReply('artifact_id'),
    refuses: ['artifact_not_found', ...DECISION_REFUSALS],
  }),
} as const
