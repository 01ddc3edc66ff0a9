// The artifact registry: models and adapters by the digests of their layers.

import Type from 'typebox'
import { JsonObject, Label, Nullable, page } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import {
  APPROVING_REFUSES,
  DECIDING_REFUSES,
  Digest,
  RecordId,
  ResumeRequest,
  recordFields,
  recordPage,
  rejectedReply,
  StatusCounts,
  waiting,
} from './records.ts'

/** A larger document is left out of a list. */
export const LISTED_ARTIFACT_BYTES_MAX = 64 * 1024

const Ref = Type.String({ ...Label, maxLength: limits.ref_chars })

const Layer = Type.Object({
  media_type: Type.Optional(Nullable(Label)),
  digest: Digest,
  /** Bytes. */
  size: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))),
})

export const RegisterArtifact = Type.Object({
  artifact_ref: Ref,
  base_model_ref: Ref,
  /** Ordered. */
  layers: Type.Array(Layer, { minItems: 1, maxItems: limits.layers_per_artifact }),
  kind: Type.Optional(Type.String({ ...Label, default: 'lora+rag' })),
  metadata: Type.Optional({
    ...JsonObject,
    description: `${limits.metadata_bytes} bytes and ${limits.metadata_depth} levels at most`,
  }),
})

export const Artifact = Type.Object({
  artifact_id: Type.String(),
  artifact_ref: Type.String(),
  base_model_ref: Type.String(),
  kind: Type.String(),
  /** SHA-256 over base model, kind and the ordered digests. */
  manifest_digest: Type.String(),
  /** Lower hex, ordered. */
  layer_hashes: Type.Array(Type.String()),
  metadata: JsonObject,
  /** The landing certificate that certifies it. */
  certificate_id: Nullable(Type.String()),
  ...recordFields,
})

const params = Type.Object({ artifact_id: RecordId })
const read = { access: 'tenant', scope: 'artifacts:read' } as const
const admin = { access: 'tenant', scope: 'artifacts:admin' } as const
const path = '/v1/artifacts'
const one = `${path}/{artifact_id}` as const

export const artifacts = {
  register: operation({
    ...admin,
    id: 'artifacts.register',
    method: 'POST',
    path: `${path}/register`,
    summary: 'Registers an artifact; the same one again answers the one that is there',
    description:
      'The policies of the tenant are asked as `artifact.register`. One that escalates makes it ' +
      'wait for a person (202); one that denies is kept as denied.',
    body: RegisterArtifact,
    status: 201,
    reply: Artifact,
    accepted: waiting('artifact_id'),
    refuses: ['policy_denied', 'no_signing_key', 'idempotency_key_reused'],
    idempotent: true,
  }),
  stats: operation({
    ...read,
    id: 'artifacts.stats',
    method: 'GET',
    path: `${path}/stats`,
    summary: 'How many artifacts there are, by status',
    status: 200,
    reply: StatusCounts,
    refuses: [],
  }),
  list: operation({
    ...read,
    id: 'artifacts.list',
    method: 'GET',
    path,
    summary: 'The artifacts, newest first',
    description: 'A document larger than 64 KiB is null here; read the artifact by its id.',
    query: recordPage,
    status: 200,
    reply: page('artifacts', Artifact),
    refuses: ['rejected'],
  }),
  get: operation({
    ...read,
    id: 'artifacts.get',
    method: 'GET',
    path: one,
    summary: 'One artifact',
    params,
    status: 200,
    reply: Artifact,
    refuses: ['artifact_not_found'],
  }),
  verify: operation({
    ...read,
    id: 'artifacts.verify',
    method: 'GET',
    path: `${one}/verify`,
    summary: 'Recomputes everything the record says about itself',
    params,
    status: 200,
    reply: Type.Object({
      artifact_id: Type.String(),
      passed: Type.Boolean(),
      /** By name; `certificate` of one that is certified. */
      checks: Type.Record(Type.String(), Type.Boolean()),
      manifest_digest: Nullable(Type.String()),
      status: Type.String(),
      certificate_id: Nullable(Type.String()),
      not_checked: Type.Array(Type.String()),
      reason: Nullable(Type.String()),
    }),
    refuses: ['artifact_not_found'],
  }),
  integrity: operation({
    ...read,
    id: 'artifacts.integrity',
    method: 'POST',
    path: `${one}/integrity`,
    summary: 'Compares digests of layers with those registered, in order and in number',
    params,
    body: Type.Object({
      layer_hashes: Type.Array(Digest, { maxItems: limits.layers_per_artifact }),
    }),
    status: 200,
    reply: Type.Object({
      match: Type.Boolean(),
      registered: Type.Array(Type.String()),
      supplied: Type.Array(Type.String()),
    }),
    refuses: ['artifact_not_found'],
  }),
  certify: operation({
    ...admin,
    id: 'artifacts.certify',
    method: 'POST',
    path: `${one}/certify`,
    summary: 'Marks it certified by an issued landing certificate of the same artifact',
    params,
    body: Type.Object({ certificate_id: RecordId }),
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
    ...admin,
    id: 'artifacts.approve',
    method: 'POST',
    path: `${one}/approve`,
    summary: 'Approves a waiting registration; policies are asked again',
    params,
    body: ResumeRequest,
    status: 200,
    reply: Artifact,
    refuses: ['artifact_not_found', ...APPROVING_REFUSES],
    idempotent: true,
  }),
  reject: operation({
    ...admin,
    id: 'artifacts.reject',
    method: 'POST',
    path: `${one}/reject`,
    summary: 'Rejects a waiting registration',
    params,
    body: ResumeRequest,
    status: 200,
    reply: rejectedReply('artifact_id'),
    refuses: ['artifact_not_found', ...DECIDING_REFUSES],
    idempotent: true,
  }),
} as const
