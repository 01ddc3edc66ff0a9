// An embedder behind an OpenAI-compatible endpoint: batches, retries, and an end to waiting.

import { setTimeout as sleep } from 'node:timers/promises'
import { Breaker } from '../breaker.ts'
import { semaphore } from '../concurrency.ts'
import {
  type Embedder,
  EmbedderRefused,
  EmbedderUnavailable,
  type EmbedOptions,
} from './embedder.ts'
import { type Endpoint, NotNow, requestVectors, TextsRefused } from './http-request.ts'

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
/** How many timeouts a call may take that nobody waits for. */
const PATIENCE = 6
const BACKOFF_MS = 100
/** When to ask again what texts seem to be the cause of. */
const AGAIN_MS = 1_000
/** Any service that works takes this text. */
const HARMLESS = 'word'
/** The faults of an answer when the service could not embed one of the texts. */
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

/** One call of `embed`, and what it has learned of the service. */
interface Call {
  readonly deadline: number
  readonly patient: boolean
  readonly signal: AbortSignal | undefined
  /** Has failed at all its attempts in a larger batch: what a text may cause is not tried again. */
  readonly tried: boolean
  readonly proof: Proof
}

/** Whether the service takes a harmless word: then what it failed at lies in the texts. */
interface Proof {
  asked: Promise<void> | null
  works: boolean
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
    // Texts of one tenant do not stop other tenants from using a service that works.
    const spared = isOfTexts(error) || (error instanceof NotNow && error.reason === 'timeout')
    if (proof.works && spared && error instanceof NotNow) {
      this.#breaker.succeeded()
      return new EmbedderUnavailable(error.reason, AGAIN_MS)
    }
    const wait_ms = this.#breaker.failed(error instanceof NotNow ? error.retry_after_ms : null)
    return error instanceof NotNow ? new EmbedderUnavailable(error.reason, wait_ms) : error
  }

  async #embedAll(texts: readonly string[], call: Call): Promise<(Int8Array | null)[]> {
    // One batch that fails ends the others: their vectors would not be used.
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

  /** A text that is not taken may spoil a batch: halves find it, and it alone has no vector. */
  async #embedBatch(texts: readonly string[], call: Call): Promise<(Int8Array | null)[]> {
    try {
      return await this.#semaphore.run(() => this.#attempt(texts, call))
    } catch (error) {
      if (!isOfTexts(error)) throw error
      const alone = texts.length === 1
      // The service may have failed since; where it refuses a text it does not seem to.
      if (alone && error instanceof NotNow) call.proof.asked = null
      await this.#prove(call).catch((failure) => {
        throw failure instanceof NotNow ? failure : refusalOf(error)
      })
      // An interactive caller fails here; patient work retries: the service may have failed.
      if (error instanceof NotNow && !call.patient) throw error
      if (alone) return [null]
      const half = texts.length >> 1
      const parts = { ...call, tried: call.tried || error instanceof NotNow }
      const first = await this.#embedBatch(texts.slice(0, half), parts)
      return [...first, ...(await this.#embedBatch(texts.slice(half), parts))]
    }
  }

  /** Rejects where the service does not take a harmless word: asked once by a call's batches. */
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

/** One of the texts may be the cause; a service that says when to ask again speaks of itself. */
function isOfTexts(error: unknown): boolean {
  if (error instanceof NotNow)
    return error.reason.startsWith('status_5') && error.retry_after_ms === null
  if (error instanceof EmbedderRefused) return ONE_TEXT.has(error.reason)
  return error instanceof TextsRefused
}

/** What is refused whatever the text is. */
const refusalOf = (error: unknown): unknown =>
  error instanceof TextsRefused ? new EmbedderRefused(error.reason) : error

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
