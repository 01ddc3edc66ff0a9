// The connection to one service: its address, the credential, and how calls are made.

import { isBrowser } from './ambient.ts'
import { CustosError } from './errors.ts'
import type { CallContext, Hooks } from './hooks.ts'

export interface ClientOptions {
  /** Base address of the service, for example `http://127.0.0.1:8420`. */
  readonly url: string
  /** An API key or token, or a function that returns the current one. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** Timeout of each attempt in milliseconds; default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Number of retries after the first attempt; default 2. */
  readonly retries?: number | undefined
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Allows sending the credential over plain http to hosts other than this machine. */
  readonly allowInsecure?: boolean | undefined
  readonly hooks?: Hooks | undefined
}

/** A check that runs on each answer before it is returned, such as its verification. */
export type Inspect = (data: unknown, context: CallContext) => Promise<void>

/** The settings of a client. They are private, so `inspect` and JSON do not show them. */
export class Client {
  readonly #options: ClientOptions
  readonly #url: string

  constructor(options: ClientOptions) {
    this.#options = options
    // An untyped program may pass undefined.
    this.#url = baseUrl(options ?? {})
    if (typeof options.apiKey === 'string') checkKey(options.apiKey)
  }

  get url(): string {
    return this.#url
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs ?? 30_000
  }

  get retries(): number {
    return this.#options.retries ?? 2
  }

  get hooks(): Hooks {
    return this.#options.hooks ?? {}
  }

  /** The check of every answer before it is returned; undefined in a plain client. */
  get inspect(): Inspect | undefined {
    return undefined
  }

  /** Sends a request with the credential. Callers of this method never see the credential. */
  async send(path: string, headers: Headers, init: RequestInit): Promise<Response> {
    const { apiKey, fetch: send = fetch } = this.#options
    const key = typeof apiKey === 'function' ? await apiKey() : apiKey
    const sent = new Headers(this.#options.headers)
    for (const [name, value] of headers) sent.set(name, value)
    if (key !== undefined) sent.set('authorization', `Bearer ${checkKey(key)}`)
    return send(`${this.#url}${path}`, {
      ...init,
      headers: sent,
      redirect: 'manual',
      // With a key, the session cookie of a person who is signed in to the console is not sent.
      ...(key !== undefined && isBrowser() && { credentials: 'omit' }),
    })
  }
}

// The platform's error about an invalid header value would contain the key.
function checkKey(key: string): string {
  if (/^[ -~]+$/.test(key)) return key
  throw new CustosError('apiKey is empty or has characters that no key has, such as a line break')
}

function baseUrl({ url = '', apiKey, allowInsecure }: Partial<ClientOptions>): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new CustosError('url must be an http or https address, such as http://127.0.0.1:8420')
  if (parsed.username || parsed.password || parsed.search || parsed.hash)
    throw new CustosError('url must be a plain address: pass the credential as apiKey')
  const local = /^((.*\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(parsed.hostname)
  if (parsed.protocol === 'http:' && !local && apiKey !== undefined && !allowInsecure)
    throw new CustosError(
      `a credential is not sent to ${parsed.host} over http: use https, or set allowInsecure`,
    )
  return `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '')
}
