// Sends HTTP requests to one server with a credential, and waits after 429 and 503.

import { setTimeout as sleep } from 'node:timers/promises'

/** A store that could not be removed at the end. */
export type Leftover = { readonly store_id: string; readonly reason: string }

/** The suite could not run; the error is no verdict on the server. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
  /** Stores of the run that could not be removed. */
  readonly leftovers: readonly Leftover[]

  constructor(message: string, leftovers: readonly Leftover[] = [], cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.leftovers = leftovers
  }
}

export type Answer = {
  readonly status: number
  /** The parsed body, or undefined when it is not JSON. */
  readonly body: unknown
}

/** Sends one request; `body` makes it JSON. Throws ConformanceError when nothing answers. */
export type Wire = (method: string, path: string, body?: unknown) => Promise<Answer>

const TIMEOUT_MS = 30_000
/** Retries after 429 and 503; each waits as long as the answer asks for, up to a limit. */
const PATIENCE = 5
const WAIT_MS_MAX = 10_000

export function openWire(options: {
  readonly url: string
  readonly api_key?: string | undefined
  readonly fetch?: typeof fetch | undefined
  readonly signal?: AbortSignal | undefined
}): Wire {
  const { url, api_key, fetch: send = fetch, signal } = options
  const base = url.replace(/\/+$/, '')
  return async (method, path, body) => {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted()
      const limits = [AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]
      const init = { method, ...requestOf(api_key, body), signal: AbortSignal.any(limits) }
      const { response, text } = await reach(send, `${base}${path}`, { init, signal })
      const patient = attempt < PATIENCE && [429, 503].includes(response.status)
      if (!patient) return { status: response.status, body: parse(text) }
      const wait = sleep(waitOf(response, attempt), undefined, signal ? { signal } : {})
      // The reason of the signal is more helpful than the interrupted wait.
      await wait.catch(() => signal?.throwIfAborted())
    }
  }
}

function requestOf(api_key: string | undefined, body: unknown): RequestInit {
  return {
    headers: {
      ...(api_key === undefined ? {} : { authorization: `Bearer ${api_key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
}

async function reach(
  send: typeof fetch,
  url: string,
  { init, signal }: { init: RequestInit; signal: AbortSignal | undefined },
): Promise<{ response: Response; text: string }> {
  try {
    const response = await send(url, init)
    return { response, text: await response.text() }
  } catch (error) {
    signal?.throwIfAborted()
    const { origin } = new URL(url)
    throw new ConformanceError(`no answer from ${origin}: ${causeOf(error)}`, [], error)
  }
}

// fetch throws "fetch failed"; the reason is in its cause.
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason'
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return cause.message || ('code' in cause ? String(cause.code) : error.message)
}

function waitOf(response: Response, attempt: number): number {
  const asked = Number(response.headers.get('retry-after') ?? Number.NaN)
  const wanted = Number.isFinite(asked) ? asked * 1000 : 250 * 2 ** attempt
  return Math.min(Math.max(wanted, 0), WAIT_MS_MAX)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
