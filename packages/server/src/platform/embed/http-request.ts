// One request to an embeddings endpoint: bounded in time and bytes, never redirected.

import { EmbedderRefused, quantise } from './embedder.ts'

export interface Endpoint {
  readonly url: string
  readonly model: string
  readonly key: string | null
  readonly dimensions: number
}

/** Not answered, or answered with 408, 429 or 5xx: the same request may be answered later. */
export class NotNow extends Error {
  readonly reason: string
  /** The delay that the service asked for; null: none. */
  readonly retry_after_ms: number | null

  constructor(reason: string, retry_after_ms: number | null = null) {
    super(reason)
    this.name = 'NotNow'
    this.reason = reason
    this.retry_after_ms = retry_after_ms
  }
}

/** The endpoint does not take these texts: 400, 413 or 422. */
export class TextsRefused extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.name = 'TextsRefused'
    this.reason = reason
  }
}

/** Throws NotNow, TextsRefused, EmbedderRefused, or the reason of `signal` once it is aborted. */
export async function requestVectors(
  endpoint: Endpoint,
  texts: readonly string[],
  { timeout_ms, signal }: { timeout_ms: number; signal?: AbortSignal | undefined },
): Promise<Int8Array[]> {
  const expected = { count: texts.length, dimensions: endpoint.dimensions }
  const late = AbortSignal.timeout(Math.max(1, Math.ceil(timeout_ms)))
  const either = signal ? AbortSignal.any([signal, late]) : late
  const text = await exchange(endpoint, texts, { expected, signal: either }).catch((error) => {
    signal?.throwIfAborted()
    if (late.aborted) throw new NotNow('timeout')
    throw error
  })
  return readReply(text, expected)
}

async function exchange(
  { url, model, key }: Endpoint,
  texts: readonly string[],
  { expected, signal }: { expected: VectorShape; signal: AbortSignal },
): Promise<string> {
  const response = await send(url, {
    method: 'POST',
    // A redirect could lead texts and key anywhere.
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
    signal,
  })
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => {})
    throw problemOf(response)
  }
  return readBounded(response, replyBytesMax(expected))
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch {
    // What fetch reports may hold the address and its parameters.
    throw new NotNow('unreachable')
  }
}

function problemOf({ status, headers, type }: Response): Error {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400))
    return new EmbedderRefused('redirect')
  if (status === 408 || status === 429 || status >= 500)
    return new NotNow(`status_${status}`, retryAfterMs(headers.get('retry-after')))
  if (status === 400 || status === 413 || status === 422)
    return new TextsRefused(`status_${status}`)
  return new EmbedderRefused(`status_${status}`)
}

/** RFC 9110, 10.2.3, in seconds; a date is passed over, since clocks differ. */
function retryAfterMs(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1_000 : null
}

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  if (Number(response.headers.get('content-length') ?? 0) > bytesMax) {
    await response.body?.cancel().catch(() => {})
    throw new EmbedderRefused('too_large')
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      // Leaving the loop ends the connection.
      if (bytes > bytesMax) break
      chunks.push(chunk)
    }
  } catch {
    throw new NotNow('cut_off')
  }
  if (bytes > bytesMax) throw new EmbedderRefused('too_large')
  return Buffer.concat(chunks).toString('utf8')
}

const NUMBER_BYTES_MAX = 32
const REST_BYTES_MAX = 64 * 1024

interface VectorShape {
  readonly count: number
  readonly dimensions: number
}

/** The most bytes an answer of this shape needs. */
const replyBytesMax = ({ count, dimensions }: VectorShape): number =>
  count * (dimensions * NUMBER_BYTES_MAX + 1_024) + REST_BYTES_MAX

/**
 * The vectors in the order of the texts, whatever order the answer has them in. Throws
 * EmbedderRefused with a word that says what is wrong, never with a part of the answer.
 */
function readReply(text: string, expected: VectorShape): Int8Array[] {
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
