// Memory stores (interface 4.1): what agents remember, written, retrieved, audited, moved.

import Type from 'typebox'
import { Cursor, Hex16, JsonObject, Label, Limit, Nullable, Offset, page, Ref } from './common.ts'
import { erasureReasons } from './erasure.ts'
import { limits } from './limits.ts'
import { Explanation } from './memory-explain.ts'
import {
  CAPABILITIES,
  Count,
  EMBEDDERS,
  ExportHeader,
  ImportLine,
  ingestion,
  Memory,
  optional,
  RankedMemory,
  RetrieveRequest,
  Seq,
  Store,
  StoreNumbers,
  StoreState,
  Superseded,
  storeFields,
  TOKENIZERS,
  WriteRequest,
  Written,
  writeFields,
} from './memory-records.ts'
import { operation } from './operation.ts'

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

/** What the tenant's policies may say to an operation that has no state to wait in. */
const POLICY_REFUSALS = ['policy_denied', 'approval_required'] as const

const WRITE_REFUSALS = [
  ...POLICY_REFUSALS,
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
    description:
      'The embedder makes the vectors of its memories: the default of the service unless it is ' +
      'named, and one that the service is not configured with is refused.',
    body: Type.Object({
      name: optional(Type.String({ ...Label, maxLength: limits.name_chars })),
      backend: optional(Label),
      labels: optional(JsonObject),
      capabilities: optional(Type.Array(Type.Enum(CAPABILITIES))),
      tokenizer: optional(Type.Enum(TOKENIZERS)),
      embedder: optional(Type.Enum(EMBEDDERS)),
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
    description:
      'Exact duplicates of current memories are reported, not merged; one of an item before it ' +
      'in the same batch too, with the ref that item got.',
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
      ranking: Type.Enum(['fused', 'lexical'], {
        description:
          'lexical: by words alone, since the store has no embedder or it did not answer in time',
      }),
      explain: Type.Optional(Explanation),
    }),
    refuses: [
      ...POLICY_REFUSALS,
      'store_not_found',
      'capability_not_supported',
      'rejected',
      'index_building',
    ],
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
  reembed: operation({
    ...write,
    id: 'memory.reembed',
    path: '/v1/stores/{store_id}/reembed',
    scope: 'memory:admin',
    summary: 'Makes the vectors that memories of a store lack, as a job',
    description:
      'With another embedder the store goes by it from then on, and every vector is made anew; ' +
      'until that is done what has none is found by its words. Asked again while the job is ' +
      'open, it answers that job. The same job starts by itself after writes that the embedder ' +
      'did not answer.',
    body: Type.Object({ embedder: optional(Type.Enum(EMBEDDERS)) }),
    body_optional: true,
    status: 202,
    reply: Type.Object({
      job_id: Type.String(),
      store_id: Type.String(),
      embedder: Type.Enum(EMBEDDERS),
      missing: Type.Integer({ minimum: 0, description: 'Memories to embed' }),
    }),
    refuses: ['store_not_found', 'store_deleting', 'rejected'],
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
      'how many memories were kept. So does a retry with the Idempotency-Key of an import that ' +
      'broke off after its first memories: it is not begun again.',
    body: ImportLine,
    body_type: 'application/x-ndjson',
    body_bytes_max: limits.import_bytes,
    reply: Type.Object({
      imported: Count,
      refs_mapped: Type.Array(Type.Object({ from: Ref, to: Ref })),
      log_seq: Nullable(Seq),
    }),
    refuses: [
      ...POLICY_REFUSALS,
      'store_not_found',
      'store_deleting',
      'import_refused',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
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
      ...POLICY_REFUSALS,
      'store_not_found',
      'store_deleting',
      'legal_hold',
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
    description: 'Asked again while the job is open, it answers that job.',
    status: 202,
    reply: Type.Object({
      job_id: Type.String(),
      store_id: Type.String(),
      state: Type.Literal('deleting'),
      facts: Count,
    }),
    refuses: [...POLICY_REFUSALS, 'store_not_found', 'legal_hold', 'no_signing_key'],
  }),
} as const
