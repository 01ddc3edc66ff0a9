// The vectors of contents and queries by a store's embedder; one that fails costs no write or read.

import {
  type Embedder,
  EmbedderRefused,
  EmbedderUnavailable,
  type EmbedOptions,
} from '../../platform/embed/embedder.ts'
import type { Space } from '../../platform/embed/embedders.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { makePacer } from '../../platform/pacer.ts'

/** The vector of one content, or why there is none. */
export interface Vector {
  readonly numbers: Int8Array | null
  /** The space of `numbers`; null with them. */
  readonly space: Space | null
  /** The embedder could not answer: the vector is to be made later. */
  readonly owed: boolean
}

const NONE: Vector = { numbers: null, space: null, owed: false }
const OWED: Vector = { numbers: null, space: null, owed: true }

/** One for each content, in order. */
export async function embedContents(
  kernel: Kernel,
  name: string,
  contents: readonly string[],
): Promise<Vector[]> {
  const embedder = kernel.embedders.find(name)
  const space = kernel.embedders.spaceOf(name)
  if (!embedder || !space) return contents.map(() => NONE)
  const vectors = await tryEmbed(kernel, { name, embedder }, contents)
  if (vectors === null) return contents.map(() => OWED)
  return contents.map((_, i) => {
    const numbers = vectors[i] ?? null
    return numbers === null ? NONE : { numbers, space, owed: false }
  })
}

/** Null: the query is ranked by its words alone. */
export async function embedQuery(
  kernel: Kernel,
  name: string,
  query: string,
): Promise<Int8Array | null> {
  const embedder = kernel.embedders.find(name)
  const vectors = embedder && (await tryEmbed(kernel, { name, embedder }, [query]))
  return vectors?.[0] ?? null
}

/** Texts and UTF-16 units embedded here by one call: between them other requests are answered. */
const TEXTS_AT_ONCE = 32
const UNITS_AT_ONCE = 64 * 1024

/** One that is asked over a network makes its own batches; one that works here is paced. */
export async function embedPaced(
  embedder: Embedder,
  contents: readonly string[],
  options: EmbedOptions = {},
): Promise<(Int8Array | null)[]> {
  if (embedder.remote) return embedder.embed(contents, options)
  const vectors: (Int8Array | null)[] = []
  const pace = makePacer()
  for (let at = 0; at < contents.length; at = vectors.length) {
    options.signal?.throwIfAborted()
    let [end, units] = [at, 0]
    do {
      units += contents[end]?.length ?? 0
      end += 1
    } while (end < contents.length && end - at < TEXTS_AT_ONCE && units < UNITS_AT_ONCE)
    vectors.push(...(await embedder.embed(contents.slice(at, end), options)))
    await pace()
  }
  return vectors
}

async function tryEmbed(
  { logger }: Kernel,
  { name, embedder }: { name: string; embedder: Embedder },
  texts: readonly string[],
): Promise<(Int8Array | null)[] | null> {
  try {
    return await embedPaced(embedder, texts)
  } catch (error) {
    if (!(error instanceof EmbedderUnavailable) && !(error instanceof EmbedderRefused)) throw error
    // Kept away from it since it failed: that failure has been reported.
    if (error.reason !== 'failed_before')
      logger.warn('embedder.failed', { embedder: name, reason: error.reason })
    return null
  }
}
