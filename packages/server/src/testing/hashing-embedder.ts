// Vectors of hashed words and letters, for a loopback embedding service: near spellings are near.

import { sortCombiningMarks } from '../platform/combining-marks.ts'
import { type LocalEmbedder, quantise } from '../platform/embed/embedder.ts'

const DIMENSIONS = 256
/** Trigrams are many and shared by unrelated words: each counts for less than the word it is in. */
const TRIGRAM_WEIGHT = 0.35
/** Longer words are cut: what follows is not language, and one text must not own every trigram. */
const WORD_UNITS_MAX = 64

const WORD = /[\p{L}\p{N}\p{M}]+/gu

/**
 * A deterministic, offline embedder: each word and each letter trigram of a word (with its edges)
 * adds a signed weight to one of 256 places; repeated features count by the root of their number.
 * It sees spelling, not meaning: similar forms of a word are near, synonyms are not.
 */
export function createHashingEmbedder(): LocalEmbedder {
  return {
    model: 'hashing',
    version: '1',
    dimensions: DIMENSIONS,
    remote: false,
    embed: (texts) => Promise.resolve(texts.map(embedText)),
  }
}

function embedText(text: string): Int8Array {
  const sums = new Float64Array(DIMENSIONS)
  for (const match of sortCombiningMarks(text).normalize('NFKC').toLowerCase().matchAll(WORD)) {
    const word = `<${match[0].slice(0, WORD_UNITS_MAX)}>`
    addFeature(sums, hashOf(word, 0, word.length), 1)
    for (let at = 0; at + 3 <= word.length; at++) {
      addFeature(sums, hashOf(word, at, at + 3), TRIGRAM_WEIGHT)
    }
  }
  // The root damps what a text repeats; sqrt is correctly rounded everywhere, so still exact.
  return quantise(sums.map((sum) => Math.sign(sum) * Math.sqrt(Math.abs(sum))))
}

/** The sign bit makes collisions cancel on average instead of adding up. */
function addFeature(sums: Float64Array, hash: number, weight: number): void {
  const place = hash % DIMENSIONS
  sums[place] = (sums[place] ?? 0) + ((hash & 0x8000_0000) === 0 ? weight : -weight)
}

/** FNV-1a over UTF-16 code units, with a final mix so that the low bits depend on all of them. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let at = from; at < to; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
