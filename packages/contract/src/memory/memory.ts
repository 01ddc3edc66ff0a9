// Memory stores (interface 4.1): writing, retrieving, listing, moving and erasing memories.

import Type from 'typebox'
import {
  about,
  boolean,
  Count,
  Cursor,
  count,
  EmptyBody,
  Hex16,
  JsonObject,
  Label,
  Limit,
  Name,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Ref,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { erasureReasons } from '../erasure/erasure.ts'
import { Explanation, Ranking } from './memory-explain.ts'
import { memoryHistory } from './memory-history.ts'
import {
  Capabilities,
  CompactMemory,
  Embedder,
  ExportHeader,
  ImportLine,
  ingestionFields,
  Memory,
  Namespace,
  newStoreFields,
  RankedMemory,
  RetrieveRequest,
  Store,
  StoreCounts,
  StoreState,
  SupersedeReply,
  storeFields,
  Tokenizer,
  WriteReply,
  WriteRequest,
  writeFields,
} from './memory-records.ts'
import {
  CHANGE_REFUSALS,
  POLICY_REFUSALS,
  read,
  StoreParams,
  WRITE_REFUSALS,
  WrittenBatch,
  write,
} from './memory-shared.ts'

export const memory = {
  list_stores: operation({
    ...read,
    id: 'memory.list_stores',
    path: '/v1/stores',
    params: Type.Object({}),
    summary: 'Lists the stores that the credential may use, oldest first',
    description:
      'Use it to find the id of a store, or to show all stores of the tenant. The store ' +
      '`default` is listed last until its first write.',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    reply: Type.Object({
      ...page('stores', Store).properties,
      tenant_stats: Type.Object(
        {
          fact_count: count('Memories in these stores'),
          total_bytes: Nullable(count('Bytes of all memories of the tenant')),
        },
        { description: 'Totals over all pages' },
      ),
    }),
    refuses: ['rejected'],
  }),
  create_store: operation({
    ...write,
    id: 'memory.create_store',
    path: '/v1/stores',
    params: Type.Object({}),
    scope: 'memory:admin',
    summary: 'Creates a store',
    description:
      'Use it to separate memories by application or agent, or to choose other settings than ' +
      'those of the store `default`. Of these only the embedder can be changed later, by ' +
      '`reembed`. An embedder that the service is not configured with is refused.',
    body: Type.Object({
      ...newStoreFields,
      name: OptionalNullable(about(Name, 'Name of the store')),
      backend: OptionalNullable(about(Label, 'Stored as given and not interpreted')),
      labels: OptionalNullable(about(JsonObject, 'Stored as given and not interpreted')),
      capabilities: OptionalNullable(about(Capabilities, 'Capabilities; default: all offered')),
      tokenizer: OptionalNullable(about(Tokenizer, 'Tokenizer; default: that of the service')),
      embedder: OptionalNullable(about(Embedder, 'Embedder; default: that of the service')),
      self_test: Type.Optional(
        boolean(
          'For a test of the service: reports and statistics of erasures leave the store out, ' +
            'and certificates of its memories name a self-test as their basis',
        ),
      ),
    }),
    body_optional: true,
    example: { name: 'notes', labels: { team: 'blue' } },
    reply: Store,
    refuses: ['rejected', 'store_exists', 'quota_exceeded', 'idempotency_key_reused'],
    idempotent: true,
  }),
  get_store: operation({
    ...read,
    id: 'memory.get_store',
    path: '/v1/stores/{store_id}',
    summary: 'Returns one store with its number of memories',
    description:
      'Use it to read the settings of a store, or how many memories a deletion still has to erase.',
    reply: Type.Object({
      ...storeFields,
      state: { ...StoreState, description: 'State of the store' },
      facts: count('Memories, superseded ones included'),
      deletion: Type.Optional(
        Type.Object(
          { facts_left: count('Memories that are not erased yet') },
          { description: 'Progress of the deletion; only while it runs' },
        ),
      ),
    }),
    refuses: ['store_not_found'],
  }),
  capabilities: operation({
    ...read,
    id: 'memory.capabilities',
    namespaced: true,
    path: '/v1/stores/{store_id}/capabilities',
    summary: 'Lists the capabilities of a store in alphabetical order',
    description: 'Use it before calling an operation that needs a capability.',
    reply: Type.Object({ capabilities: Capabilities }),
    refuses: ['store_not_found'],
  }),
  write: operation({
    ...write,
    id: 'memory.write',
    namespaced: true,
    path: '/v1/stores/{store_id}/write',
    summary: 'Writes one memory',
    description:
      'Use it whenever an agent should remember something. Once the reply arrives the memory is ' +
      'durable and can be retrieved. Exact duplicates are stored; see `duplicate_of`. From its ' +
      'expiry on a memory is hidden; within ten minutes, or when a legal hold ends, it is erased.',
    body: WriteRequest,
    tolerated: ['body.options.signing_key'],
    example: { content: 'The cat sleeps', options: { metadata: { topic: 'cat' } } },
    reply: WriteReply,
    refuses: WRITE_REFUSALS,
    idempotent: true,
  }),
  write_batch: operation({
    ...write,
    id: 'memory.write_batch',
    namespaced: true,
    path: '/v1/stores/{store_id}/write_batch',
    summary: 'Writes up to 1,000 memories, all or none',
    description:
      'Use it when several memories arise at once; it is much faster than single writes. Exact ' +
      'duplicates of current memories, and of earlier items of the batch, are stored and reported.',
    body: Type.Object({
      items: Type.Array(WriteRequest, {
        maxItems: limits.batch_items,
        description: 'The memories to write',
      }),
    }),
    tolerated: ['body.items[].options.signing_key'],
    example: { items: [{ content: 'One' }, { content: 'Two', options: { tenant_id: 'team' } }] },
    reply: WrittenBatch,
    refuses: WRITE_REFUSALS,
    idempotent: true,
  }),
  supersede: operation({
    ...write,
    id: 'memory.supersede',
    namespaced: true,
    path: '/v1/stores/{store_id}/supersede',
    summary: 'Replaces the current version of a memory and keeps the old one in its history',
    description:
      'Use it when something has changed, so that the old version stays available for audits and ' +
      'for retrieval as of an earlier time. Only the current version can be superseded: ' +
      'otherwise 409 names it as `head`. The new version is valid from now unless `valid_from` ' +
      'is given, and stays in the namespace of the old one unless another is given. It does not ' +
      'expire unless it is given an expiry of its own. An unknown or expired `old_ref` makes ' +
      'this a plain write with a warning.',
    body: Type.Object({ old_ref: about(Ref, 'The memory to replace'), ...writeFields }),
    tolerated: ['body.options.signing_key'],
    example: { old_ref: 1, content: 'The cat is awake' },
    reply: SupersedeReply,
    refuses: [...WRITE_REFUSALS, 'superseded', 'erasing', 'order_inverted'],
    idempotent: true,
  }),
  retrieve: operation({
    ...write,
    id: 'memory.retrieve',
    safe: true,
    namespaced: true,
    path: '/v1/stores/{store_id}/retrieve',
    scope: 'memory:read',
    summary: 'Returns the memories most relevant to a query within a token budget',
    description:
      'Use it to fill the context of a model. Memories come in the order of their scores; one ' +
      'that does not fit into the rest of the budget is skipped. Memories with exactly the same ' +
      'content are returned once, as the best ranked of them.',
    body: RetrieveRequest,
    example: { query: 'who lives in Porto', options: { budget_tokens: 256, top_k: 5 } },
    reply: Type.Object({
      memories: Type.Array(Type.Union([RankedMemory, CompactMemory]), {
        description: 'The memories, best first; `view` says in which form',
      }),
      tokens_used: count('Tokens of the returned memories'),
      budget_tokens: count('The budget that was applied'),
      dropped: count(
        'Memories that did not fit and rank above the last one returned, or, with none returned, ' +
          'all that were tried; those below the last one are not counted',
      ),
      duplicates: count('Ranked memories left out, as a returned one has exactly their content'),
      log_seq: Count,
      tokenizer: Tokenizer,
      ranking: Ranking,
      explain: Type.Optional(
        about(Explanation, 'How the memories were ranked; only with the option `explain`'),
      ),
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
    summary: 'Lists every memory of a store by number, superseded ones included',
    description:
      'Use it to audit a store that declares the capability `audit`. Without `limit` it returns ' +
      'everything in one reply.',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.page.max })),
      offset: Offset,
      cursor: Cursor,
    }),
    reply: Type.Object({
      memories: Type.Array(Memory, { description: 'The memories of this page' }),
      count: count('Number of items in this page'),
      next_cursor: Nullable(Type.String()),
    }),
    may_stream: 'application/json',
    refuses: ['store_not_found', 'capability_not_supported', 'rejected'],
  }),
  flush: operation({
    ...write,
    id: 'memory.flush',
    safe: true,
    namespaced: true,
    path: '/v1/stores/{store_id}/flush',
    summary: 'Waits until all earlier writes to a store are durable and visible',
    description: 'Use it as a barrier between writers and readers. It deletes nothing.',
    body: EmptyBody,
    body_optional: true,
    example: {},
    reply: Type.Object({}),
    refuses: ['store_not_found', 'store_deleting'],
  }),
  ingestion_stats: operation({
    ...read,
    id: 'memory.ingestion_stats',
    path: '/v1/stores/{store_id}/ingestion/stats',
    summary: 'Returns counts of the writes to a store and of their batches',
    description: 'Use it to see whether writes are keeping up.',
    reply: Type.Object(ingestionFields),
    refuses: ['store_not_found'],
  }),
  stats: operation({
    ...read,
    id: 'memory.stats',
    path: '/v1/stores/{store_id}/stats',
    summary: 'Returns counts of a store, its search index and its writes',
    description: 'Use it to monitor a store, for example how many memories lack a vector.',
    reply: Type.Object({ store_id: Type.String(), ...StoreCounts.properties, ...ingestionFields }),
    refuses: ['store_not_found'],
  }),
  reembed: operation({
    ...write,
    id: 'memory.reembed',
    path: '/v1/stores/{store_id}/reembed',
    scope: 'memory:admin',
    summary: 'Starts a job that computes the missing vectors of a store',
    description:
      'Use it to switch the embedder of a store, or after the embedder was unavailable. ' +
      'Switching the embedder re-embeds every memory; until the job ends, memories without a ' +
      'vector are found by lexical search. If such a job is already open, the reply has its ' +
      'id. The job starts automatically after writes during which the embedder failed.',
    body: Type.Object({
      embedder: OptionalNullable(about(Embedder, 'New embedder; default: the current one')),
    }),
    body_optional: true,
    example: { embedder: 'none' },
    status: 202,
    reply: Type.Object({
      job_id: Type.String(),
      store_id: Type.String(),
      embedder: Embedder,
      missing: count('Memories to embed'),
    }),
    refuses: ['store_not_found', 'store_deleting', 'rejected'],
  }),
  memories: operation({
    ...read,
    id: 'memory.memories',
    namespaced: true,
    path: '/v1/stores/{store_id}/memories',
    summary: 'Lists the memories of a store by number, superseded ones included',
    description: 'Use it to browse a store page by page; to answer a question, use `retrieve`.',
    query: Type.Object({
      limit: Limit(limits.page),
      offset: Offset,
      cursor: Cursor,
      namespace: Type.Optional(about(Namespace, 'Lists this namespace only; default: all')),
      order: Type.Optional(
        Type.Enum(['oldest', 'newest'], {
          description: 'Which memories come first; the same for every page',
          default: 'oldest',
        }),
      ),
    }),
    reply: page('memories', Memory),
    refuses: ['store_not_found', 'rejected'],
  }),
  memory: operation({
    ...read,
    id: 'memory.memory',
    namespaced: true,
    path: '/v1/stores/{store_id}/memories/{ref}',
    summary: 'Returns one memory',
    description: 'Use it to read a memory whose number is known, whether or not it is current.',
    params: Type.Object({ ...StoreParams.properties, ref: Ref }),
    reply: Memory,
    refuses: ['store_not_found', 'memory_not_found'],
  }),
  history: memoryHistory,
  export: operation({
    ...read,
    id: 'memory.export',
    namespaced: true,
    path: '/v1/stores/{store_id}/export',
    summary: 'Streams a header line and then every memory of a store by number, as NDJSON',
    description:
      'Use it to move a store elsewhere with `import`, or to keep a copy. It has no digests.',
    reply: Type.Union([ExportHeader, Memory]),
    reply_type: 'application/x-ndjson',
    refuses: ['store_not_found'],
  }),
  import: operation({
    ...write,
    id: 'memory.import',
    path: '/v1/stores/{store_id}/import',
    summary: 'Imports memories from NDJSON with their numbers, times and version history',
    description:
      'Use it to load an export or memories of another system. A number is kept where it is ' +
      'free, otherwise `refs_mapped` names the new one; the number of an erased memory is ' +
      'refused. Original times are kept in `source.original_written_at`. A line with the ' +
      'content, namespace and original time of a memory in the store, or of an earlier line, is ' +
      'left out and counted, so that importing a file twice adds nothing. Up to 8 MiB nothing is ' +
      'written unless every line is valid. A larger import is committed as it arrives, and a ' +
      'refusal says how many memories were kept; a retry with the Idempotency-Key of an import ' +
      'that broke off gets the same refusal and does not start again.',
    query: Type.Object({
      allow_duplicates: Type.Optional(
        Type.Boolean({
          description: 'Also imports duplicate lines',
          default: false,
        }),
      ),
    }),
    body: ImportLine,
    // Members of memories in exports, audits and retrievals that an import computes itself.
    tolerated: [
      'body.token_count',
      'body.score',
      'body.score_parts',
      'body.confidence',
      'body.source.write_id',
      'body.source.written_at',
      'body.source.written_by',
      'body.source.signature',
      'body.source.public_key',
      'body.source.key_id',
      'body.source.principal',
    ],
    body_type: 'application/x-ndjson',
    body_bytes_max: limits.import_bytes,
    example: { content: 'The office opens at nine', metadata: { topic: 'office' } },
    reply: Type.Object({
      imported: count('Memories that were imported'),
      duplicates: count('Lines that were left out because the store or the import had them'),
      refs_mapped: Type.Array(
        Type.Object({
          from: about(Ref, 'Number in the import'),
          to: about(Ref, 'Number in this store'),
        }),
        { description: 'Memories that got another number in this store' },
      ),
      log_seq: Nullable(Count),
    }),
    refuses: [...CHANGE_REFUSALS, 'import_refused', 'quota_exceeded'],
    idempotent: true,
  }),
} as const

/** Operations that erase memories. Their handlers are in the erasure slice. */
export const memoryErasure = {
  delete: operation({
    ...write,
    id: 'memory.delete',
    namespaced: true,
    path: '/v1/stores/{store_id}/delete',
    summary: 'Erases one memory from every copy and certifies it',
    description:
      'Use it to forget a memory of a known store; `POST /v1/erasure/issue` also returns the ' +
      'certificate. `deleted` is false with no certificate id if the store lacks the memory (or, ' +
      'for a key limited to a namespace, it has expired), or with one if it was erased before.',
    body: Type.Object({ ref: about(Ref, 'The memory to erase'), ...erasureReasons }),
    example: { ref: 1 },
    reply: Type.Object({
      deleted: Type.Boolean({ description: 'Whether this request erased the memory' }),
      erasure_certificate_id: Type.Optional(about(Hex16, 'Id of the erasure certificate')),
      ref: Ref,
    }),
    refuses: [...CHANGE_REFUSALS, 'legal_hold', 'capability_not_supported'],
    idempotent: true,
  }),
  delete_store: operation({
    ...write,
    id: 'memory.delete_store',
    method: 'DELETE',
    path: '/v1/stores/{store_id}',
    scope: 'memory:admin',
    summary: 'Starts a job that erases every memory of a store, then the store',
    description:
      'Use it when a store is no longer needed. While the job is open the reply names that job.',
    status: 202,
    reply: Type.Object({
      job_id: Type.String(),
      store_id: Type.String(),
      state: Type.Literal('deleting', { description: 'State of the store' }),
      facts: count('Memories to erase'),
    }),
    refuses: [...POLICY_REFUSALS, 'store_not_found', 'legal_hold', 'no_signing_key'],
  }),
} as const
