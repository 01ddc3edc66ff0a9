// The model in memory: token vectors of whole numbers, whose sum is the vector of a text.

import { Tokenizer } from './tokenizer.ts'

/**
 * The file, integers little-endian: "CUSTEMB1", then 32 bits each: dimensions, tokens, bytes of the
 * vocabulary. Then the vocabulary, UTF-8, a line each; a factor of each token, 8 bits unsigned; the
 * vectors, 8 bits signed a component.
 */
const MAGIC = 'CUSTEMB1'
const HEADER_BYTES = 20

/** Later tokens of a text are not read; so 32 bits hold every sum (65,536 × 255 × 127 < 2^31). */
const TOKENS_MAX = 65_536

/** What a unit vector is scaled to; components are truncated, so that no product exceeds 127². */
const UNIT = 127

export class StaticModel {
  readonly dimensions: number
  readonly tokenizer: Tokenizer
  readonly #factors: Uint8Array
  readonly #vectors: Int8Array
  readonly #sums: Int32Array

  /** Reads a whole model file. The bytes are kept, not copied. */
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
    this.#factors = bytes.subarray(factorsAt, vectorsAt)
    this.#vectors = new Int8Array(bytes.buffer, bytes.byteOffset + vectorsAt, tokens * dimensions)
    this.#sums = new Int32Array(dimensions)
  }

  /**
   * The unit vector of a text times 127, truncated toward zero; zeros when no token of it is known.
   * Sums are whole numbers and the rest is one square root and divisions in a fixed order, so the
   * same text has the same bytes on every machine.
   */
  embed(text: string): Int8Array {
    const sums = this.#sums.fill(0)
    for (const token of this.tokenizer.tokenise(text, TOKENS_MAX)) this.#add(token)
    return quantise(sums)
  }

  /** Its whole words of two letters and more, each with its vector: a view, of no unit length. */
  *words(): Iterable<{ word: string; vector: Int8Array }> {
    const { dimensions } = this
    for (const [word, token] of this.tokenizer.words()) {
      const vector = this.#vectors.subarray(token * dimensions, (token + 1) * dimensions)
      if (/^\p{L}{2,}$/u.test(word)) yield { word, vector }
    }
  }

  #add(token: number): void {
    const sums = this.#sums
    const vectors = this.#vectors
    const factor = this.#factors[token] ?? 0
    if (factor === 0) return
    const from = token * sums.length
    // Four at a time in 32 bits, half the time of one by one: this is most of what a text costs.
    let at = 0
    for (; at + 3 < sums.length; at += 4) {
      const next = from + at
      sums[at] = (sums[at] ?? 0) + Math.imul(factor, vectors[next] ?? 0)
      sums[at + 1] = (sums[at + 1] ?? 0) + Math.imul(factor, vectors[next + 1] ?? 0)
      sums[at + 2] = (sums[at + 2] ?? 0) + Math.imul(factor, vectors[next + 2] ?? 0)
      sums[at + 3] = (sums[at + 3] ?? 0) + Math.imul(factor, vectors[next + 3] ?? 0)
    }
    for (; at < sums.length; at += 1)
      sums[at] = (sums[at] ?? 0) + Math.imul(factor, vectors[from + at] ?? 0)
  }
}

function quantise(sums: Int32Array): Int8Array {
  let squares = 0
  for (const sum of sums) squares += sum * sum
  const vector = new Int8Array(sums.length)
  if (squares === 0) return vector
  const length = Math.sqrt(squares)
  for (let at = 0; at < sums.length; at++) vector[at] = ((sums[at] ?? 0) * UNIT) / length
  return vector
}
