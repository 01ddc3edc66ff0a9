// Finds words that mean nearly the same as a word of a query, by the vectors of the bundled model.

import { loadOnce } from '../../../platform/concurrency.ts'
import { readVocabulary } from '../../../platform/embed/static-embedder.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { finish } from '../index/columns/steps.ts'
import { VectorColumn } from '../index/columns/vector-column.ts'
import type { SimilarTerms } from '../index/lexical-scores.ts'
import { analyse } from '../text/analysis.ts'

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
