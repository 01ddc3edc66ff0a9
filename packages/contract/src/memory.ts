// Memory stores (interface 4.1): what agents remember, written, retrieved, audited, moved.

import Type, { type Static } from 'typebox'
import {
  Base64,
  Cursor,
  Hex16,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Ref,
  Timestamp,
} from './common.ts'
import { erasureReasons } from './erasure.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

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

/** Lines one import may have. */
export const IMPORT_LINES_MAX = 1_000_000

const Count = Type.Integer({ minimum: 0 })
const Seq = Type.Integer({ minimum: 0 })
const optional = <T extends Parameters<typeof Nullable>[0]>(schema: T) =>
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

const StoreState = Type.Enum(['active', 'deleting'])

const storeFields = {
  store_id: Type.String(),
  name: Nullable(Type.String()),
  backend: Nullable(Type.String()),
  labels: JsonObject,
  capabilities: Type.Array(Type.Enum(CAPABILITIES)),
  tokenizer: Type.Enum(TOKENIZERS),
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

const writeFields = { content: Type.String(), options: optional(WriteOptions) }

/** Content of at most 256 KiB of UTF-8, metadata of 16 KiB of JSON and 8 levels. */
export const WriteRequest = Type.Object(writeFields)
export type WriteRequest = Static<typeof WriteRequest>

const sizeFields = {
  budget_tokens: optional(Type.Integer()),
  top_k: optional(Type.Integer({ minimum: 1 })),
  limit: optional(Type.Integer({ minimum: 1 })),
  as_of: optional(Timestamp),
  known_at: optional(Timestamp),
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

const StoreNumbers = Type.Object({
  facts: Count,
  current: Count,
  superseded: Count,
  tokens: Count,
  erased: Count,
  index: Type.Object({
    state: Type.Enum(['absent', 'building', 'ready']),
    facts: Count,
    bytes: Count,
  }),
})

/** Counted since the process started, for this store. */
const ingestion = {
  batching_enabled: Type.Literal(true),
  pending: Count,
  total_submitted: Count,
  total_committed: Count,
  total_batches: Count,
  avg_batch_size: Type.Number(),
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

const StoreParams = Type.Object({
  store_id: Type.String({ minLength: 1, maxLength: limits.label_chars, examples: ['default'] }),
})

const read = {
  method: 'GET',
  access: 'tenant',
  scope: 'memory:read',
  params: StoreParams,
  status: 200,
} as const
const write = {
  method: 'POST',
  access: 'tenant',
  scope: 'memory:write',
  params: StoreParams,
  status: 200,
} as const

const WRITE_REFUSALS = [
  'store_not_found',
  'store_deleting',
  'capability_not_supported',
  'rejected',
  'no_signing_key',
  'idempotency_key_reused',
] as const

export const memory = {
  list_stores: operation({
    ...read,
    id: 'memory.list_stores',
    path: '/v1/stores',
    params: Type.Object({}),
    summary: 'Stores of the tenant that the credential may use, oldest first',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: Type.Object({
      ...page('stores', Store).properties,
      tenant_stats: Type.Object({
        fact_count: Count,
        total_bytes: Nullable(Count),
      }),
    }),
    refuses: ['rejected'],
  }),
  create_store: operation({
    ...write,
    id: 'memory.create_store',
    path: '/v1/stores',
    params: Type.Object({}),
    scope: 'memory:admin',
    summary: 'Creates a store; its capabilities and tokenizer stay as they are',
    body: Type.Object({
      name: optional(Type.String({ ...Label, maxLength: limits.name_chars })),
      backend: optional(Label),
      labels: optional(JsonObject),
      capabilities: optional(Type.Array(Type.Enum(CAPABILITIES))),
      tokenizer: optional(Type.Enum(TOKENIZERS)),
    }),
    body_optional: true,
    reply: Store,
    refuses: ['rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  get_store: operation({
    ...read,
    id: 'memory.get_store',
    path: '/v1/stores/{store_id}',
    summary: 'One store; while it is being deleted, what is left of it',
    reply: Type.Object({
      ...storeFields,
      state: StoreState,
      facts: Count,
      deletion: Type.Optional(Type.Object({ facts_left: Count })),
    }),
    refuses: ['store_not_found'],
  }),
  capabilities: operation({
    ...read,
    id: 'memory.capabilities',
    path: '/v1/stores/{store_id}/capabilities',
    summary: 'What the store offers, ascending',
    reply: Type.Object({ capabilities: Type.Array(Type.Enum(CAPABILITIES)) }),
    refuses: ['store_not_found'],
  }),
  write: operation({
    ...write,
    id: 'memory.write',
    path: '/v1/stores/{store_id}/write',
    summary: 'Remembers one content; durable and retrievable once answered',
    body: WriteRequest,
    reply: Written,
    refuses: WRITE_REFUSALS,
    idempotent: true,
  }),
  write_batch: operation({
    ...write,
    id: 'memory.write_batch',
    path: '/v1/stores/{store_id}/write_batch',
    summary: 'Remembers up to 1,000 contents: all of them or none',
    body: Type.Object({ items: Type.Array(WriteRequest, { maxItems: limits.batch_items }) }),
    reply: Type.Object({
      refs: Type.Array(Ref),
      duplicates: Type.Array(Type.Object({ index: Count, duplicate_of: Ref })),
      log_seq: Nullable(Seq),
    }),
    refuses: WRITE_REFUSALS,
    idempotent: true,
  }),
  supersede: operation({
    ...write,
    id: 'memory.supersede',
    path: '/v1/stores/{store_id}/supersede',
    summary: 'Replaces the current version of a memory; the old one stays in its history',
    description:
      'Only an open head can be superseded: otherwise 409 names the current head. The successor ' +
      'begins now unless valid_from says when, and stays in the namespace of the old version ' +
      'when none is given. An unknown ref makes this a plain write, with a warning.',
    body: Type.Object({ old_ref: Ref, ...writeFields }),
    reply: Superseded,
    refuses: [...WRITE_REFUSALS, 'superseded', 'erasing', 'order_inverted'],
    idempotent: true,
  }),
  retrieve: operation({
    ...write,
    id: 'memory.retrieve',
    path: '/v1/stores/{store_id}/retrieve',
    scope: 'memory:read',
    summary: 'The memories that answer a query best, within a token budget',
    body: RetrieveRequest,
    reply: Type.Object({
      memories: Type.Array(RankedMemory),
      tokens_used: Count,
      budget_tokens: Count,
      dropped: Type.Integer({ minimum: 0, description: 'Ranked on the way, but too long to fit' }),
      log_seq: Seq,
      tokenizer: Type.Enum(TOKENIZERS),
    }),
    refuses: ['store_not_found', 'capability_not_supported', 'rejected', 'index_building'],
  }),
  audit: operation({
    ...read,
    id: 'memory.audit',
    path: '/v1/stores/{store_id}/audit',
    summary: 'Every memory of the store, superseded ones included, in the order of refs',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.page.max })),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: Type.Object({
      memories: Type.Array(Memory),
      count: Count,
      next_cursor: Nullable(Type.String()),
    }),
    refuses: ['store_not_found', 'capability_not_supported', 'rejected'],
  }),
  flush: operation({
    ...write,
    id: 'memory.flush',
    path: '/v1/stores/{store_id}/flush',
    summary: 'A barrier: whatever was sent before is durable and visible. Deletes nothing',
    body: Type.Object({}),
    body_optional: true,
    reply: Type.Object({}),
    refuses: ['store_not_found', 'store_deleting'],
  }),
  ingestion_stats: operation({
    ...read,
    id: 'memory.ingestion_stats',
    path: '/v1/stores/{store_id}/ingestion/stats',
    summary: 'How writes to this store are being committed',
    reply: Type.Object(ingestion),
    refuses: ['store_not_found'],
  }),
  stats: operation({
    ...read,
    id: 'memory.stats',
    path: '/v1/stores/{store_id}/stats',
    summary: 'Numbers of a store, its index and its ingestion',
    reply: Type.Object({ store_id: Type.String(), ...StoreNumbers.properties, ...ingestion }),
    refuses: ['store_not_found'],
  }),
  memories: operation({
    ...read,
    id: 'memory.memories',
    path: '/v1/stores/{store_id}/memories',
    summary: 'Memories of a store in the order of refs, superseded ones included',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: page('memories', Memory),
    refuses: ['store_not_found', 'rejected'],
  }),
  memory: operation({
    ...read,
    id: 'memory.memory',
    path: '/v1/stores/{store_id}/memories/{ref}',
    summary: 'One memory',
    params: Type.Object({ ...StoreParams.properties, ref: Ref }),
    reply: Memory,
    refuses: ['store_not_found', 'memory_not_found'],
  }),
  export: operation({
    ...read,
    id: 'memory.export',
    path: '/v1/stores/{store_id}/export',
    summary: 'A header line, then every memory as NDJSON in the order of refs',
    reply: Type.Union([ExportHeader, Memory]),
    reply_type: 'application/x-ndjson',
    refuses: ['store_not_found'],
  }),
  import: operation({
    ...write,
    id: 'memory.import',
    path: '/v1/stores/{store_id}/import',
    summary: 'Takes memories as NDJSON, with their refs, times and version chains',
    description:
      'Each line is a memory as an export writes it; only content is required. A ref is kept ' +
      'where it is free, otherwise refs_mapped names the new one; the ref of an erased memory is ' +
      'refused. Old times stay in source.original_written_at. Up to 8 MiB nothing is written ' +
      'unless every line is good; a larger import is committed as it arrives and a refusal says ' +
      'how many memories were kept.',
    body: ImportLine,
    body_type: 'application/x-ndjson',
    body_bytes_max: limits.import_bytes,
    reply: Type.Object({
      imported: Count,
      refs_mapped: Type.Array(Type.Object({ from: Ref, to: Ref })),
      log_seq: Nullable(Seq),
    }),
    refuses: ['store_not_found', 'store_deleting', 'import_refused', 'no_signing_key'],
  }),
} as const

/** Operations that erase; the erasure slice carries them out. */
export const memoryErasure = {
  delete: operation({
    ...write,
    id: 'memory.delete',
    path: '/v1/stores/{store_id}/delete',
    summary: 'Erases one memory from every copy, with a certificate',
    description:
      'The same operation as POST /v1/erasure/issue. A ref that is no memory of this store ' +
      'answers deleted:false without a certificate; one erased before names its certificate.',
    body: Type.Object({ ref: Ref, ...erasureReasons }),
    reply: Type.Object({
      deleted: Type.Boolean(),
      erasure_certificate_id: Type.Optional(Hex16),
      ref: Ref,
    }),
    refuses: [
      'store_not_found',
      'store_deleting',
      'capability_not_supported',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  delete_store: operation({
    ...write,
    id: 'memory.delete_store',
    method: 'DELETE',
    path: '/v1/stores/{store_id}',
    scope: 'memory:admin',
    summary: 'Erases every memory of a store, then the store, as a job',
    status: 202,
    reply: Type.Object({
      job_id: Type.String(),
      store_id: Type.String(),
      state: Type.Literal('deleting'),
      facts: Count,
    }),
    refuses: ['store_not_found', 'no_signing_key'],
  }),
} as const
