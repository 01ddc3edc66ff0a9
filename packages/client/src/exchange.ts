// One logical call: its operation, its request, its attempts and the waits between them.

import { jitter, newKey, nowMs, readRetryAfter, sleep } from './ambient.ts'
import { type Answer, Pending } from './call-result.ts'
import type { Client } from './client.ts'
import { ApiError, apiError, ConnectionError, CustosError } from './errors.ts'
import type { RefusalCode } from './generated/types.ts'
import type { CallContext } from './hooks.ts'
import { Limit } from './limit.ts'

/** Options of one call; the last argument of every method. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Timeout of each attempt in milliseconds: up to the whole body, or the headers of a stream. */
  readonly timeoutMs?: number | undefined
  /** Number of retries after the first attempt. */
  readonly retries?: number | undefined
  /** Key of a write, which the service executes once per key. Default: a new one for each call. */
  readonly idempotencyKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The X-Request-Id header of the request. */
  readonly requestId?: string | undefined
}

/** A request body that fetch accepts, with its content type. */
export interface SentBody {
  readonly body: string | Uint8Array | ReadableStream<Uint8Array>
  readonly type: string
  /** Whether the body can be read only once, so that the request cannot be retried. */
  readonly once?: boolean
}

/** One row of the operation table. */
export interface Operation<Args extends readonly unknown[] = readonly never[], Reply = unknown> {
  /** `group.verb` */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** The arguments after the path parameters; `both` means the body, then the query. */
  readonly takes?: 'body' | 'query' | 'both'
  /** Accepts an Idempotency-Key. */
  readonly idempotent?: boolean
  /** Changes nothing, although it is a POST. */
  readonly safe?: boolean
  /** The body is sent unchanged, not as JSON. */
  readonly raw?: boolean
  readonly send?: (body: unknown) => SentBody | Promise<SentBody>
  /** How the answer is read; default: as JSON. */
  readonly answer?: (exchange: Exchange) => unknown
  /** How the answer is read for each value of the query's `format`. */
  readonly formats?: Readonly<Record<string, (exchange: Exchange) => unknown>>
  /** The member of a page that holds its items. */
  readonly items?: string
  /** Always absent; tells the compiler what the operation takes and returns. */
  readonly signature?: (...args: Args) => Reply
}

type Read<T> = (response: Response, limit: Limit) => T | Promise<T>

/**
 * Matches "status code wait" of refusals that are worth a retry. A 429 without a Retry-After may
 * last for a day, and other refusals with 503 last until an operator acts.
 */
const PASSING = /^(429.*\d$|50(2|4|3 ((payment_)?unavailable|index_building) ))/
const RETRY_AFTER_MS_MAX = 60_000

/** Calls an operation with its path parameters, then body, query and options. */
export function call<Args extends readonly unknown[], Reply>(
  client: Client,
  operation: Operation<Args, Reply>,
  ...args: Args
): Reply {
  const exchange = new Exchange(client, operation, args)
  const answer = operation.formats?.[exchange.format ?? ''] ?? operation.answer
  // The table states the type of what its reader returns.
  return (answer ? answer(exchange) : exchange.json()) as Reply
}

export class Exchange {
  readonly client: Client
  readonly id: string
  readonly options: CallOptions
  readonly #operation: Operation<readonly never[], unknown>
  readonly #path: string
  readonly #query: Readonly<Record<string, unknown>>
  readonly #body: unknown
  readonly #context: CallContext

  constructor(client: Client, operation: Operation<never, unknown>, args: readonly unknown[]) {
    const rest = [...args]
    const ids: Record<string, unknown> = {}
    this.#path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest.shift()
      ids[name] = value
      return pathText(operation.id, name, value)
    })
    const { takes } = operation
    this.#body = takes === 'body' || takes === 'both' ? rest.shift() : undefined
    this.#query = record(takes === 'query' || takes === 'both' ? rest.shift() : undefined)
    this.options = record(rest.shift())
    this.#operation = operation
    this.client = client
    this.id = operation.id
    this.#context = {
      operation: operation.id,
      url: client.url,
      attempt: 0,
      headers: new Headers(),
      ms: 0,
      ...(typeof ids['store_id'] === 'string' && { storeId: ids['store_id'] }),
      ...(typeof ids['ref'] === 'number' && { ref: ids['ref'] }),
    }
  }

  /** The `format` of the query; undefined if it has none. */
  get format(): string | undefined {
    const { format } = this.#query
    return typeof format === 'string' ? format : undefined
  }

  json<T>(): Pending<T> {
    return new Pending(
      this.run(async (response) => {
        const data = await readJson(response, this.client.url)
        this.#context.figures = figuresOf(data)
        await this.client.inspect?.(data, this.#context)
        // The contract states the shape of the answer; it is not validated again here.
        return data as T
      }, true),
    )
  }

  /**
   * Sends the request, with retries where they are allowed, and reads the answer.
   * @param whole whether the limit ends with `read`; otherwise `read` takes over the limit
   */
  async run<T>(read: Read<T>, whole: boolean, extra?: Record<string, string>): Promise<Answer<T>> {
    const { client, options } = this
    const context = this.#context
    const begun = nowMs()
    const { idempotent, method, raw, safe, send } = this.#operation
    const key = options.idempotencyKey ?? (idempotent ? newKey() : undefined)
    const sent = await bodyOf(this.#body, raw, send)
    const repeats = !sent?.once && (method !== 'POST' || idempotent || safe)
    const last = repeats ? 1 + (options.retries ?? client.retries) : 1
    for (context.attempt = 1; ; context.attempt += 1) {
      const headers = new Headers({ ...options.headers, ...extra })
      if (key !== undefined) headers.set('idempotency-key', key)
      if (options.requestId !== undefined) headers.set('x-request-id', options.requestId)
      if (sent) headers.set('content-type', sent.type)
      context.headers = headers
      client.hooks.onRequest?.(context)
      const limit = new Limit(this.id, options.timeoutMs ?? client.timeoutMs, options.signal)
      let failure: unknown
      try {
        const response = await this.#send(limit, { method, ...bodyInit(sent) })
        const data = await read(response, limit)
        if (whole) limit.end()
        else limit.pause()
        context.ms = nowMs() - begun
        client.hooks.onResponse?.(context)
        return { data, response, requestId: context.requestId ?? null }
      } catch (error) {
        limit.end()
        failure = this.#explain(error, limit)
      }
      context.ms = nowMs() - begun
      context.error = failure
      const wait = context.attempt < last ? waitBefore(context.attempt, failure, limit) : undefined
      if (wait === undefined) {
        client.hooks.onError?.(context)
        throw failure
      }
      context.waitMs = wait
      client.hooks.onRetry?.(context)
      await sleep(wait, options.signal).catch((reason: unknown) => {
        context.error = reason
        client.hooks.onError?.(context)
        throw reason
      })
    }
  }

  async #send(limit: Limit, init: RequestInit): Promise<Response> {
    const { client } = this
    const { signal } = limit
    signal.throwIfAborted()
    const path = `${this.#path}${queryText(this.#query)}`
    const context = this.#context
    delete context.status
    const response = await client.send(path, context.headers, { ...init, signal })
    limit.answered = true
    context.status = response.status
    context.requestId = response.headers.get('x-request-id')
    if (response.ok) return response
    throw await refusalOf(response, this.id, client.url)
  }

  #explain(error: unknown, limit: Limit): unknown {
    if (limit.signal.aborted) return limit.signal.reason
    if (error instanceof CustosError) return error
    const reason = reasonOf(error)
    return new ConnectionError(
      `${this.id}: no answer from ${this.client.url} (${reason}): check that the service runs ` +
        'there, or pass its address as `url`',
      { cause: error },
    )
  }
}

function record(value: unknown): Record<string, unknown> {
  // The table types the arguments; undefined means that there is no argument.
  return (value ?? {}) as Record<string, unknown>
}

// `.` and `..` would leave the path of the operation, and an empty id would name another one. A
// lone surrogate (`\p{Cs}`) cannot be encoded in a URL.
function pathText(id: string, name: string, value: unknown): string {
  const text = String(value ?? '')
  if (/^\.{0,2}$|\p{Cs}/u.test(text))
    throw new CustosError(`${id}: ${name} is missing or not an id`)
  return encodeURIComponent(text)
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null ? [] : [[name, `${value}`]],
  )
  return pairs.length ? `?${new URLSearchParams(pairs)}` : ''
}

async function bodyOf(
  body: unknown,
  raw: boolean | undefined,
  send: Operation['send'],
): Promise<SentBody | undefined> {
  if (send) return send(body)
  if (body === undefined) return undefined
  // The types of the table allow only bytes or a string as a raw body.
  return { body: raw ? (body as string) : JSON.stringify(body), type: 'application/json' }
}

const bodyInit = (sent: SentBody | undefined): RequestInit =>
  ({ body: sent?.body, ...(sent?.once && { duplex: 'half' }) }) as RequestInit

/** Milliseconds to wait before the next attempt; undefined if a retry would not help. */
function waitBefore(attempt: number, error: unknown, limit: Limit): number | undefined {
  const backoff = Math.min(8_000, 250 * 2 ** attempt) * (0.75 + jitter() / 4)
  if (error instanceof ConnectionError)
    return limit.timedOut && limit.answered ? undefined : backoff
  if (!(error instanceof ApiError)) return undefined
  const { status, code, retryAfterMs } = error
  return PASSING.test(`${status} ${code} ${retryAfterMs}`)
    ? Math.min(Math.max(backoff, retryAfterMs ?? 0), RETRY_AFTER_MS_MAX)
    : undefined
}

/** Media types that are returned as text: pictures and signed notes. */
const TEXT_TYPES = /^(?:image\/|text\/plain)/

async function readJson(response: Response, url: string): Promise<unknown> {
  const text = await response.text()
  return TEXT_TYPES.test(response.headers.get('content-type') ?? '') ? text : parseJson(text, url)
}

/** Parses JSON. For other text it returns undefined, or throws CustosError if `url` is given. */
export function parseJson(text: string, url?: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    if (url) throw new CustosError(unlikeCustos(url))
    return undefined
  }
}

/** Throws CustosError if a header differs: a web page must not pass for frames, lines or a file. */
export function requireHeader(
  { headers, body }: Response,
  name: string,
  like: RegExp,
  url: string,
): void {
  if (like.test(headers.get(name) ?? '')) return
  void body?.cancel()
  throw new CustosError(unlikeCustos(url))
}

const unlikeCustos = (url: string) => `${url} did not answer like a Custos service: check \`url\``

/** The top-level numbers of an answer, such as positions, counts and budgets. */
const figuresOf = (data: unknown): Record<string, number> =>
  Object.fromEntries(
    Object.entries(record(data)).filter(
      (pair): pair is [string, number] => typeof pair[1] === 'number',
    ),
  )

async function refusalOf(response: Response, id: string, url: string): Promise<CustosError> {
  const { status, headers } = response
  // A browser reports a redirect that it does not follow with the status 0.
  if (status < 400) {
    await response.body?.cancel()
    return new CustosError(`${url} redirects elsewhere: pass the final address as \`url\``)
  }
  const text = await response.text()
  const body = parseJson(text)
  const { error, title, detail } = record(body)
  const retryAfterMs = readRetryAfter(`${headers.get('retry-after')}`)
  return apiError({
    status,
    // The answer of a proxy has no code; its text is in `body`.
    code: (typeof error === 'string' && /^[a-z_]+$/.test(error)
      ? error
      : status < 500
        ? 'bad_request'
        : 'unavailable') as RefusalCode,
    title: typeof title === 'string' ? title : response.statusText,
    detail: detailText(detail) ?? (error ? '' : unlikeCustos(url)),
    requestId: headers.get('x-request-id'),
    ...(retryAfterMs >= 0 && { retryAfterMs }),
    body: body ?? text,
    operation: id,
  })
}

function detailText(detail: unknown): string | undefined {
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return JSON.stringify(detail)
  return detail
    .map((problem) => {
      const { loc, msg } = record(problem)
      return `${[loc].flat().join('.')}: ${msg}`
    })
    .join('; ')
}

// The message of a fetch error is "fetch failed"; the reason is in its cause.
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason'
  const { message, code } = Object(error.cause ?? error)
  // The message of a failed TLS handshake has several lines; that of several addresses is empty.
  return `${/^.+$/.test(message || '') ? message : code}`
}
