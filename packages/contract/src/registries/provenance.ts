// Provenance corpora: the sources of a training set, sealed under one Merkle root.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Hex32,
  integer,
  JsonObject,
  label,
  Name,
  Nullable,
  OptionalNullable,
  page,
  text,
} from '../core/common.ts'
import { operation } from '../core/operation.ts'
import {
  CheckResults,
  Digest,
  RecordId,
  recordFields,
  recordPageQuery,
  StatusCounts,
} from './records.ts'

export const CORPUS_SOURCES_MAX = 10_000
export const CORPUS_PROCESSING_MAX = 1_000
export const SOURCE_ID_CHARS_MAX = 1_024
export const SOURCE_GROUND_CHARS_MAX = 2_000
export const CORPUS_BODY_BYTES_MAX = 4 * 1024 * 1024
/** Lists omit documents larger than this. */
export const LISTED_DOCUMENT_BYTES_MAX = 64 * 1024

export const SourceId = label({
  title: 'SourceId',
  description: 'Id of a source, unique within its corpus',
  maxLength: SOURCE_ID_CHARS_MAX,
})
const ground = (description: string) =>
  OptionalNullable(
    Type.String({ maxLength: SOURCE_GROUND_CHARS_MAX, format: 'label', description }),
  )

const Source = Type.Object(
  {
    id: SourceId,
    license: ground('Licence of the source; this or `lawful_basis` must not be blank'),
    lawful_basis: ground('Lawful basis for using the source'),
    content_hash: OptionalNullable(about(Digest, 'SHA-256 of the content')),
    record_count: OptionalNullable(
      integer('Number of records', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    ),
  },
  {
    description: 'Further fields are kept and covered by the leaf of the source',
    additionalProperties: true,
  },
)

const RegisterCorpusRequest = Type.Object({
  name: about(Name, 'Name of the corpus'),
  sources: Type.Array(Source, {
    minItems: 1,
    maxItems: CORPUS_SOURCES_MAX,
    description: 'The sources, in the order of their leaves',
  }),
  attestations: OptionalNullable(
    about(
      JsonObject,
      'Statements on the corpus; `representativeness` and `bias_examination` must not be blank',
    ),
  ),
  processing: OptionalNullable(
    Type.Array(Type.Unknown(), {
      maxItems: CORPUS_PROCESSING_MAX,
      description: 'Processing steps; not interpreted',
    }),
  ),
  metadata: OptionalNullable(about(JsonObject, 'Stored as given and not interpreted')),
})
export type RegisterCorpusRequest = Static<typeof RegisterCorpusRequest>

export const Corpus = Type.Object(
  {
    corpus_id: RecordId,
    ...recordFields,
    name: text('Name of the corpus'),
    merkle_root: about(Hex32, 'Merkle root over the sources'),
    corpus_hash: about(Hex32, 'SHA-256 over name, sources, processing, attestations and root'),
    sources_digest: about(Hex32, 'SHA-256 over the list of sources'),
    source_count: integer('Number of sources'),
    clearance: Type.Literal('cleared', {
      description: 'Every source has a licence or a lawful basis',
    }),
  },
  { title: 'Corpus', description: 'A sealed corpus' },
)
export type Corpus = Static<typeof Corpus>

const Verification = Type.Object({
  passed: boolean('Whether every check passed'),
  checks: about(
    CheckResults,
    'Checks by name, among them `signature`, `merkle_consistent`, `sources_consistent` and ' +
      '`cleared`',
  ),
  reason: Nullable(text('The first check that failed, in words; null if all passed')),
  merkle_root: about(Hex32, 'Merkle root over the sources'),
  corpus_hash: about(Hex32, 'SHA-256 over name, sources, processing, attestations and root'),
  not_checked: Type.Array(Type.String()),
})

const MemberProof = Type.Object({
  included: boolean('Whether the source is in the corpus'),
  corpus_id: RecordId,
  source_id: text('Id of the source'),
  reason: Type.Optional(text('Why the source is not included')),
  leaf: Type.Optional(about(Hex32, 'RFC 6962 leaf hash of the source as shown')),
  leaf_index: Type.Optional(integer('Position of the leaf, from 0')),
  tree_size: Type.Optional(integer('Number of leaves')),
  audit_path: Type.Optional(
    Type.Array(Hex32, { description: 'Inclusion proof, from the sibling of the leaf upwards' }),
  ),
  proof: Type.Optional(
    Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
      description: 'The same path as pairs of side and hash; `L`: the sibling is on the left',
    }),
  ),
  merkle_root: Type.Optional(about(Hex32, 'Merkle root over the sources')),
  source: Type.Optional(about(JsonObject, 'The source')),
})

const DataProvenance = Type.Object({
  corpus_id: RecordId,
  merkle_root: about(Hex32, 'Merkle root over the sources'),
  corpus_hash: about(Hex32, 'SHA-256 over name, sources, processing, attestations and root'),
  sources: Type.Array(Type.String(), { description: 'Ids, in the order of the leaves' }),
})

const CorpusParams = Type.Object({ corpus_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', method: 'GET', status: 200 } as const

export const provenance = {
  register: operation({
    id: 'provenance.register',
    method: 'POST',
    path: '/v1/provenance/corpora',
    summary: 'Seals the sources of a corpus under one Merkle root',
    description:
      'Use it before a model is trained on the corpus. 422 `rejected` lists every reason: a ' +
      'source without `license` and `lawful_basis`, attestations without `representativeness` or ' +
      '`bias_examination`, or a policy that denies. The same content again returns the existing ' +
      'corpus.',
    access: 'tenant',
    scope: 'artifacts:admin',
    body: RegisterCorpusRequest,
    body_bytes_max: CORPUS_BODY_BYTES_MAX,
    example: {
      name: 'support mails',
      sources: [
        { id: 'mails-2024', license: 'CC-BY-4.0', record_count: 12 },
        { id: 'mails-2025', lawful_basis: 'contract', team: 'blue' },
      ],
      attestations: { representativeness: 'by region', bias_examination: 'in 2025' },
      processing: ['deduplicated'],
      metadata: { owner: 'data team' },
    },
    status: 201,
    reply: Corpus,
    refuses: ['rejected', 'approval_required', 'idempotency_key_reused', 'no_signing_key'],
    idempotent: true,
  }),
  list: operation({
    ...reading,
    id: 'provenance.list',
    path: '/v1/provenance/corpora',
    summary: 'Lists corpora, newest first',
    description:
      'Use it to browse the registry. A document larger than 64 KiB is null in the list; read ' +
      'the corpus by its id.',
    query: recordPageQuery,
    reply: page('corpora', Corpus),
    refuses: ['rejected'],
  }),
  stats: operation({
    ...reading,
    id: 'provenance.stats',
    path: '/v1/provenance/stats',
    summary: 'Counts corpora by status',
    description: 'Use it for an overview of the registry.',
    reply: StatusCounts,
    refuses: [],
  }),
  get: operation({
    ...reading,
    id: 'provenance.get',
    path: '/v1/provenance/corpora/{corpus_id}',
    summary: 'Returns one corpus',
    description: 'Use it to read a corpus with its signed document.',
    params: CorpusParams,
    reply: Corpus,
    refuses: ['corpus_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'provenance.verify',
    path: '/v1/provenance/corpora/{corpus_id}/verify',
    summary: 'Verifies the signed document of a corpus and everything derived in it',
    description: 'Use it before relying on a corpus.',
    params: CorpusParams,
    reply: Verification,
    refuses: ['corpus_not_found'],
  }),
  proof: operation({
    ...reading,
    id: 'provenance.proof',
    path: '/v1/provenance/corpora/{corpus_id}/proof',
    summary: 'Returns the proof that a source is in a corpus',
    description: 'Use it to show somebody who does not have the corpus that a source is in it.',
    params: CorpusParams,
    query: Type.Object({ source_id: SourceId }),
    reply: MemberProof,
    refuses: ['corpus_not_found'],
  }),
  block: operation({
    ...reading,
    id: 'provenance.block',
    path: '/v1/provenance/corpora/{corpus_id}/block',
    summary: 'Returns the `data_provenance` of a corpus for a landing certificate',
    description: 'Use it when issuing a landing certificate for a model trained on the corpus.',
    params: CorpusParams,
    reply: DataProvenance,
    refuses: ['corpus_not_found'],
  }),
} as const
