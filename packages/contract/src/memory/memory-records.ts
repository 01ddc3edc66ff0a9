// Records of memory stores: stores, memories, and the bodies and replies of their operations.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  Count,
  count,
  Hex16,
  integer,
  JsonObject,
  label,
  NOT_BLANK,
  Nullable,
  number,
  OptionalNullable,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'

/** Capabilities that a store may declare. Each is enforced, and the conformance suite tests it. */
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

/** The embedders that compute vectors for a store. A service offers the configured ones. */
export const EMBEDDERS = ['static', 'none', 'http', 'onnx'] as const
export type EmbedderName = (typeof EMBEDDERS)[number]

/** The languages with known stop words and endings, by ISO 639-1 code. */
export const LANGUAGES = ['en', 'de', 'es', 'fr', 'pt'] as const
export type Language = (typeof LANGUAGES)[number]

/** The most lines in one import. */
export const IMPORT_LINES_MAX = 1_000_000

export const Capabilities = Type.Array(
  Type.Enum(CAPABILITIES, {
    title: 'Capability',
    description: 'A capability that a store declares and the service enforces',
  }),
)
export const Tokenizer = Type.Enum(TOKENIZERS, {
  title: 'Tokenizer',
  description: 'Tokenizer that counts the tokens of memories',
})
export const Embedder = Type.Enum(EMBEDDERS, {
  title: 'Embedder',
  description: 'The embedding model of a store; `none`: lexical search only',
})
const Languages = Type.Array(
  Type.Enum(LANGUAGES, { title: 'Language', description: 'A language by its ISO 639-1 code' }),
  {
    title: 'Languages',
    description:
      'Languages of the memories of a store, the main one first. A text is taken to be in the ' +
      'language whose stop words it has most of (the first of several with equally many), ' +
      'which determines its stop words and stems',
    minItems: 1,
    maxItems: LANGUAGES.length,
    uniqueItems: true,
  },
)

/**
 * A namespace of the tenant `T`: `x`, or the full form `T/x`, which replies use; `T` is the root.
 * Memories of one namespace are invisible in every other namespace.
 */
export const Namespace = label({
  title: 'Namespace',
  description:
    'A namespace within the tenant T: `x`, or in full `T/x`; `T` alone is the root. Memories of ' +
    'one namespace are invisible in every other.',
  maxLength: limits.label_chars + 1 + limits.namespace_chars,
})

const DigestAfter = integer(
  'Seconds without a new memory after which a session gets a digest: a memory of its central ' +
    'sentences, names and days, made without a language model. A session is the memories of one ' +
    'namespace with the same `session_id` in their metadata',
  { minimum: limits.digest_after_s.min, maximum: limits.digest_after_s.max },
)

export const StoreState = Type.Enum(['active', 'deleting'])

/** The id that a caller chooses for a new store. */
const NewStoreId = text(
  'Id of the store; default: a random one. It appears in the audit log, so choose no personal ' +
    'data. An id is never used twice, also not after the store was deleted.',
  { pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' },
)

/** Settings that only the creation of a store accepts. */
export const newStoreFields = {
  store_id: OptionalNullable(NewStoreId),
  languages: OptionalNullable(about(Languages, 'Languages, the main one first; default: English')),
  digest_after_s: OptionalNullable(
    about(DigestAfter, 'Idle seconds after which a session is digested; default: never'),
  ),
}

export const storeFields = {
  store_id: Type.String(),
  name: Nullable(text('Name of the store')),
  backend: Nullable(text('Backend label given at creation; not interpreted')),
  labels: about(JsonObject, 'Labels given at creation; not interpreted'),
  capabilities: Capabilities,
  tokenizer: Tokenizer,
  embedder: Embedder,
  languages: Languages,
  digest_after_s: Nullable(
    about(DigestAfter, 'Idle seconds after which a session is digested; null: never'),
  ),
  created_at: Nullable(time('When it was created; null for `default` before its first write')),
  state: Type.Enum(['active', 'deleting', 'deleted'], { description: 'State of the store' }),
}

export const Store = Type.Object(storeFields, { title: 'Store', description: 'A memory store' })
export type Store = Static<typeof Store>

/** Who wrote a memory, and the signature over its GMP fact id (content and `tenant_id`). */
export const MemorySource = Type.Object(
  {
    write_id: text('Id of the write'),
    written_at: Timestamp,
    written_by: text('Public key of the writer, in hexadecimal'),
    signature: about(Base64, 'Ed25519 signature over the fact id: content and `tenant_id`'),
    public_key: Base64,
    key_id: Type.String(),
    principal: text('Id of the credential that wrote it'),
    original_written_at: Type.Optional(time('When it was first written, if it was imported')),
  },
  { title: 'MemorySource', description: 'Who wrote a memory, with a signature' },
)

const NamespaceLabel = label({
  title: 'ItemLabel',
  description: 'One label of the namespace of an item: 1 to 256 characters',
})

export const ItemNamespace = Type.Array(NamespaceLabel, {
  title: 'ItemNamespace',
  description: 'The namespace of an item: labels from the outermost to the innermost',
  maxItems: limits.item_namespace_labels,
  examples: [['users', 'u1']],
})

export const ItemKey = label({
  title: 'ItemKey',
  description: 'The key of an item, unique in its namespace',
  maxLength: limits.item_key_chars,
})

/** The parts of an item's value that are searchable. */
export const ItemIndex = Type.Union(
  [
    Type.Literal(false),
    Type.Array(label({ examples: ['title', 'comments[*].text'] }), {
      maxItems: limits.item_index_paths,
    }),
  ],
  {
    title: 'ItemIndex',
    description:
      'What a search finds of the value: `false` nothing, or the texts at these paths, such as ' +
      '`title`, `author.name`, `comments[*].text`, `tags[0]` or `$` for all of it; default: all',
  },
)

/** The name of the item that a memory is a version of. */
export const ItemName = Type.Object(
  { namespace: ItemNamespace, key: ItemKey, index: Type.Optional(ItemIndex) },
  {
    title: 'ItemName',
    description: 'The name of an item and what a search finds of it',
    additionalProperties: false,
  },
)
export type ItemName = Static<typeof ItemName>

/** Written only by the service. No request and no line of an import has this member. */
const SessionDigest = Type.Object(
  {
    session_id: Type.Union([Type.String(), Type.Number()], { description: 'The session' }),
    sources: Type.Array(Ref, {
      description: 'The memories it was made from; erasing one of them erases the digest first',
    }),
  },
  { title: 'SessionDigest', description: 'What a digest of a session was made from' },
)
export type SessionDigest = Static<typeof SessionDigest>

const memoryFields = {
  ref: Ref,
  content: Type.String(),
  metadata: JsonObject,
  written_at: Timestamp,
  valid_from: Timestamp,
  valid_until: Nullable(Timestamp),
  expires_at: Nullable(time('When the memory expires; null: never')),
  tenant_id: text('The tenant `T`, or `T/x` in the namespace x'),
  superseded_by: Nullable(about(Ref, 'The memory that replaced it; null if it is current')),
  source: about(MemorySource, 'Who wrote it, with a signature'),
  token_count: Count,
  item: Type.Optional(about(ItemName, 'The name, where the memory is a version of an item')),
  digest: Type.Optional(about(SessionDigest, 'Where the memory is a digest of a session')),
}

export const Memory = Type.Object(memoryFields, {
  title: 'Memory',
  description: 'One version of a memory',
})
export type Memory = Static<typeof Memory>

/** A retrieved memory. The parts of its score add up to the score exactly. */
export const RankedMemory = Type.Object(
  {
    ...memoryFields,
    score: Type.Number(),
    score_parts: Type.Object(
      {
        lexical: number('From the words of the query that the memory contains'),
        neighbour: number('From words that only neighbouring memories of its session contain'),
        dense: number('From the similarity of the vectors, its own and its neighbours'),
        speaker: number('Because the query names who speaks, or a speaker the memory mentions'),
        date: number('Because the memory is of a day that the query names'),
        question: number('Negative for a short question, which asks for what another one says'),
        message: number('Negative for a piece of a message that has a better piece nearby'),
        session: number('A share of the best score in its session'),
        recency: number('From the age of the memory'),
      },
      { description: 'The parts of `score`, which add up to it exactly' },
    ),
    confidence: number(
      'How likely the memory is about the query, by the terms it has and, with the embedder ' +
        '`static`, the similarity of the vectors; comparable between queries and stores',
      { minimum: 0, maximum: 1 },
    ),
  },
  { title: 'RankedMemory', description: 'A retrieved memory with its score' },
)
export type RankedMemory = Static<typeof RankedMemory>

/** A retrieved memory in the view `compact`. */
export const CompactMemory = Type.Object(
  { ref: Ref, content: Type.String(), score: Type.Number(), token_count: Count },
  { title: 'CompactMemory', description: 'A retrieved memory without its metadata and origin' },
)

export const RETRIEVE_VIEWS = ['full', 'compact'] as const

const RetrieveView = Type.Enum(RETRIEVE_VIEWS, {
  title: 'RetrieveView',
  description:
    '`full`: each memory with its metadata, times, origin and parts of the score. `compact`: ' +
    'only its `ref`, `content`, `score` and `token_count`.',
})

/** `namespace` and `tenant_id` are two names of the same field. */
export const namespaceFields = {
  tenant_id: OptionalNullable(about(Namespace, 'Same as `namespace`')),
  namespace: OptionalNullable(about(Namespace, 'Namespace within the tenant; default: the root')),
}

/** The expiry: at most one of the two fields. The time must be after `valid_from`. */
export const expiryFields = {
  expires_at: OptionalNullable(
    time(
      'When the memory expires: from then on it is hidden, and within ten minutes erased; after ' +
        '`valid_from`; default: never',
    ),
  ),
  ttl_s: OptionalNullable(
    integer('Instead of `expires_at`: seconds from now until the memory expires', {
      minimum: limits.ttl_s.min,
      maximum: limits.ttl_s.max,
    }),
  ),
}

const WriteOptions = Type.Object(
  {
    valid_from: OptionalNullable(time('From when the content is true; default: now')),
    ...expiryFields,
    metadata: OptionalNullable(about(JsonObject, 'Up to 16 KiB of JSON, 8 levels deep')),
    ...namespaceFields,
  },
  { title: 'WriteOptions', description: 'Options of a write' },
)
export type WriteOptions = Static<typeof WriteOptions>

/** The content of a new memory. It is not empty and not only white space. */
export const NewContent = Type.String({
  title: 'NewContent',
  description: 'What to remember: up to 256 KiB of UTF-8, not only white space',
  minLength: 1,
  pattern: NOT_BLANK,
})

/** A memory to write. Options are accepted at the top level too; `options` takes precedence. */
export const writeFields = {
  content: NewContent,
  options: OptionalNullable(
    about(
      WriteOptions,
      'Options; each takes precedence over the field of its name beside it, but two different ' +
        'expiries are refused',
    ),
  ),
  ...WriteOptions.properties,
}

/** Content is at most 256 KiB of UTF-8; metadata is at most 16 KiB of JSON with 8 levels. */
export const WriteRequest = Type.Object(writeFields, {
  title: 'WriteRequest',
  description: 'A memory to write',
})
export type WriteRequest = Static<typeof WriteRequest>

/** Scores are comparable within one store and query, not between them. */
const MinScore = number(
  'Leaves out memories with a lower score. Scores are not normalised: they are a BM25 sum from 0 ' +
    'without an upper bound, which depends on the words of the query and on the store. In a ' +
    'store with vectors a perfect similarity adds one and a half times the best such sum, and a ' +
    'lower one proportionally less.',
)

const retrieveFields = {
  budget_tokens: OptionalNullable(
    integer("Token budget, counted with the store's tokenizer; default 1024, clamped to 2^30", {
      minimum: 0,
    }),
  ),
  top_k: OptionalNullable(integer('Largest number of memories to return', { minimum: 1 })),
  limit: OptionalNullable(integer('Same as `top_k`', { minimum: 1 })),
  as_of: OptionalNullable(time('Returns what was valid at this time')),
  known_at: OptionalNullable(time('Returns what was on record at this time')),
  min_score: OptionalNullable(MinScore),
  min_confidence: OptionalNullable(
    number(
      'Leaves out memories with a lower confidence. Without it a query is answered with nothing ' +
        'only if no memory has a word of it or one of similar meaning, or is of a day that it ' +
        'names, and the most similar one is no more similar than unrelated texts are; 0 switches ' +
        'that off, as does an embedder other than `static` and `none`.',
      { minimum: 0, maximum: 1 },
    ),
  ),
  view: OptionalNullable(about(RetrieveView, 'How much of each memory to return; default: full')),
  explain: OptionalNullable(
    Type.Boolean({
      description:
        'Adds `explain`: the parts of each score, and why memories were left out. Costs two ' +
        'further searches.',
    }),
  ),
  ...namespaceFields,
}

/** A retrieval. Options are accepted at the top level too; `options` takes precedence. */
export const RetrieveRequest = Type.Object({
  query: text('What to search for'),
  options: OptionalNullable(
    Type.Object(
      {
        ...retrieveFields,
        metadata: OptionalNullable(
          about(JsonObject, 'Returns only memories whose metadata has these entries'),
        ),
      },
      { description: 'Options; each takes precedence over the field of its name beside it' },
    ),
  ),
  ...retrieveFields,
})
export type RetrieveRequest = Static<typeof RetrieveRequest>

const WriteStatus = Type.Enum(['stored', 'expired', 'erased'], {
  title: 'WriteStatus',
  description:
    '`expired` or `erased` in a replayed reply about a memory that has expired, or has been ' +
    'erased, since',
})

const replyFields = {
  ref: Ref,
  content_hash: Nullable(
    about(Hex16, 'Hash of the content; null once the memory has expired or is erased'),
  ),
  status: WriteStatus,
  duplicate_of: Nullable(about(Ref, 'A current memory with exactly this content')),
  log_seq: Count,
  token_count: Count,
}

export const WriteReply = Type.Object(replyFields)
export type WriteReply = Static<typeof WriteReply>

export const SupersedeReply = Type.Object({
  ...replyFields,
  old_ref: about(Ref, 'The memory that was replaced'),
  warning: Type.Optional(
    Type.Literal('unknown_ref', {
      description: '`old_ref` is not in this store and namespace, so this was a plain write',
    }),
  ),
})
export type SupersedeReply = Static<typeof SupersedeReply>

export const StoreCounts = Type.Object({
  facts: count('Memories, superseded ones included'),
  current: count('Memories that have not been superseded'),
  superseded: count('Memories that have been superseded'),
  tokens: count('Tokens of all memories'),
  erased: count('Memories that were erased'),
  vectors: Type.Object(
    {
      space: Nullable(text("Vector space of the store's embedder; null without an embedder")),
      embedded: count('Memories with a vector of this space'),
      missing: count('Memories without a vector of this space'),
    },
    { description: 'How many memories have a vector' },
  ),
  index: Type.Object(
    {
      state: Type.Enum(['absent', 'building', 'ready'], { description: 'State of the index' }),
      facts: count('Memories in the index'),
      bytes: count('Memory the index takes in this process'),
    },
    { description: 'The search index of this process' },
  ),
})

/** A count made in the background. Null until the first one; during a slow count, the last one. */
const backgroundCount = (description: string) => Nullable(count(description))

/** Batch figures count since this process started; the last two are about current memories. */
export const ingestionFields = {
  batching_enabled: Type.Literal(true, { description: 'Always true' }),
  pending: count('Writes waiting for their batch'),
  total_submitted: count('Writes received since this process started'),
  total_committed: count('Writes committed since this process started'),
  total_batches: count('Batches committed since this process started'),
  avg_batch_size: number('Mean number of writes in a batch'),
  near_duplicates: backgroundCount(
    'Current memories with a near duplicate: another current memory of the namespace that shares ' +
      'nine tenths of the distinct words of both. Null until counted.',
  ),
  never_retrieved: backgroundCount(
    'Current memories that no retrieval has returned, not counting retrievals of the last ' +
      'seconds in other processes. Null until counted.',
  ),
}

/** One line of an import: a memory as an export writes it; only `content` is required. */
export const ImportLine = Type.Object({
  content: NewContent,
  metadata: OptionalNullable(about(JsonObject, 'Up to 16 KiB of JSON, 8 levels deep')),
  ref: OptionalNullable(about(Ref, 'Number to keep; another is assigned where it is taken')),
  written_at: OptionalNullable(time('Kept as `source.original_written_at`')),
  valid_from: OptionalNullable(Timestamp),
  valid_until: OptionalNullable(Timestamp),
  ...expiryFields,
  superseded_by: OptionalNullable(about(Ref, 'The memory of this import that replaced it')),
  item: OptionalNullable(
    about(ItemName, 'The name of the item it is a version of; `content` is the JSON of its value'),
  ),
  ...namespaceFields,
  source: OptionalNullable(
    Type.Object(
      { original_written_at: OptionalNullable(time('When the memory was first written')) },
      { description: 'Origin of the memory' },
    ),
  ),
})
export type ImportLine = Static<typeof ImportLine>

/** The first line of an export. An import may begin with it. */
export const ExportHeader = Type.Object(
  {
    custos_export: Type.Literal(1, { description: 'Version of the export format' }),
    tenant_id: Type.Optional(Type.String()),
    store: Type.Optional(Type.Unknown({ description: 'The store that was exported' })),
    exported_at: Type.Optional(text('When the export began')),
  },
  // Closed in the reply too, because an import may begin with it and refuses unknown members.
  { additionalProperties: false },
)
