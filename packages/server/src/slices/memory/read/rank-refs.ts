// Ranks chosen memories of a store for a query, in one snapshot of the store and its index.

import type { EmbedderName } from '@custos/contract'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { embedQuery } from '../facts/embeddings.ts'
import type { SimilarTerms } from '../index/lexical-scores.ts'
import type { RankedFact } from '../index/ranking.ts'
import { SEARCH_ATTEMPTS } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { loadExpectedEmbedder, loadReadableStore, settingsCache } from '../stores/store-settings.ts'
import { findSimilarTerms } from './similar-terms.ts'

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
