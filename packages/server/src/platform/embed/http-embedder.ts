// An embedder behind an OpenAI-compatible endpoint: batches, retries, and an end to waiting.

import { setTimeout as sleep } from 'node:timers/promises'
import { Breaker } from './breaker.ts'
import { type Embedder, EmbedderUnavailable, type EmbedOptions } from './embedder.ts'
import { type Endpoint, NotNow, requestVectors, TextsRefused } from './http-request.ts'
import { Turnstile } from './turnstile.ts'

export interface HttpEmbedderOptions extends Endpoint {
  /** How long a request may take, and a call somebody waits for altogether. */
  readonly timeout_ms: number
}

/** Common servers take no more texts at a time. */
const BATCH_TEXTS = 32
const BATCH_BYTES = 256 * 1024
/** About 8,000 tokens, what common models take of a text; the rest of it is not embedded. */
const TEXT_BYTES_MAX = 24_000
const REQUESTS_AT_ONCE = 4
const ATTEMPTS = 3
const PATIENT_ATTEMPTS = 6
/** A call that nobody waits for may take so many times the timeout. */
const PATIENCE = 6
const BACKOFF_MS = 100

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

interface Bounds {
  readonly deadline: number
  readonly attempts: number
  readonly signal: AbortSignal | undefined
}

class Caller {
  readonly #options: HttpEmbedderOptions
  readonly #breaker = new Breaker()
  readonly #turnstile = new Turnstile(REQUESTS_AT_ONCE)

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
    const bounds = {
      deadline: performance.now() + timeout_ms * (patient ? PATIENCE : 1),
      attempts: patient ? PATIENT_ATTEMPTS : ATTEMPTS,
      signal,
    }
    try {
      const vectors = await this.#embedAll(texts.map(shortened), bounds)
      this.#breaker.succeeded()
      return vectors
    } catch (error) {
      throw this.#noted(error, signal)
    }
  }

  #noted(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) {
      this.#breaker.gaveUp()
      return error
    }
    const wait_ms = this.#breaker.failed(error instanceof NotNow ? error.retry_after_ms : null)
    return error instanceof NotNow ? new EmbedderUnavailable(error.reason, wait_ms) : error
  }

  async #embedAll(texts: readonly string[], bounds: Bounds): Promise<(Int8Array | null)[]> {
    // One batch that fails ends the others: their vectors would not be used.
    const failed = new AbortController()
    const signal = bounds.signal ? AbortSignal.any([bounds.signal, failed.signal]) : failed.signal
    const batches = batchesOf(texts).map((batch) =>
      this.#embedBatch(batch, { ...bounds, signal }).catch((error) => {
        failed.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(batches)
    bounds.signal?.throwIfAborted()
    failed.signal.throwIfAborted()
    return (await Promise.all(batches)).flat()
  }

  /** A text that is refused may spoil a batch: halves find it, and it alone has no vector. */
  async #embedBatch(texts: readonly string[], bounds: Bounds): Promise<(Int8Array | null)[]> {
    try {
      return await this.#turnstile.inside(() => this.#attempt(texts, bounds))
    } catch (error) {
      if (!(error instanceof TextsRefused)) throw error
      if (texts.length === 1) return [null]
      const half = texts.length >> 1
      const first = await this.#embedBatch(texts.slice(0, half), bounds)
      return [...first, ...(await this.#embedBatch(texts.slice(half), bounds))]
    }
  }

  async #attempt(texts: readonly string[], bounds: Bounds): Promise<Int8Array[]> {
    for (let attempt = 1; ; attempt += 1) {
      bounds.signal?.throwIfAborted()
      const left = bounds.deadline - performance.now()
      if (left <= 0) throw new NotNow('timeout')
      const timeout_ms = Math.min(left, this.#options.timeout_ms)
      try {
        return await requestVectors(this.#options, texts, { timeout_ms, signal: bounds.signal })
      } catch (error) {
        if (!(error instanceof NotNow) || attempt >= bounds.attempts) throw error
        const pause = Math.max(BACKOFF_MS * 2 ** (attempt - 1), error.retry_after_ms ?? 0)
        if (performance.now() + pause >= bounds.deadline) throw error
        await sleep(pause, undefined, bounds.signal ? { signal: bounds.signal } : {})
      }
    }
  }
}

/** Cut between characters: half a surrogate pair is no text. */
function shortened(text: string): string {
  // A UTF-16 unit has three bytes of UTF-8 at most.
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
