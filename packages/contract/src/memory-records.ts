// Records of memory stores: stores, memories, requests and answers of their operations.

import Type, { type Static } from 'typebox'
import { Base64, Hex16, JsonObject, Nullable, Ref, Timestamp } from './common.ts'
import { limits } from './limits.ts'

/** What a store may declare; each is gated and can be confirmed by a conformance suite. */
export const CAPABILITIES = [
  'audit',
  'bi_temporal',
  'cryptographic_provenance',
  'hard_delete',
  'multi_tenant',
  'provenance',
  'supersession_chain',
] as const
export type Capability = (typeof CAPABILITIES)[number]

export const TOKENIZERS = ['o200k_base', 'chars'] as const

/** What can make the vectors of a store; which of them a service offers is its configuration. */
export const EMBEDDERS = ['static', 'none', 'http', 'onnx'] as const
export type EmbedderName = (typeof EMBEDDERS)[number]

/** Lines one import may have. */
export const IMPORT_LINES_MAX = 1_000_000

export const Count = Type.Integer({ minimum: 0 })
export const Seq = Type.Integer({ minimum: 0 })
export const optional = <T extends Parameters<typeof Nullable>[0]>(schema: T) =>
  Type.Optional(Nullable(schema))

/**
 * A sub-namespace of the tenant: `x`, or in full `T/x` as replies show it; `T` alone is the root.
 * Facts of one namespace are invisible to every other.
 */
const Namespace = Type.String({
  minLength: 1,
  maxLength: limits.label_chars + 1 + limits.namespace_chars,
  format: 'label',
})

export const StoreState = Type.Enum(['active', 'deleting'])

export const storeFields = {
  store_id: Type.String(),
  name: Nullable(Type.String()),
  backend: Nullable(Type.String()),
  labels: JsonObject,
  capabilities: Type.Array(Type.Enum(CAPABILITIES)),
  tokenizer: Type.Enum(TOKENIZERS),
  embedder: Type.Enum(EMBEDDERS),
  created_at: Nullable(Timestamp),
  state: Type.Enum(['active', 'deleting', 'deleted']),
}

/** `created_at` is null for the store `default` before anything was written to it. */
export const Store = Type.Object(storeFields)
export type Store = Static<typeof Store>

/** Who wrote a memory, and the signature over its GMP fact id (content and `tenant_id`). */
export const MemorySource = Type.Object({
  write_id: Type.String(),
  written_at: Timestamp,
  written_by: Type.String({ description: 'Public key, hex' }),
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
  principal: Type.String({ description: 'Id of the credential that wrote it' }),
  original_written_at: Type.Optional(Timestamp),
})

const memoryFields = {
  ref: Ref,
  content: Type.String(),
  metadata: JsonObject,
  written_at: Timestamp,
  valid_from: Timestamp,
  valid_until: Nullable(Timestamp),
  tenant_id: Type.String({ description: '`T`, or `T/x` in the sub-namespace x' }),
  superseded_by: Nullable(Ref),
  source: MemorySource,
  token_count: Count,
}

export const Memory = Type.Object(memoryFields)
export type Memory = Static<typeof Memory>

/** A retrieved memory; the parts of a score add up to it exactly. */
export const RankedMemory = Type.Object({
  ...memoryFields,
  score: Type.Number(),
  score_parts: Type.Object({
    lexical: Type.Number(),
    neighbour: Type.Number(),
    dense: Type.Number(),
    recency: Type.Number(),
  }),
})
export type RankedMemory = Static<typeof RankedMemory>

/** `namespace` and `tenant_id` are one thing under two names. */
const scopeFields = { tenant_id: optional(Namespace), namespace: optional(Namespace) }

const WriteOptions = Type.Object({
  valid_from: optional(Timestamp),
  metadata: optional(JsonObject),
  ...scopeFields,
})
export type WriteOptions = Static<typeof WriteOptions>

/** Every option is taken at the top level too; the one in `options` wins. */
export const writeFields = {
  content: Type.String(),
  options: optional(WriteOptions),
  ...WriteOptions.properties,
}

/** Content of at most 256 KiB of UTF-8, metadata of 16 KiB of JSON and 8 levels. */
export const WriteRequest = Type.Object(writeFields)
export type WriteRequest = Static<typeof WriteRequest>

/** Scores are comparable within one store and query, not between them. */
const MinScore = Type.Number({
  description:
    'Memories that score below are left out. Scores are not normalised: a BM25 sum, from 0 ' +
    'without an upper bound, that depends on the words of the query and on the store, plus, ' +
    'where the store has vectors, one and a half times the best such sum for a perfect ' +
    'likeness, and in proportion for less.',
})

/** Costs a second search; an answer without it costs nothing more. */
const Explain = Type.Boolean({
  description: 'The answer also says what each score is made of, and why memories were left out',
})

const sizeFields = {
  budget_tokens: optional(Type.Integer()),
  top_k: optional(Type.Integer({ minimum: 1 })),
  limit: optional(Type.Integer({ minimum: 1 })),
  as_of: optional(Timestamp),
  known_at: optional(Timestamp),
  min_score: optional(MinScore),
  explain: optional(Explain),
  ...scopeFields,
}

/**
 * Every option is taken at the top level too; the one in `options` wins. The budget counts the
 * store's tokens, 1,024 when absent, and is clamped to 0..2^30. `as_of` asks for what was valid
 * then, `known_at` for what was on record then; `metadata` for entries equal to those given.
 */
export const RetrieveRequest = Type.Object({
  query: Type.String(),
  options: optional(Type.Object({ ...sizeFields, metadata: optional(JsonObject) })),
  ...sizeFields,
})
export type RetrieveRequest = Static<typeof RetrieveRequest>

const WriteStatus = Type.Enum(['stored', 'erased'])

/** `erased` and a null `content_hash`: a replayed answer about a memory erased since. */
const written = {
  ref: Ref,
  content_hash: Nullable(Hex16),
  status: WriteStatus,
  duplicate_of: Nullable(Ref),
  log_seq: Seq,
  token_count: Count,
}

export const Written = Type.Object(written)
export type Written = Static<typeof Written>

/** `warning`: the old ref is no memory of this store and namespace, so this was a plain write. */
export const Superseded = Type.Object({
  ...written,
  old_ref: Ref,
  warning: Type.Optional(Type.Literal('unknown_ref')),
})
export type Superseded = Static<typeof Superseded>

export const StoreNumbers = Type.Object({
  facts: Count,
  current: Count,
  superseded: Count,
  tokens: Count,
  erased: Count,
  /** `missing`: live memories without a vector of the space that the store's embedder is in. */
  vectors: Type.Object({
    space: Nullable(Type.String()),
    embedded: Count,
    missing: Count,
  }),
  index: Type.Object({
    state: Type.Enum(['absent', 'building', 'ready']),
    facts: Count,
    bytes: Count,
  }),
})

/**
 * Null: not counted yet, since the index is being built or the count goes on. Where a count takes
 * longer than a request waits, the one before is answered.
 */
const counted = (description: string) => Nullable(Type.Integer({ minimum: 0, description }))

/**
 * The figures of batches are of this process since it started; the last two are of the store's
 * current memories.
 */
export const ingestion = {
  batching_enabled: Type.Literal(true),
  pending: Count,
  total_submitted: Count,
  total_committed: Count,
  total_batches: Count,
  avg_batch_size: Type.Number(),
  near_duplicates: counted(
    'Current memories with a near-duplicate: a current one of the namespace with nine tenths of ' +
      'the distinct words of both. Null while it is being counted.',
  ),
  never_retrieved: counted(
    'Current memories that no retrieval has returned, but for those of the last seconds in ' +
      'other processes. Null while it is being counted.',
  ),
}

/** One line of an import: a memory as an export shows it, or as little as its content. */
export const ImportLine = Type.Object({
  content: Type.String(),
  metadata: optional(JsonObject),
  ref: optional(Ref),
  written_at: optional(Timestamp),
  valid_from: optional(Timestamp),
  valid_until: optional(Timestamp),
  superseded_by: optional(Ref),
  ...scopeFields,
  source: optional(Type.Object({ original_written_at: optional(Timestamp) })),
})
export type ImportLine = Static<typeof ImportLine>

/** The first line of an export; an import may begin with it. */
export const ExportHeader = Type.Object({
  custos_export: Type.Literal(1),
  tenant_id: Type.Optional(Type.String()),
  store: Type.Optional(Type.Unknown()),
  exported_at: Type.Optional(Type.String()),
})
