// POST /v1/stores/{store_id}/retrieve: the best memories within a token budget.

import {
  type EmbedderName,
  limits,
  type memory,
  type RankedMemory,
  type RetrieveRequest,
} from '@custos/contract'
import type { Static } from 'typebox'
import type { Call, Handler } from '../../../platform/call.ts'
import { parseTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { admit } from '../../governance/index.ts'
import { embedQuery } from '../facts/embeddings.ts'
import { showMemory } from '../facts/fact-document.ts'
import { loadLiveFacts, type OpenedFact } from '../facts/opened-fact.ts'
import type { ValidityRow } from '../facts/validity.sql.ts'
import type { RankedFact, SearchOptions } from '../index/ranking.ts'
import type { StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { parseNamespace } from '../stores/namespace.ts'
import {
  loadExpectedEmbedder,
  loadReadableStore,
  type ReadableStore,
  requireCapability,
  settingsCache,
} from '../stores/store-settings.ts'
import { beginExplanation, type ExplainedRanking, endExplanation } from './explain.ts'
import { completeVersions, type RecordedVersions, withVersionsKnownAt } from './known-at.ts'
import { packWithinBudget } from './pack.ts'
import { retrievedFacts } from './retrieved-facts.ts'

type Retrieve = typeof memory.retrieve

/** Candidates looked at first: a budget holds few facts shorter than this many tokens. */
const TOKENS_PER_CANDIDATE = 8
const CANDIDATES_MIN = 32
const CANDIDATES_MAX = 100_000
/** A budget filled to this share is not worth looking further down for. */
const FILLED = 0.9
const WIDENING = 4
/** Looks at a store that keeps moving while its index is brought to where it was. */
const ATTEMPTS_MAX = 16

export const retrieve: Handler<Retrieve> = async (call, { params, body }) => {
  const { kernel, tenant_id } = call
  const wish = parseRetrieveOptions(body)
  const { query, budget_tokens: tokens } = wish
  const { store_id } = params
  const embedder = await loadExpectedEmbedder(kernel, tenant_id, store_id)
  await admit(call, 'memory.retrieve', { ...params, query, tokens })
  const vector = await embedQuery(kernel, embedder, query)
  const { known_at_us: us } = wish
  if (us === null) return answerAtHead(call, store_id, { ...wish, embedder, vector, known: null })
  // What takes long comes first: what was on record is held for as short as can be.
  await catchUpIndex(call, store_id, wish)
  return withVersionsKnownAt(kernel, { tenant_id, store_id, us }, (known) =>
    answerAtHead(call, store_id, { ...wish, embedder, vector, known }),
  )
}

async function catchUpIndex(
  call: Call<Retrieve>,
  store_id: string,
  wish: RetrieveOptions,
): Promise<void> {
  const { kernel, tenant_id } = call
  const { row } = await call.read(async (db) => {
    const store = await loadReadableStore(kernel, db, store_id)
    checkRetrieveCapabilities(call, store, wish)
    return store
  })
  if (row) await storeIndexes(kernel).loadCurrent(tenant_id, store_id, row.head_seq)
}

type EmbeddedRetrieveOptions = RetrieveOptions & {
  embedder: EmbedderName
  vector: Int8Array | null
  known: RecordedVersions | null
}

async function answerAtHead(
  call: Call<Retrieve>,
  store_id: string,
  wish: EmbeddedRetrieveOptions,
): Promise<Static<Retrieve['reply']>> {
  const { kernel, tenant_id } = call
  let { embedder, vector } = wish
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const answer = await call.read((db) =>
      answerFromSnapshot(call, db, store_id, { ...wish, embedder, vector }),
    )
    if (answer.reply) {
      retrievedFacts(kernel).add({ tenant_id, store_id }, answer.reply.memories)
      return answer.reply
    }
    if (answer.embedder) {
      settingsCache(kernel).forget(tenant_id, store_id)
      embedder = answer.embedder
      vector = await embedQuery(kernel, embedder, wish.query)
    } else await storeIndexes(kernel).loadCurrent(tenant_id, store_id, answer.behind)
  }
  return call.refuse('index_building', undefined, { retry_after_s: 1 })
}

type RetrieveAttempt =
  | { readonly reply: Static<Retrieve['reply']> }
  /** The store goes by another embedder: the query needs a vector of that one. */
  | { readonly reply?: undefined; readonly embedder: EmbedderName }
  /** The index does not stand where the snapshot does: it is brought there first. */
  | { readonly reply?: undefined; readonly embedder?: undefined; readonly behind: number }

// Store, validity and rows are of one snapshot, and the index is used only where it stands there
// too: no answer shows half of a supersession.
async function answerFromSnapshot(
  call: Call<Retrieve>,
  db: TenantDb,
  store_id: string,
  wish: EmbeddedRetrieveOptions,
): Promise<RetrieveAttempt> {
  const { kernel, tenant_id } = call
  const store = await loadReadableStore(kernel, db, store_id)
  const namespace = checkRetrieveCapabilities(call, store, wish)
  if (store.embedder !== wish.embedder) return { embedder: store.embedder }
  const head = await findHead(db)
  const log_seq = Math.max(0, (head?.size ?? 0) - 1)
  const known = wish.known && (await completeVersions(db, store_id, wish.known))

  let ranked: RankedFact[] = []
  let explained: ExplainedRanking | null = null
  if (store.row) {
    const { head_seq } = store.row
    const index = storeIndexes(kernel).findAt(tenant_id, store_id, head_seq)
    if (!index) return { behind: head_seq }
    // What another process has answered for is there, also where its clock is ahead of ours.
    const now_us = Math.max(kernel.clock.now(), head?.last_us ?? 0)
    const request = makeSearchOptions({ ...wish, namespace, visible: known, now_us })
    const found = rankForBudget(index, request, wish)
    ranked = found.ranked
    // At once, from the index as it was searched: it moves on while rows are read.
    if (wish.explain) explained = beginExplanation(index, request, { ...wish, ...found })
  }
  const packing = await packVisible(call, db, ranked, { store_id, ...wish, known })
  const { memories, dropped } = packing
  const space = kernel.embedders.spaceOf(store.embedder)?.name ?? null
  const ranking = { query: wish.query, space: wish.vector === null ? null : space }
  return {
    reply: {
      memories,
      tokens_used: memories.reduce((sum, { token_count }) => sum + token_count, 0),
      budget_tokens: wish.budget_tokens,
      dropped,
      log_seq,
      tokenizer: store.tokenizer,
      ranking: wish.vector === null ? 'lexical' : 'fused',
      ...(wish.explain && {
        explain: await endExplanation(db, explained, { ...ranking, ...packing }),
      }),
    },
  }
}

/**
 * Ranks as many candidates as the budget can be expected to hold, and looks further down only
 * while they leave a tenth of it unused: the answer depends on the store and the request alone.
 */
function rankForBudget(
  index: StoreIndex,
  request: Omit<SearchOptions, 'limit'>,
  { budget_tokens, top_k }: RetrieveOptions,
): { ranked: RankedFact[]; limit: number } {
  const most = Math.min(top_k, CANDIDATES_MAX)
  const expected = Math.ceil(budget_tokens / TOKENS_PER_CANDIDATE)
  let limit = Math.min(most, Math.max(CANDIDATES_MIN, expected))
  for (;;) {
    const ranked = index.search({ ...request, limit })
    if (ranked.length < limit || limit >= most) return { ranked, limit }
    const { packed } = packWithinBudget(ranked, budget_tokens)
    const used = packed.reduce((sum, { token_count }) => sum + token_count, 0)
    if (used >= budget_tokens * FILLED) return { ranked, limit }
    limit = Math.min(most, limit * WIDENING)
  }
}

interface PackOptions {
  readonly store_id: string
  readonly budget_tokens: number
  readonly known: ReadonlyMap<number, ValidityRow> | null
}

/** Fills the budget with what can be shown: a memory being erased takes no room from others. */
async function packVisible(
  call: Call<Retrieve>,
  db: TenantDb,
  ranked: readonly RankedFact[],
  { store_id, budget_tokens, known }: PackOptions,
): Promise<{ memories: RankedMemory[]; dropped: number; hidden: ReadonlySet<number> }> {
  const facts = new Map<number, OpenedFact>()
  const hidden = new Set<number>()
  for (;;) {
    const visible = hidden.size === 0 ? ranked : ranked.filter(({ ref }) => !hidden.has(ref))
    const { packed, dropped } = packWithinBudget(visible, budget_tokens)
    const missing = packed.flatMap(({ ref }) => (facts.has(ref) ? [] : [ref]))
    for (const [ref, fact] of await loadLiveFacts(call.kernel, db, missing)) facts.set(ref, fact)
    const gone = missing.filter((ref) => facts.get(ref)?.store_id !== store_id)
    if (gone.length > 0) {
      for (const ref of gone) hidden.add(ref)
      continue
    }
    const last = packed.at(-1)
    const passed = last ? dropped.filter((item) => isBefore(item, last)) : dropped
    return { memories: showRanked(call, packed, { facts, known }), dropped: passed.length, hidden }
  }
}

interface RetrieveOptions {
  readonly query: string
  readonly budget_tokens: number
  readonly top_k: number
  readonly as_of_us: number | null
  readonly known_at_us: number | null
  readonly names: { tenant_id?: string | null; namespace?: string | null }
  readonly filter: Readonly<Record<string, unknown>> | null
  readonly min_score: number | null
  readonly explain: boolean
}

/** Every option at the top level too; the one in `options` wins. */
function parseRetrieveOptions(body: RetrieveRequest): RetrieveOptions {
  if (Buffer.byteLength(body.query) > limits.query_bytes) throw queryTooLong()
  const options = body.options ?? {}
  const pick = <K extends keyof typeof options & keyof RetrieveRequest>(key: K) =>
    options[key] ?? body[key]
  const budget = pick('budget_tokens') ?? limits.budget_tokens_default
  const as_of = pick('as_of')
  const known_at = pick('known_at')
  return {
    query: body.query,
    budget_tokens: Math.min(Math.max(budget, 0), limits.budget_tokens),
    top_k: Math.min(pick('top_k') ?? CANDIDATES_MAX, pick('limit') ?? CANDIDATES_MAX),
    as_of_us: as_of ? parseTime(as_of) : null,
    known_at_us: known_at ? parseTime(known_at) : null,
    names: { tenant_id: pick('tenant_id') ?? null, namespace: pick('namespace') ?? null },
    filter: options.metadata ?? null,
    min_score: pick('min_score') ?? null,
    explain: pick('explain') ?? false,
  }
}

const queryTooLong = (): Refusal => {
  const msg = `query has ${limits.query_bytes} bytes at most`
  return new Refusal('validation', undefined, {
    detail: [{ loc: ['body', 'query'], msg, type: 'too_long' }],
  })
}

function checkRetrieveCapabilities(
  call: Call<Retrieve>,
  store: ReadableStore,
  wish: RetrieveOptions,
): string | null {
  const namespace = parseNamespace(call.tenant_id, wish.names)
  if (namespace !== null) requireCapability(store, 'multi_tenant', call.operation.id)
  if (wish.as_of_us !== null || wish.known_at_us !== null)
    requireCapability(store, 'bi_temporal', call.operation.id)
  return namespace
}

function makeSearchOptions(
  wish: RetrieveOptions & {
    vector: Int8Array | null
    namespace: string | null
    visible: SearchOptions['visible']
    now_us: number
  },
): Omit<SearchOptions, 'limit'> {
  const { query, vector, namespace, filter, visible, min_score } = wish
  const at_us = wish.as_of_us ?? wish.known_at_us ?? wish.now_us
  return { query, vector, namespace, at_us, filter, visible, min_score }
}

/** With `known`, intervals and successors are shown as they were on record then. */
function showRanked(
  { kernel, tenant_id }: Call<Retrieve>,
  packed: readonly RankedFact[],
  { facts, known }: { facts: ReadonlyMap<number, OpenedFact>; known: PackOptions['known'] },
): RankedMemory[] {
  return packed.flatMap(({ ref, score, parts }) => {
    const fact = facts.get(ref)
    if (!fact) return []
    const { valid_from_us, valid_until_us, superseded_by } = known?.get(ref) ?? fact
    const shown = { ...fact, valid_from_us, valid_until_us, superseded_by }
    return [{ ...showMemory(kernel, tenant_id, shown), score, score_parts: { ...parts } }]
  })
}

const isBefore = (a: RankedFact, b: RankedFact): boolean =>
  a.score > b.score || (a.score === b.score && a.ref < b.ref)
