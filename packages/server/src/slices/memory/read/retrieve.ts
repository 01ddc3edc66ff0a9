// POST /v1/stores/{store_id}/retrieve: the best memories within a token budget.

import assert from 'node:assert/strict'
import {
  type EmbedderName,
  limits,
  type memory,
  type RETRIEVE_VIEWS,
  type RetrieveRequest,
} from '@custos/contract'
import type { Static } from 'typebox'
import { parseTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { parseNamespace } from '../../../platform/namespace.ts'
import { type RawJson, rawJson } from '../../../platform/raw-json.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { admit } from '../../governance/index.ts'
import { embedQuery } from '../facts/embeddings.ts'
import { showMemory } from '../facts/fact-document.ts'
import { loadFactViews, type StoreSnapshot } from '../facts/opened-fact.ts'
import { type FactView, openedFactCache, type ReadMark } from '../facts/opened-fact-cache.ts'
import type { ValidityRow } from '../facts/validity.sql.ts'
import type { RankedFact, SearchOptions } from '../index/ranking.ts'
import { SEARCH_ATTEMPTS, type StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import {
  loadExpectedEmbedder,
  loadReadableStore,
  type ReadableStore,
  requireCapability,
  settingsCache,
} from '../stores/store-settings.ts'
import { beginExplanation, type ExplainedRanking, endExplanation } from './explain.ts'
import { completeVersions, type RecordedVersions, withVersionsKnownAt } from './memory-reads.ts'
import { packWithinBudget, splitDuplicates } from './pack.ts'
import { retrievedFacts } from './retrieved-facts.ts'
import { findSimilarTerms } from './similar-terms.ts'

type RetrieveReply = Static<(typeof memory.retrieve)['reply']>

/** Expected tokens per candidate; few facts are shorter. */
const TOKENS_PER_CANDIDATE = 8
const CANDIDATES_MIN = 32
const CANDIDATES_MAX = 100_000
/** Share of the budget from which on no further candidates are ranked. */
const FILLED = 0.9
const WIDENING = 4
interface RetrieveOptions {
  readonly query: string
  readonly budget_tokens: number
  readonly top_k: number
  readonly as_of_us: number | null
  readonly known_at_us: number | null
  readonly names: { tenant_id?: string | null; namespace?: string | null }
  readonly filter: Readonly<Record<string, unknown>> | null
  readonly min_score: number | null
  readonly min_confidence: number | null
  readonly explain: boolean
  readonly view: (typeof RETRIEVE_VIEWS)[number]
}

export const retrieve: Handler<typeof memory.retrieve> = async (call, { params, body }) => {
  const { kernel, tenant_id } = call
  const options = parseRetrieveOptions(body)
  const { query, budget_tokens: tokens } = options
  const { store_id } = params
  const embedder = await loadExpectedEmbedder(kernel, tenant_id, store_id)
  await admit(call, 'memory.retrieve', { ...params, query, tokens })
  const embedded = { embedder, ...(await embedWords(kernel, embedder, query)) }
  const { known_at_us: us } = options
  if (us === null) return answerAtHead(call, store_id, { ...options, ...embedded, known: null })
  // Catches up the index first, which may take long; the versions are then in memory only briefly.
  await catchUpIndex(call, store_id, options)
  return withVersionsKnownAt(kernel, { tenant_id, store_id, us }, (known) =>
    answerAtHead(call, store_id, { ...options, ...embedded, known }),
  )
}

/** The vector and the similar terms of a query; both `null` to rank by its own words alone. */
async function embedWords(
  kernel: Kernel,
  embedder: EmbedderName,
  query: string,
): Promise<Pick<SearchOptions, 'vector' | 'similar'>> {
  const vector = await embedQuery(kernel, embedder, query)
  return { vector, similar: vector === null ? null : await findSimilarTerms(query) }
}

async function catchUpIndex(
  call: Call<typeof memory.retrieve>,
  store_id: string,
  options: RetrieveOptions,
): Promise<void> {
  const { kernel, tenant_id } = call
  const { row } = await call.read(async (db) => {
    const store = await loadReadableStore(kernel, db, store_id)
    checkRetrieveCapabilities(call, store, options)
    return store
  })
  if (row)
    await storeIndexes(kernel).loadCurrent(tenant_id, store_id, row.head_seq, {
      awaitSnapshot: true,
    })
}

/** Options with what was loaded before the snapshot and is checked within it. */
interface SnapshotOptions extends RetrieveOptions, Pick<SearchOptions, 'vector' | 'similar'> {
  readonly embedder: EmbedderName
  readonly known: RecordedVersions | null
  readonly yields: boolean
}

async function answerAtHead(
  call: Call<typeof memory.retrieve>,
  store_id: string,
  options: Omit<SnapshotOptions, 'yields'>,
): Promise<RawJson<RetrieveReply>> {
  const { kernel, tenant_id } = call
  let { embedder, vector, similar } = options
  for (let attempt = 0; attempt < SEARCH_ATTEMPTS.max; attempt += 1) {
    const yields = attempt < SEARCH_ATTEMPTS.yielding
    const tried = { ...options, embedder, vector, similar, yields }
    const search = () => {
      const read_mark = openedFactCache(kernel).markRead(tenant_id)
      return call.read((db) => answerFromSnapshot(call, db, store_id, { ...tried, read_mark }))
    }
    const announce = () => findCompared(tenant_id, tried)
    const answer = await storeIndexes(kernel).inTurn(tenant_id, store_id, search, announce)
    if (answer.reply) {
      retrievedFacts(kernel).add({ tenant_id, store_id }, answer.packed)
      kernel.metrics.countRetrievedTokens(answer.reply.figures['tokens_used'] ?? 0)
      return answer.reply
    }
    if (answer.embedder) {
      settingsCache(kernel).forget(tenant_id, store_id)
      embedder = answer.embedder
      const embedded = await embedWords(kernel, embedder, options.query)
      vector = embedded.vector
      similar = embedded.similar
    } else
      await storeIndexes(kernel).loadCurrent(tenant_id, store_id, answer.head_seq, {
        awaitSnapshot: true,
      })
  }
  return call.refuse('index_building', undefined, { retry_after_s: 1 })
}

/** What the search compares; `null` if it will be refused for its names. */
function findCompared(
  tenant_id: string,
  { names, vector }: Pick<SnapshotOptions, 'names' | 'vector'>,
): Pick<SearchOptions, 'namespace' | 'vector'> | null {
  try {
    return { namespace: parseNamespace(tenant_id, names), vector }
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

type RetrieveAttempt =
  | { readonly reply: RawJson<RetrieveReply>; readonly packed: readonly RankedFact[] }
  /** The store has another embedder, and the query must be embedded again with that one. */
  | { readonly reply?: undefined; readonly embedder: EmbedderName }
  /** The index is not at the log position of the snapshot and must catch up first. */
  | { readonly reply?: undefined; readonly embedder?: undefined; readonly head_seq: number }

// Store, validity and rows are read on one snapshot, and the index is used only at the same log
// position, so no answer shows half of a supersession.
async function answerFromSnapshot(
  call: Call<typeof memory.retrieve>,
  db: TenantDb,
  store_id: string,
  options: SnapshotOptions & { readonly read_mark: ReadMark },
): Promise<RetrieveAttempt> {
  const { kernel, tenant_id } = call
  const store = await loadReadableStore(kernel, db, store_id)
  const namespace = checkRetrieveCapabilities(call, store, options)
  if (store.embedder !== options.embedder) return { embedder: store.embedder }
  const head = await findHead(db)
  const log_seq = Math.max(0, (head?.size ?? 0) - 1)
  const known = options.known && (await completeVersions(db, store_id, options.known))

  let ranked: RankedFact[] = []
  let explained: ExplainedRanking | null = null
  if (store.row) {
    const { head_seq } = store.row
    const index = storeIndexes(kernel).findAt(tenant_id, store_id, head_seq)
    if (!index) return { head_seq }
    // Not before the time of the last log entry: another process's clock may be ahead of this one.
    const now_us = Math.max(kernel.clock.now(), head?.last_us ?? 0)
    const search = makeSearchOptions({ ...options, namespace, visible: known, now_us })
    const isCurrent = () => storeIndexes(kernel).findAt(tenant_id, store_id, head_seq) === index
    const found = await rankForBudget(index, search, { ...options, isCurrent })
    if (found === null) return { head_seq }
    ranked = found.ranked
    // Runs before the first await: the index changes while rows are read.
    if (options.explain) explained = beginExplanation(index, search, { ...options, ...found })
  }
  const snapshot = { store_id, head_seq: store.row?.head_seq ?? 0, read_mark: options.read_mark }
  const packing = await packVisible(call, db, ranked, { snapshot, ...options })
  const { packed, facts, dropped, duplicates } = packing
  const space = kernel.embedders.spaceOf(store.embedder)?.name ?? null
  const ranking = {
    query: options.query,
    languages: store.languages,
    space: options.vector === null ? null : space,
  }
  const summary: Omit<RetrieveReply, 'memories'> = {
    tokens_used: packed.reduce((sum, { token_count }) => sum + token_count, 0),
    budget_tokens: options.budget_tokens,
    dropped,
    duplicates,
    log_seq,
    tokenizer: store.tokenizer,
    ranking: options.vector === null ? 'lexical' : 'fused',
    ...(options.explain && {
      explain: await endExplanation(db, explained, { ...ranking, ...packing, memories: packed }),
    }),
  }
  const show = options.view === 'compact' ? showCompact : showRankedBy(call, known)
  const shown = packed.map((one) => show(one, facts.get(one.ref)))
  return { reply: showReply(shown, summary), packed }
}

/** Writes the reply as `JSON.stringify` would. `memories`, its first member, is JSON texts. */
const showReply = (
  memories: readonly string[],
  summary: Omit<RetrieveReply, 'memories'>,
): RawJson<RetrieveReply> => {
  const { tokens_used, budget_tokens, log_seq } = summary
  return rawJson(`{"memories":[${memories.join(',')}],${JSON.stringify(summary).slice(1)}`, {
    tokens_used,
    budget_tokens,
    log_seq,
    count: memories.length,
  })
}

/**
 * Ranks as many candidates as the budget is expected to hold, and more while they leave over a
 * tenth of it unused. The answer depends on the store and the request alone. Returns `null` if the
 * index has left the log position of the snapshot. An explanation uses the same index at once.
 */
async function rankForBudget(
  index: StoreIndex,
  search: Omit<SearchOptions, 'limit'>,
  {
    budget_tokens,
    top_k,
    explain,
    yields,
    isCurrent,
  }: Omit<SnapshotOptions, 'known'> & {
    isCurrent: () => boolean
  },
): Promise<{ ranked: RankedFact[]; limit: number } | null> {
  const expected = Math.ceil(budget_tokens / TOKENS_PER_CANDIDATE)
  let limit = Math.min(top_k, CANDIDATES_MAX, Math.max(CANDIDATES_MIN, expected))
  for (;;) {
    const ranked =
      explain || !yields
        ? index.search({ ...search, limit })
        : await index.searchInSteps({ ...search, limit }, isCurrent)
    if (ranked === null) return null
    if (ranked.length < limit || limit >= CANDIDATES_MAX) return { ranked, limit }
    const { unique } = splitDuplicates(ranked, top_k)
    const { packed } = packWithinBudget(unique, budget_tokens)
    const used = packed.reduce((sum, { token_count }) => sum + token_count, 0)
    if (unique.length >= top_k || used >= budget_tokens * FILLED) return { ranked, limit }
    limit = Math.min(CANDIDATES_MAX, limit * WIDENING)
  }
}

/** Fills the budget with live memories; a memory that is being erased takes no room. */
async function packVisible(
  call: Call<typeof memory.retrieve>,
  db: TenantDb,
  ranked: readonly RankedFact[],
  {
    snapshot,
    budget_tokens,
    top_k,
  }: { readonly snapshot: StoreSnapshot; readonly budget_tokens: number; readonly top_k: number },
): Promise<{
  packed: RankedFact[]
  facts: ReadonlyMap<number, FactView>
  dropped: number
  duplicates: number
  hidden: ReadonlySet<number>
}> {
  const facts = new Map<number, FactView>()
  const hidden = new Set<number>()
  for (;;) {
    const visible = hidden.size === 0 ? ranked : ranked.filter(({ ref }) => !hidden.has(ref))
    const { unique, duplicates } = splitDuplicates(visible, top_k)
    const { packed, dropped } = packWithinBudget(unique, budget_tokens)
    const missing = packed.flatMap(({ ref }) => (facts.has(ref) ? [] : [ref]))
    for (const [ref, fact] of await loadFactViews(call.kernel, db, snapshot, missing))
      facts.set(ref, fact)
    const notLive = missing.filter((ref) => facts.get(ref)?.fact.store_id !== snapshot.store_id)
    if (notLive.length > 0) {
      for (const ref of notLive) hidden.add(ref)
      continue
    }
    const last = packed.at(-1)
    const skipped = last ? dropped.filter((item) => isBefore(item, last)) : dropped
    const contents = new Set(packed.map(({ content_ref }) => content_ref))
    return {
      packed,
      facts,
      dropped: skipped.length,
      duplicates: duplicates.filter(({ content_ref }) => contents.has(content_ref)).length,
      hidden,
    }
  }
}

/** Options are accepted at the top level too; those in `options` take precedence. */
function parseRetrieveOptions(body: RetrieveRequest): RetrieveOptions {
  if (Buffer.byteLength(body.query) > limits.query_bytes) throw queryTooLong()
  const inner = body.options ?? {}
  const pick = <K extends keyof typeof inner & keyof RetrieveRequest>(key: K) =>
    inner[key] ?? body[key]
  const budget = pick('budget_tokens') ?? limits.budget_tokens_default
  const as_of = pick('as_of')
  const known_at = pick('known_at')
  return {
    query: body.query,
    budget_tokens: Math.min(budget, limits.budget_tokens),
    top_k: Math.min(pick('top_k') ?? CANDIDATES_MAX, pick('limit') ?? CANDIDATES_MAX),
    as_of_us: as_of ? parseTime(as_of) : null,
    known_at_us: known_at ? parseTime(known_at) : null,
    names: { tenant_id: pick('tenant_id') ?? null, namespace: pick('namespace') ?? null },
    filter: inner.metadata ?? null,
    min_score: pick('min_score') ?? null,
    min_confidence: pick('min_confidence') ?? null,
    explain: pick('explain') ?? false,
    view: pick('view') ?? 'full',
  }
}

const queryTooLong = (): Refusal => {
  const msg = `query has more than ${limits.query_bytes} bytes`
  return new Refusal('validation', undefined, {
    detail: [{ loc: ['body', 'query'], msg, type: 'too_long' }],
  })
}

function checkRetrieveCapabilities(
  call: Call<typeof memory.retrieve>,
  store: ReadableStore,
  options: RetrieveOptions,
): string | null {
  const namespace = parseNamespace(call.tenant_id, options.names)
  if (namespace !== null) requireCapability(store, 'multi_tenant', call.operation.id)
  if (options.as_of_us !== null || options.known_at_us !== null)
    requireCapability(store, 'bi_temporal', call.operation.id)
  return namespace
}

function makeSearchOptions(
  options: RetrieveOptions & {
    embedder: EmbedderName
    namespace: string | null
    now_us: number
  } & Pick<SearchOptions, 'vector' | 'similar' | 'visible'>,
): Omit<SearchOptions, 'limit'> {
  const { query, vector, similar, namespace, filter, visible, now_us } = options
  const { min_score, min_confidence } = options
  // Cosines of other embedders do not tell whether two texts have the same subject.
  const uncalibrated = vector !== null && options.embedder !== 'static'
  const at_us = options.as_of_us ?? options.known_at_us ?? now_us
  return {
    query,
    vector,
    similar,
    namespace,
    at_us,
    now_us,
    filter,
    visible,
    min_score,
    uncalibrated,
    min_confidence: min_confidence ?? (uncalibrated ? 0 : null),
  }
}

/** With `known`, shows validity and successors as they were on record then. */
function showRankedBy(
  { kernel, tenant_id }: Call<typeof memory.retrieve>,
  known: ReadonlyMap<number, ValidityRow> | null,
) {
  return (ranked: RankedFact, shown: FactView | undefined): string => {
    const { ref, score, parts, confidence } = ranked
    assert(shown, 'a packed fact is loaded')
    const version = known?.get(ref)
    let { json } = shown
    if (version) {
      const { valid_from_us, valid_until_us, superseded_by } = version
      const fact = { ...shown.fact, valid_from_us, valid_until_us, superseded_by }
      json = JSON.stringify(showMemory(kernel, tenant_id, fact))
    }
    const ranking = JSON.stringify({ score, score_parts: parts, confidence })
    return `${json.slice(0, -1)},${ranking.slice(1)}`
  }
}

const showCompact: ReturnType<typeof showRankedBy> = ({ ref, score, token_count }, shown) => {
  assert(shown, 'a packed fact is loaded')
  return JSON.stringify({ ref, content: shown.fact.content, score, token_count })
}

const isBefore = (a: RankedFact, b: RankedFact): boolean =>
  a.score > b.score || (a.score === b.score && a.ref < b.ref)
