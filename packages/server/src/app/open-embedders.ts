// The embedders of this process, made from the configuration before anything is opened.

import type { EmbedderName } from '@custos/contract'
import type { EmbedderConfig } from '../config/embedder-config.ts'
import type { Embedder } from '../platform/embed/embedder.ts'
import { type Embedders, embeddersOf } from '../platform/embed/embedders.ts'
import { createHttpEmbedder } from '../platform/embed/http-embedder.ts'
import { createStaticEmbedder } from '../platform/embed/static-embedder.ts'

/** Throws OperatorError, with one clear line, where a model cannot be loaded. */
export async function openEmbedders({
  default_name,
  http,
  onnx,
}: EmbedderConfig): Promise<Embedders> {
  const made = new Map<EmbedderName, Embedder>([['static', createStaticEmbedder()]])
  if (http !== null) made.set('http', createHttpEmbedder(http))
  if (onnx !== null) {
    // Loaded only where it is used.
    const { loadOnnxEmbedder } = await import('../platform/embed/onnx-embedder.ts')
    made.set('onnx', await loadOnnxEmbedder(onnx))
  }
  return embeddersOf(default_name, made)
}

/** For tools that look at rows and rank nothing. */
export const noEmbedders = (): Embedders => embeddersOf('none', new Map())
