// NDJSON in both directions: answers read line by line, and request bodies of many records.

import { isBrowser } from './ambient.ts'
import type { Answer } from './call-result.ts'
import { ConnectionError, CustosError } from './errors.ts'
import { type Exchange, parseJson, requireHeader, type SentBody } from './exchange.ts'
import type { Limit } from './limit.ts'

/** The largest body that is buffered if the platform cannot send a stream. */
const BUFFERED_BYTES_MAX = 8 * 1024 * 1024
/** Idle timeout of a stream. */
const IDLE_MS = 60_000

/** Records to send: values, NDJSON lines, the bytes of an NDJSON file, or its whole text. */
export type LineSource<T> =
  | Iterable<T>
  | AsyncIterable<T | string | Uint8Array>
  | ReadableStream<Uint8Array>
  | string

/** The parsed lines of an answer. Each iteration and each `withResponse` sends the request. */
export class Lines<T> implements AsyncIterable<T> {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const { data } = await this.withResponse()
    yield* data
  }

  /** Sends the request. Read the lines from `data` or the body of the response, not both. */
  withResponse(): Promise<Answer<AsyncIterable<T>>> {
    const exchange = this.#exchange
    return exchange.run((response, limit) => {
      requireHeader(response, 'content-type', /ndjson/, exchange.client.url)
      return parseLines<T>(response, limit, exchange)
    }, false)
  }
}

export const lines = (exchange: Exchange): Lines<never> => new Lines(exchange)

async function* parseLines<T>(response: Response, limit: Limit, { id, client }: Exchange) {
  let rest = ''
  for await (const text of textOf(response, limit, id)) {
    const complete = `${rest}${text}`.split('\n')
    rest = complete.pop() ?? ''
    // The contract states the shape of a line.
    for (const line of complete) if (line !== '') yield parseJson(line, client.url) as T
  }
  if (rest !== '') throw new ConnectionError(`${id}: the answer ended within a line`)
}

/**
 * Yields the text of a streamed answer in pieces. At the end, or when the caller leaves the loop,
 * it ends the limit and cancels the rest of the answer.
 */
export async function* textOf(response: Response, limit: Limit, id: string) {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      limit.signal.throwIfAborted()
      limit.restart(IDLE_MS)
      const piece = await reader?.read()
      limit.pause()
      if (!piece || piece.done) return
      yield decoder.decode(piece.value, { stream: true })
    }
  } catch (error) {
    if (limit.signal.aborted) throw limit.signal.reason
    throw new ConnectionError(`${id}: the answer broke off`, { cause: error })
  } finally {
    limit.end()
    await reader?.cancel().catch(() => undefined)
  }
}

export async function sendLines(source: unknown): Promise<SentBody> {
  const type = 'application/x-ndjson'
  if (typeof source === 'string') return { body: source, type }
  if (Array.isArray(source)) return { body: source.map(lineOf).join(''), type }
  // The type of the import operation allows no other source than these two here.
  const pieces = encoded(source as Iterable<unknown> | AsyncIterable<unknown>)
  if (canStream()) return { body: streamOf(pieces), type, once: true }
  const parts: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  for await (const piece of pieces) {
    parts.push(piece)
    bytes += piece.length
    if (bytes > BUFFERED_BYTES_MAX)
      throw new CustosError('this platform cannot stream a body: import at most 8 MiB at a time')
  }
  return { body: new Uint8Array(await new Blob(parts).arrayBuffer()), type }
}

const lineOf = (item: unknown): string =>
  typeof item === 'string' ? item : `${JSON.stringify(item)}\n`

async function* encoded(source: Iterable<unknown> | AsyncIterable<unknown>) {
  const encoder = new TextEncoder()
  for await (const item of source)
    if (item instanceof Uint8Array) yield new Uint8Array(item)
    else yield encoder.encode(lineOf(item))
}

/**
 * Whether fetch accepts a stream as a body. If it does, it reads `duplex` and sets no content type.
 * Returns false in browsers: they stream only over HTTP/2, and whether the server has HTTP/2
 * is known only after a part of the body was read.
 */
function canStream(): boolean {
  if (isBrowser()) return false
  let asked = false
  try {
    const init = {
      method: 'POST',
      body: new ReadableStream(),
      get duplex(): 'half' {
        asked = true
        return 'half'
      },
    }
    const sets = new Request('http://localhost', init).headers.has('content-type')
    return asked && !sets
  } catch {
    return false
  }
}

function streamOf(pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>) {
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { value, done } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return(undefined)
    },
  })
}
