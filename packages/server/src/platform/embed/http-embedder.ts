// An embedder behind an OpenAI-compatible endpoint, with batches, retries and timeouts.

import { setTimeout as sleep } from 'node:timers/promises'
import { Breaker } from '../breaker.ts'
import { semaphore } from '../concurrency.ts'
import {
  type Embedder,
  EmbedderRefused,
  EmbedderUnavailable,
  type EmbedOptions,
  quantise,
} from './embedder.ts'

interface HttpEmbedderOptions extends Endpoint {
  /** Timeout of one request, and of a whole interactive call. */
  readonly timeout_ms: number
}

/** Common servers accept no more texts per request. */
const BATCH_TEXTS = 32
const BATCH_BYTES = 256 * 1024
/** About 8,000 tokens, the input limit of common models; the rest of a text is not embedded. */
const TEXT_BYTES_MAX = 24_000
const REQUESTS_AT_ONCE = 4
const ATTEMPTS = 3
const PATIENT_ATTEMPTS = 6
/** Timeout of a patient call, as a multiple of `timeout_ms`. */
const PATIENCE = 6
const BACKOFF_MS = 100
/** Retry delay after a failure that the texts seem to cause. */
const AGAIN_MS = 1_000
/** A text that any working service accepts. */
const HARMLESS = 'word'
/** Faults of a reply that a service gives if it cannot embed one of the texts. */
const ONE_TEXT = new Set(['not_finite', 'not_json', 'count', 'shape', 'dimensions'])

export function createHttpEmbedder(options: HttpEmbedderOptions): Embedder {
  const caller = new Caller(options)
  return {
    model: `http:${options.model}`,
    version: '1',
    dimensions: options.dimensions,
    remote: true,
    embed: (texts, how) => caller.embed(texts, how),
  }
}

/** One call of `embed`, and what it has learned about the service. */
interface Call {
  readonly deadline: number
  readonly patient: boolean
  readonly signal: AbortSignal | undefined
  /** True if a larger batch has used all attempts: failures that a text may cause are final. */
  readonly tried: boolean
  /** Whether the service embeds a harmless word; if it does, failures are caused by the texts. */
  readonly proof: { asked: Promise<void> | null; works: boolean }
}

class Caller {
  readonly #options: HttpEmbedderOptions
  readonly #breaker = new Breaker()
  readonly #semaphore = semaphore(REQUESTS_AT_ONCE)

  constructor(options: HttpEmbedderOptions) {
    this.#options = options
  }

  async embed(
    texts: readonly string[],
    { patient = false, signal }: EmbedOptions = {},
  ): Promise<(Int8Array | null)[]> {
    if (texts.length === 0) return []
    const wait_ms = this.#breaker.enter()
    if (wait_ms > 0) throw new EmbedderUnavailable('failed_before', wait_ms)
    const { timeout_ms } = this.#options
    const call = {
      deadline: performance.now() + timeout_ms * (patient ? PATIENCE : 1),
      patient,
      signal,
      tried: false,
      proof: { asked: null, works: false },
    }
    try {
      const vectors = await this.#embedAll(texts.map(shortened), call)
      this.#breaker.succeeded()
      return vectors
    } catch (error) {
      throw this.#noted(error, call)
    }
  }

  #noted(error: unknown, { signal, proof }: Call): unknown {
    if (signal?.aborted) {
      this.#breaker.gaveUp()
      return error
    }
    // Texts of one tenant must not keep other tenants from using a service that works.
    const spared = isOfTexts(error) || (error instanceof NotNow && error.reason === 'timeout')
    if (proof.works && spared && error instanceof NotNow) {
      this.#breaker.succeeded()
      return new EmbedderUnavailable(error.reason, AGAIN_MS)
    }
    const wait_ms = this.#breaker.failed(error instanceof NotNow ? error.retry_after_ms : null)
    return error instanceof NotNow ? new EmbedderUnavailable(error.reason, wait_ms) : error
  }

  async #embedAll(texts: readonly string[], call: Call): Promise<(Int8Array | null)[]> {
    // A batch that fails cancels the others, whose vectors would not be used.
    const failed = new AbortController()
    const signal = call.signal ? AbortSignal.any([call.signal, failed.signal]) : failed.signal
    const batches = batchesOf(texts).map((batch) =>
      this.#embedBatch(batch, { ...call, signal }).catch((error) => {
        failed.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(batches)
    call.signal?.throwIfAborted()
    failed.signal.throwIfAborted()
    return (await Promise.all(batches)).flat()
  }

  /** One refused text may fail a batch: bisects the batch, so that only that text gets null. */
  async #embedBatch(texts: readonly string[], call: Call): Promise<(Int8Array | null)[]> {
    try {
      return await this.#semaphore.run(() => this.#attempt(texts, call))
    } catch (error) {
      if (!isOfTexts(error)) throw error
      const alone = texts.length === 1
      // After a 5xx the service may be down since the last proof; after a refusal hardly.
      if (alone && error instanceof NotNow) call.proof.asked = null
      await this.#prove(call).catch((failure) => {
        throw failure instanceof NotNow ? failure : refusalOf(error)
      })
      // An interactive call fails here. Patient work continues: the service may have recovered.
      if (error instanceof NotNow && !call.patient) throw error
      if (alone) return [null]
      const half = texts.length >> 1
      const parts = { ...call, tried: call.tried || error instanceof NotNow }
      const first = await this.#embedBatch(texts.slice(0, half), parts)
      return [...first, ...(await this.#embedBatch(texts.slice(half), parts))]
    }
  }

  /** Rejects if the service refuses a harmless word. All batches of a call share one request. */
  async #prove(call: Call): Promise<void> {
    const { proof } = call
    proof.asked ??= this.#semaphore
      .run(() => this.#attempt([HARMLESS], { ...call, tried: true }))
      .then(
        () => {
          proof.works = true
        },
        (error) => {
          proof.works = false
          throw error
        },
      )
    await proof.asked
  }

  async #attempt(texts: readonly string[], call: Call): Promise<Int8Array[]> {
    const attempts = call.patient ? PATIENT_ATTEMPTS : ATTEMPTS
    for (let attempt = 1; ; attempt += 1) {
      call.signal?.throwIfAborted()
      const left = call.deadline - performance.now()
      if (left <= 0) throw new NotNow('timeout')
      const timeout_ms = Math.min(left, this.#options.timeout_ms)
      try {
        return await requestVectors(this.#options, texts, { timeout_ms, signal: call.signal })
      } catch (error) {
        if (!(error instanceof NotNow) || attempt >= attempts) throw error
        if (call.tried && isOfTexts(error)) throw error
        const pause = Math.max(BACKOFF_MS * 2 ** (attempt - 1), error.retry_after_ms ?? 0)
        if (performance.now() + pause >= call.deadline) throw error
        await sleep(pause, undefined, call.signal ? { signal: call.signal } : {})
      }
    }
  }
}

/** Whether one of the texts may be the cause. A 5xx with Retry-After is about the service. */
function isOfTexts(error: unknown): boolean {
  if (error instanceof NotNow)
    return error.reason.startsWith('status_5') && error.retry_after_ms === null
  if (error instanceof EmbedderRefused) return ONE_TEXT.has(error.reason)
  return error instanceof TextsRefused
}

/** Turns a refusal of texts into one of the service, which refuses any text. */
const refusalOf = (error: unknown): unknown =>
  error instanceof TextsRefused ? new EmbedderRefused(error.reason) : error

/** Cuts between characters, because half a surrogate pair is not valid text. */
function shortened(text: string): string {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (text.length * 3 <= TEXT_BYTES_MAX) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(TEXT_BYTES_MAX))
  return text.slice(0, read)
}

function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = []
  let [batch, bytes]: [string[], number] = [[], 0]
  for (const text of texts) {
    const size = Buffer.byteLength(text)
    if (batch.length > 0 && (batch.length === BATCH_TEXTS || bytes + size > BATCH_BYTES)) {
      batches.push(batch)
      batch = []
      bytes = 0
    }
    batch.push(text)
    bytes += size
  }
  return [...batches, batch]
}

interface Endpoint {
  readonly url: string
  readonly model: string
  readonly key: string | null
  readonly dimensions: number
}

/** No answer, or one with status 408, 429 or 5xx: a retry of the request may succeed. */
class NotNow extends Error {
  readonly reason: string
  /** The delay that the service asked for, or null. */
  readonly retry_after_ms: number | null

  constructor(reason: string, retry_after_ms: number | null = null) {
    super(reason)
    this.name = 'NotNow'
    this.reason = reason
    this.retry_after_ms = retry_after_ms
  }
}

/** The endpoint refuses these texts with 400, 413 or 422. */
class TextsRefused extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.name = 'TextsRefused'
    this.reason = reason
  }
}

/** Throws NotNow, TextsRefused, EmbedderRefused, or the reason of `signal` once it is aborted. */
async function requestVectors(
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
    // A redirect could send texts and key to any address.
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
    // The message of fetch may contain the address and its parameters.
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

/** Retry-After in seconds (RFC 9110, 10.2.3). Ignores a date, since clocks differ. */
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

/** The most bytes that an answer of this shape can need. */
const replyBytesMax = ({ count, dimensions }: VectorShape): number =>
  count * (dimensions * NUMBER_BYTES_MAX + 1_024) + REST_BYTES_MAX

/**
 * The vectors in the order of the texts, whatever order the answer has them in. Throws
 * EmbedderRefused with a fixed word for the fault, never with a part of the answer.
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
    // The parser's message would quote a part of the text.
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
  // Also rejects finite numbers whose square is infinite: their direction would be lost.
  if (!Number.isFinite(squares)) throw new EmbedderRefused('not_finite')
  return quantise(weights)
}
