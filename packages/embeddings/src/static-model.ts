// The model in memory: token vectors of whole numbers, whose sum is the vector of a text. The one
// that comes with the package is read from its file on first use, and checked.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { makeTokenVectors } from './token-vectors.ts'
import { Tokenizer } from './tokenizer.ts'

/**
 * The file format, with little-endian integers: "CUSTEMB1"; then, with 32 bits each, the numbers of
 * dimensions, tokens and bytes of the vocabulary; the vocabulary in UTF-8, one token per line; an
 * unsigned 8-bit factor for each token; the vectors with signed 8-bit components.
 */
const MAGIC = 'CUSTEMB1'
const HEADER_BYTES = 20

/** Further tokens of a text are ignored, so 32 bits hold every sum (65,536 × 255 × 127 < 2^31). */
const TOKENS_MAX = 65_536

/** The length of result vectors. Components are truncated, so that no product exceeds 127². */
const UNIT = 127

export class StaticModel {
  readonly dimensions: number
  readonly tokenizer: Tokenizer
  readonly #vectors: ReturnType<typeof makeTokenVectors>

  /** Parses a whole model file. */
  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const magic = new TextDecoder().decode(bytes.subarray(0, MAGIC.length))
    if (bytes.length < HEADER_BYTES || magic !== MAGIC) throw new Error('not a model file')
    const [dimensions, tokens, vocabularyBytes] = [8, 12, 16].map((at) => view.getUint32(at, true))
    if (!dimensions || !tokens || !vocabularyBytes) throw new Error('an empty model file')
    const factorsAt = HEADER_BYTES + vocabularyBytes
    const vectorsAt = factorsAt + tokens
    if (bytes.length !== vectorsAt + tokens * dimensions)
      throw new Error('a model file of another length than its header says')
    const lines = new TextDecoder().decode(bytes.subarray(HEADER_BYTES, factorsAt)).split('\n')
    if (lines.length !== tokens) throw new Error('a model file with another number of tokens')
    this.dimensions = dimensions
    this.tokenizer = new Tokenizer(lines)
    const factors = bytes.subarray(factorsAt, vectorsAt)
    const vectors = new Int8Array(bytes.buffer, bytes.byteOffset + vectorsAt, tokens * dimensions)
    this.#vectors = makeTokenVectors(dimensions, factors, vectors)
  }

  /**
   * The unit vector of a text times 127, truncated toward zero; zeros if no token of it is known.
   * Sums are integers, and the rest is one square root and divisions in a fixed order, so the same
   * text gives the same bytes on every machine.
   */
  embed(text: string): Int8Array {
    return this.#vectors.withSum(this.tokenizer.tokenise(text, TOKENS_MAX), quantise)
  }

  /** The words of two or more letters with their vectors, which are views and not unit vectors. */
  *words(): Iterable<{ word: string; vector: Int8Array }> {
    for (const [word, token] of this.tokenizer.words())
      if (/^\p{L}{2,}$/u.test(word)) yield { word, vector: this.#vectors.vectorOf(token) }
  }
}

function quantise(sums: Int32Array): Int8Array {
  let squares = 0
  for (let at = 0; at < sums.length; at++) squares += (sums[at] ?? 0) * (sums[at] ?? 0)
  const vector = new Int8Array(sums.length)
  if (squares === 0) return vector
  const length = Math.sqrt(squares)
  for (let at = 0; at < sums.length; at++) vector[at] = ((sums[at] ?? 0) * UNIT) / length
  return vector
}

/** Name the vector space. A change of any vector needs a new version. */
export const MODEL = 'custos-static'
export const VERSION = '1'
export const DIMENSIONS = 256

const FILE = new URL('../model/custos-static-1.bin', import.meta.url)
const SHA256 = '5f6ead56f98f398ce31f8cfdaebc219b7e9247e721058cac8f3d8b32f7199a0c'

let loaded: StaticModel | undefined

/** The bundled model. The first call reads 8 MB, and throws if they are not the released bytes. */
export function loadModel(): StaticModel {
  loaded ??= parseBundled(readFileSync(FILE))
  return loaded
}

/** Parses the model. Throws if `bytes` are not those of the bundled file. */
export function parseBundled(bytes: Uint8Array): StaticModel {
  const digest = createHash('sha256').update(bytes).digest('hex')
  if (digest !== SHA256) throw new Error(`the embedding model is damaged: its SHA-256 is ${digest}`)
  return new StaticModel(bytes)
}
