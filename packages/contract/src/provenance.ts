// Provenance corpora: the sources of a training set, sealed under one Merkle root.

import Type, { type Static } from 'typebox'
import { Hex32, JsonObject, Label, Nullable, page } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { Digest, RecordId, recordFields, recordPage, StatusCounts } from './records.ts'

export const CORPUS_SOURCES_MAX = 10_000
export const CORPUS_PROCESSING_MAX = 1_000
export const SOURCE_ID_CHARS_MAX = 1_024
export const SOURCE_GROUND_CHARS_MAX = 2_000
export const CORPUS_BODY_BYTES_MAX = 4 * 1024 * 1024
/** A larger document is left out of a list. */
export const LISTED_DOCUMENT_BYTES_MAX = 64 * 1024

const SourceId = Type.String({ ...Label, maxLength: SOURCE_ID_CHARS_MAX })
const Ground = Type.Optional(
  Nullable(Type.String({ maxLength: SOURCE_GROUND_CHARS_MAX, format: 'label' })),
)

const Source = Type.Object(
  {
    /** Unique in the corpus. */
    id: SourceId,
    /** This or `lawful_basis` must say something. */
    license: Ground,
    lawful_basis: Ground,
    content_hash: Type.Optional(Nullable(Digest)),
    record_count: Type.Optional(
      Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    ),
  },
  { description: 'Further members are kept, and covered by the leaf of the source.' },
)

const RegisterCorpusRequest = Type.Object({
  name: Type.String({ ...Label, maxLength: limits.name_chars }),
  sources: Type.Array(Source, { minItems: 1, maxItems: CORPUS_SOURCES_MAX }),
  /** `representativeness` and `bias_examination` must say something. */
  attestations: Type.Optional(Nullable(JsonObject)),
  processing: Type.Optional(
    Nullable(Type.Array(Type.Unknown(), { maxItems: CORPUS_PROCESSING_MAX })),
  ),
  metadata: Type.Optional(Nullable(JsonObject)),
})
export type RegisterCorpusRequest = Static<typeof RegisterCorpusRequest>

export const Corpus = Type.Object({
  corpus_id: RecordId,
  ...recordFields,
  name: Type.String(),
  merkle_root: Hex32,
  corpus_hash: Hex32,
  sources_digest: Hex32,
  source_count: Type.Integer(),
  clearance: Type.Literal('cleared'),
})
export type Corpus = Static<typeof Corpus>

const Verification = Type.Object({
  passed: Type.Boolean(),
  /** Among others `signature`, `merkle_consistent`, `sources_consistent`, `cleared`. */
  checks: Type.Record(Type.String(), Type.Boolean()),
  /** The first check that failed, in words. */
  reason: Nullable(Type.String()),
  merkle_root: Hex32,
  corpus_hash: Hex32,
  /** What the record cannot show. */
  not_checked: Type.Array(Type.String()),
})

const MemberProof = Type.Object({
  included: Type.Boolean(),
  corpus_id: RecordId,
  source_id: Type.String(),
  /** Of a source that is not included. */
  reason: Type.Optional(Type.String()),
  /** RFC 6962 leaf hash of the source as shown. */
  leaf: Type.Optional(Hex32),
  leaf_index: Type.Optional(Type.Integer()),
  tree_size: Type.Optional(Type.Integer()),
  /** From the sibling of the leaf upwards. */
  audit_path: Type.Optional(Type.Array(Hex32)),
  /** The same path; `L`: the sibling stands to the left, `R`: to the right. */
  proof: Type.Optional(Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }))),
  merkle_root: Type.Optional(Hex32),
  source: Type.Optional(JsonObject),
})

const DataProvenance = Type.Object({
  corpus_id: RecordId,
  merkle_root: Hex32,
  corpus_hash: Hex32,
  /** Ids, in the order of the leaves. */
  sources: Type.Array(Type.String()),
})

const CorpusParams = Type.Object({ corpus_id: RecordId })
const reading = { access: 'tenant', scope: 'artifacts:read', method: 'GET', status: 200 } as const

export const provenance = {
  register: operation({
    id: 'provenance.register',
    method: 'POST',
    path: '/v1/provenance/corpora',
    summary: 'Seals the sources of a corpus under one root, where each has a ground to be used',
    description:
      'A source without license and lawful_basis, or attestations without representativeness or ' +
      'bias_examination, are refused with every reason (422 `rejected`), and so is what a policy ' +
      'denies. The same content again answers the corpus there is.',
    access: 'tenant',
    scope: 'artifacts:admin',
    body: RegisterCorpusRequest,
    body_bytes_max: CORPUS_BODY_BYTES_MAX,
    status: 201,
    reply: Corpus,
    refuses: ['rejected', 'approval_required', 'idempotency_key_reused', 'no_signing_key'],
    idempotent: true,
  }),
  list: operation({
    ...reading,
    id: 'provenance.list',
    path: '/v1/provenance/corpora',
    summary: 'The corpora, newest first',
    description: 'A `document` of more than 64 KiB is null here; read the corpus to have it.',
    query: recordPage,
    reply: page('corpora', Corpus),
    refuses: ['rejected'],
  }),
  stats: operation({
    ...reading,
    id: 'provenance.stats',
    path: '/v1/provenance/stats',
    summary: 'How many corpora are sealed',
    reply: StatusCounts,
    refuses: [],
  }),
  get: operation({
    ...reading,
    id: 'provenance.get',
    path: '/v1/provenance/corpora/{corpus_id}',
    summary: 'A corpus with its signed document',
    params: CorpusParams,
    reply: Corpus,
    refuses: ['corpus_not_found'],
  }),
  verify: operation({
    ...reading,
    id: 'provenance.verify',
    path: '/v1/provenance/corpora/{corpus_id}/verify',
    summary: 'Checks the signature of a corpus and recomputes all that is derived in it',
    params: CorpusParams,
    reply: Verification,
    refuses: ['corpus_not_found'],
  }),
  proof: operation({
    ...reading,
    id: 'provenance.proof',
    path: '/v1/provenance/corpora/{corpus_id}/proof',
    summary: 'Proof that a source is in a corpus, to be checked without the corpus',
    params: CorpusParams,
    query: Type.Object({ source_id: SourceId }),
    reply: MemberProof,
    refuses: ['corpus_not_found'],
  }),
  block: operation({
    ...reading,
    id: 'provenance.block',
    path: '/v1/provenance/corpora/{corpus_id}/block',
    summary: 'What a landing certificate takes as its data_provenance',
    params: CorpusParams,
    reply: DataProvenance,
    refuses: ['corpus_not_found'],
  }),
} as const
