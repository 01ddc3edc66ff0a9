// The embedder that comes with the service: a small model in this process, read on first use.

import { DIMENSIONS, loadModel, MODEL, VERSION } from '@custos/embeddings'
import type { LocalEmbedder } from './embedder.ts'

/** A text's vector is the same on every machine; nothing is downloaded. */
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

/** The words of the model, each with its vector: a view, of no unit length. */
export const readVocabulary = (): Iterable<{ word: string; vector: Int8Array }> =>
  loadModel().words()
