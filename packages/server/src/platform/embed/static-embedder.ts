// The built-in embedder: a small model in this process, loaded on first use.

import { DIMENSIONS, loadModel, MODEL, VERSION } from '@custos/embeddings'
import type { LocalEmbedder } from './embedder.ts'

/** A text's vector is the same on every machine, and nothing is downloaded. */
export function createStaticEmbedder(): LocalEmbedder {
  return {
    model: MODEL,
    version: VERSION,
    dimensions: DIMENSIONS,
    remote: false,
    async embed(texts) {
      const model = loadModel()
      return texts.map((text) => model.embed(text))
    },
  }
}

/** The words of the model, each with a view of its vector, which is not of unit length. */
export const readVocabulary = (): Iterable<{ word: string; vector: Int8Array }> =>
  loadModel().words()
