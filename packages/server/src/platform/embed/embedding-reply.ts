// Reads the answer of an embeddings endpoint: every number is looked at before it is believed.

import { EmbedderRefused, quantise } from './embedder.ts'

const NUMBER_BYTES_MAX = 32
const REST_BYTES_MAX = 64 * 1024

export interface Expected {
  readonly count: number
  readonly dimensions: number
}

/** The most bytes an answer of this shape needs. */
export const replyBytesMax = ({ count, dimensions }: Expected): number =>
  count * (dimensions * NUMBER_BYTES_MAX + 1_024) + REST_BYTES_MAX

/**
 * The vectors in the order of the texts, whatever order the answer has them in. Throws
 * EmbedderRefused with a word that says what is wrong, never with a part of the answer.
 */
export function readReply(text: string, expected: Expected): Int8Array[] {
  const data = dataOf(text)
  if (data.length !== expected.count) throw new EmbedderRefused('count')
  const vectors: Int8Array[] = []
  for (const [position, item] of data.entries()) {
    const { index, embedding } = itemOf(item)
    const at = index ?? position
    if (!Number.isSafeInteger(at) || at < 0 || at >= expected.count || vectors[at] !== undefined)
      throw new EmbedderRefused('index')
    vectors[at] = vectorOf(embedding, expected.dimensions)
  }
  return vectors
}

function dataOf(text: string): unknown[] {
  const body = parse(text)
  const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined
  if (!Array.isArray(data)) throw new EmbedderRefused('shape')
  return data
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message would repeat a part of the text.
    throw new EmbedderRefused('not_json')
  }
}

function itemOf(item: unknown): { index: number | undefined; embedding: unknown[] } {
  if (typeof item !== 'object' || item === null || !('embedding' in item))
    throw new EmbedderRefused('shape')
  const { embedding } = item
  const index = 'index' in item ? item.index : undefined
  if (!Array.isArray(embedding) || (index !== undefined && typeof index !== 'number'))
    throw new EmbedderRefused('shape')
  return { index, embedding }
}

function vectorOf(numbers: readonly unknown[], dimensions: number): Int8Array {
  if (numbers.length !== dimensions) throw new EmbedderRefused('dimensions')
  const weights = new Float64Array(dimensions)
  let squares = 0
  for (const [at, number] of numbers.entries()) {
    if (typeof number !== 'number') throw new EmbedderRefused('not_finite')
    weights[at] = number
    squares += number * number
  }
  // Also numbers that are finite and whose square is not: their direction would be lost.
  if (!Number.isFinite(squares)) throw new EmbedderRefused('not_finite')
  return quantise(weights)
}
