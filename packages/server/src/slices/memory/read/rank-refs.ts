// Ranks chosen memories of a store for a query, in one snapshot of the store and its index; and
// finds words that mean much the same as a word of a query, by the vectors of the bundled model.

import type { EmbedderName } from '@custos/contract'
import { loadOnce } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { readVocabulary } from '../../../platform/embed/static-embedder.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { embedQuery } from '../facts/embeddings.ts'
import { finish } from '../index/columns/steps.ts'
import { VectorColumn } from '../index/columns/vector-column.ts'
import type { SimilarTerms } from '../index/lexical-scores.ts'
import type { RankedFact } from '../index/ranking.ts'
import { SEARCH_ATTEMPTS } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { loadExpectedEmbedder, loadReadableStore, settingsCache } from '../stores/store-settings.ts'
import { analyse } from '../text/analysis.ts'

interface RankRequest<T> {
  readonly store_id: string
  readonly query: string
  readonly limit: number
  /** Chooses the refs to rank; no others are found. */
  choose(db: TenantDb): Promise<readonly number[]>
  /** Makes the answer in the same snapshot. The ranking includes memories that are being erased. */
  show(db: TenantDb, ranked: readonly RankedFact[]): Promise<T>
}

/** Refuses `store_not_found` and `index_building`. */
export async function answerRanked<T>(
  kernel: Kernel,
  tenant_id: string,
  request: RankRequest<T>,
): Promise<T> {
  const { store_id, query } = request
  let embedder = await loadExpectedEmbedder(kernel, tenant_id, store_id)
  let vector = await embedQuery(kernel, embedder, query)
  let similar = vector === null ? null : await findSimilarTerms(query)
  for (let attempt = 0; attempt < SEARCH_ATTEMPTS.max; attempt += 1) {
    const options = { embedder, vector, similar, yields: attempt < SEARCH_ATTEMPTS.yielding }
    const tried = await storeIndexes(kernel).inTurn(tenant_id, store_id, () =>
      kernel.db.read(tenant_id, (db) => tryRanking(kernel, db, request, options)),
    )
    if ('answer' in tried) return tried.answer
    if ('embedder' in tried) {
      settingsCache(kernel).forget(tenant_id, store_id)
      embedder = tried.embedder
      vector = await embedQuery(kernel, embedder, query)
      similar = vector === null ? null : await findSimilarTerms(query)
    } else
      await storeIndexes(kernel).loadCurrent(tenant_id, store_id, tried.head_seq, {
        awaitSnapshot: true,
      })
  }
  throw new Refusal('index_building', undefined, { retry_after_s: 1 })
}

async function tryRanking<T>(
  kernel: Kernel,
  db: TenantDb,
  { store_id, query, limit, choose, show }: RankRequest<T>,
  options: {
    embedder: EmbedderName
    vector: Int8Array | null
    similar: SimilarTerms | null
    yields: boolean
  },
): Promise<{ answer: T } | { embedder: EmbedderName } | { head_seq: number }> {
  const { embedder, vector, similar, yields } = options
  const store = await loadReadableStore(kernel, db, store_id)
  if (store.embedder !== embedder) return { embedder: store.embedder }
  const refs = await choose(db)
  if (!store.row || refs.length === 0) return { answer: await show(db, []) }
  const { head_seq } = store.row
  const head = await findHead(db)
  const find = () => storeIndexes(kernel).findAt(db.tenant_id, store_id, head_seq)
  const index = find()
  if (!index) return { head_seq }
  // Not before the time of the last log entry: another process's clock may be ahead of this one.
  const now_us = Math.max(kernel.clock.now(), head?.last_us ?? 0)
  const search = {
    query,
    vector,
    limit,
    now_us,
    at_us: now_us,
    namespace: null,
    filter: null,
    similar,
    visible: new Map(refs.map((ref) => [ref, ALWAYS])),
    uncalibrated: vector !== null && embedder !== 'static',
    min_score: null,
    // Weakly related memories are ranked last, but not left out.
    min_confidence: 0,
  }
  const ranked = yields
    ? await index.searchInSteps(search, () => find() === index)
    : index.search(search)
  return ranked === null ? { head_seq } : { answer: await show(db, ranked) }
}

const ALWAYS = { valid_from_us: 0, valid_until_us: null }

/** Terms with at least this cosine to a word count as it; at most this many per word. */
const COSINE_MIN = 0.6
const SIMILAR_MAX = 16
/** Maximum number of words of a query that are looked up. */
const WORDS_MAX = 64
/** Only words of the model are looked up and cached, never unknown names or numbers. */
const WORDS_CACHED = 4_096

const WORD = /\p{L}{2,}/gu

const cache = new LruCache<string, readonly string[]>({ max: WORDS_CACHED })

/**
 * The words of the model that are a single term of the index: their slots, and by slot the vector,
 * the term and the length of the vector.
 */
const loadVocabulary = loadOnce(async () => {
  const pace = yieldBetweenChunks()
  const vectors = new VectorColumn()
  const slots = new Map<string, number>()
  const terms: string[] = []
  const lengths: number[] = []
  for (const { word, vector } of readVocabulary()) {
    const [term, ...more] = analyse(word)
    if (term === undefined || more.length > 0) continue
    slots.set(word, terms.length)
    vectors.set(terms.length, vector)
    terms.push(term)
    lengths.push(Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)))
    await pace()
  }
  return { vectors, slots, terms, lengths }
})

/** Returns the most similar terms of each query term, best first. */
export async function findSimilarTerms(query: string): Promise<SimilarTerms> {
  const vocabulary = await loadVocabulary()
  const pace = yieldBetweenChunks()
  const found = new Map<string, readonly string[]>()
  for (const word of new Set(query.toLowerCase().match(WORD) ?? [])) {
    const slot = vocabulary.slots.get(word)
    if (slot === undefined) continue
    const term = vocabulary.terms[slot] ?? ''
    if (found.has(term)) continue
    if (found.size >= WORDS_MAX) break
    found.set(term, cache.get(word) ?? cache.set(word, findSimilar(vocabulary, slot)))
    await pace()
  }
  return found
}

function findSimilar(
  { vectors, terms, lengths }: Awaited<ReturnType<typeof loadVocabulary>>,
  slot: number,
): readonly string[] {
  const own = terms[slot]
  const dots = new Int32Array(terms.length)
  finish(vectors.denseScores(vectors.read(slot), terms.length, dots))
  const cosines = new Map<string, number>()
  for (const [other, term] of terms.entries()) {
    const cosine = (dots[other] ?? 0) / ((lengths[slot] ?? 1) * (lengths[other] ?? 1))
    if (term === own || !(cosine >= COSINE_MIN)) continue
    if (cosine > (cosines.get(term) ?? 0)) cosines.set(term, cosine)
  }
  return [...cosines]
    .sort(([left, a], [right, b]) => b - a || (left < right ? -1 : 1))
    .slice(0, SIMILAR_MAX)
    .map(([term]) => term)
}
